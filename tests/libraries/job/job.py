"""What every job of Python's libraries does, and what fills the server with them.

`JOBS` is a folder of this machine. Jobs write there, never to the server, which is
full:

accepted   the jobs that the server took from the producer
refused    the error that ended the producer
uncertain  the job that was refused: a pipeline may have enqueued it all the same
gate       while it is there, no job goes on
held       the jobs that have met the gate
failed-ID  a job that has failed once
done       the jobs that have run
"""

import os
import time

JOBS = os.environ["JOBS"]
PAYLOAD = "x" * 500


class FirstRun(Exception):
    """One job in twenty fails at its first run."""


def run(id):
    if os.path.exists(f"{JOBS}/gate"):
        write("held", id)
        while os.path.exists(f"{JOBS}/gate"):
            time.sleep(0.02)
    if int(id[-6:]) % 20 == 0 and first_run(id):
        raise FirstRun(id)
    write("done", id)


def enqueue_all(enqueue):
    """Enqueues jobs from number `FIRST` on: `MOST`, or until the server refuses."""
    first = int(os.environ.get("FIRST", 0))
    most = int(os.environ.get("MOST", 1_000_000))
    for number in range(first, first + most):
        id = f"job-{number:06}"
        try:
            enqueue(id, PAYLOAD)
        except Exception as error:
            write("uncertain", id)
            write("refused", f"{type(error).__name__}: {error}")
            return
        write("accepted", id)


def first_run(id):
    try:
        os.close(os.open(f"{JOBS}/failed-{id}", os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def write(name, line):
    # One write a line: several processes append.
    file = os.open(f"{JOBS}/{name}", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
    os.write(file, f"{line}\n".encode())
    os.close(file)
