import os

from taskiq import SimpleRetryMiddleware
from taskiq_redis import ListQueueBroker, RedisStreamBroker

import job

Broker = {"list": ListQueueBroker, "stream": RedisStreamBroker}[os.environ["BROKER"]]
broker = Broker(os.environ["REDIS_URL"]).with_middlewares(SimpleRetryMiddleware(default_retry_count=3))


@broker.task(retry_on_error=True)
def run(id, payload):
    job.run(id)
