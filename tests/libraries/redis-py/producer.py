import itertools

import job
from queues import TAGS, cluster

tags = itertools.cycle(TAGS)
job.enqueue_all(lambda id, payload: cluster.lpush(f"queue:{next(tags)}", f"{id} {payload}"))
