import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker

import job

dramatiq.set_broker(RedisBroker(url=os.environ["REDIS_URL"]))


@dramatiq.actor(max_retries=3, min_backoff=1000, max_backoff=1000)
def run(id, payload):
    job.run(id)
