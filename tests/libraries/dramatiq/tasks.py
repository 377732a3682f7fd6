import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker

import job

options = {}
# The jobs of a worker that is killed return after this many seconds, which each call
# looks for.
if "RECOVER_AFTER" in os.environ:
    options = {"heartbeat_timeout": 1000 * int(os.environ["RECOVER_AFTER"]), "maintenance_chance": 1_000_000}
dramatiq.set_broker(RedisBroker(url=os.environ["REDIS_URL"], **options))


@dramatiq.actor(max_retries=3, min_backoff=1000, max_backoff=1000)
def run(id, payload):
    job.run(id)
