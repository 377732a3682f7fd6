import asyncio

from arq import create_pool

import job
from tasks import SETTINGS

loop = asyncio.new_event_loop()
pool = loop.run_until_complete(create_pool(SETTINGS))
job.enqueue_all(lambda id, payload: loop.run_until_complete(pool.enqueue_job("run", id, payload)))
