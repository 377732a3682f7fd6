import job


def run(id, payload):
    job.run(id)
