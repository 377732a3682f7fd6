import os

from redis import Redis
from rq import Queue, Retry

import job
from tasks import run

queue = Queue(connection=Redis.from_url(os.environ["REDIS_URL"]))
job.enqueue_all(lambda id, payload: queue.enqueue(run, id, payload, retry=Retry(max=3, interval=1)))
