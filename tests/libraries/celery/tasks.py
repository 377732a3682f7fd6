import os

from celery import Celery

import job

app = Celery("tasks", broker=os.environ["REDIS_URL"])

# The jobs of a worker that is killed return after this many seconds.
if "RECOVER_AFTER" in os.environ:
    app.conf.task_acks_late = True
    app.conf.broker_transport_options = {"visibility_timeout": int(os.environ["RECOVER_AFTER"])}


@app.task(autoretry_for=(Exception,), default_retry_delay=1)
def run(id, payload):
    job.run(id)
