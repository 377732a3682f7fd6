import os

from huey import RedisHuey

import job

huey = RedisHuey(url=os.environ["REDIS_URL"])


@huey.task(retries=3, retry_delay=1)
def run(id, payload):
    job.run(id)
