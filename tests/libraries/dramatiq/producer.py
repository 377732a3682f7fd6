import job
from tasks import run

job.enqueue_all(run.send)
