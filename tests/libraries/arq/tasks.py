import asyncio
import os

from arq import Retry
from arq.connections import RedisSettings

import job

SETTINGS = RedisSettings.from_dsn(os.environ["REDIS_URL"])


async def run(context, id, payload):
    try:
        await asyncio.to_thread(job.run, id)
    except job.FirstRun as failure:
        raise Retry(defer=1) from failure


class WorkerSettings:
    functions = [run]
    redis_settings = SETTINGS
