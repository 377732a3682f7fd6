import time

import job
from queues import TAGS, cluster

while True:
    for tag in TAGS:
        queue, working, retry = f"queue:{tag}", f"working:{tag}", f"retry:{tag}"
        for due in cluster.zrangebyscore(retry, 0, time.time(), start=0, num=10):
            cluster.lpush(queue, due)
            cluster.zrem(retry, due)
        message = cluster.lmove(queue, working, "RIGHT", "LEFT")
        if message is None:
            time.sleep(0.01)
            continue
        try:
            job.run(message.split()[0].decode())
        except job.FirstRun:
            cluster.zadd(retry, {message: time.time() + 1})
        cluster.lrem(working, 1, message)
