import os

from celery import Celery

import job

app = Celery("tasks", broker=os.environ["REDIS_URL"])

# For a worker that is killed: its jobs return after this many seconds.
if "VISIBILITY_TIMEOUT" in os.environ:
    app.conf.task_acks_late = True
    app.conf.broker_transport_options = {"visibility_timeout": int(os.environ["VISIBILITY_TIMEOUT"])}


@app.task(autoretry_for=(Exception,), default_retry_delay=1)
def run(id, payload):
    job.run(id)
