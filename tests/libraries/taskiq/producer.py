import asyncio

import job
from tasks import broker, run

loop = asyncio.new_event_loop()
loop.run_until_complete(broker.startup())
job.enqueue_all(lambda id, payload: loop.run_until_complete(run.kiq(id, payload)))
