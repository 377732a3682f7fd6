"""A worker that claims, works and acknowledges, and keeps running when Redis is full.

    python3 examples/worker.py redis://127.0.0.1/ mail bulk

What is done is acknowledged in one round trip with the next claim. Promotes the jobs whose retry is due. Ends when
every queue is empty; prints each job.

Its only heartbeat is that of WURK.CLAIM, on a full server. One that stays, or whose jobs take long, sends WURK.BEAT from
a thread of its own, before another process's reaper takes its jobs for those of a dead one.
"""
import json, os, re, secrets, socket, sys, time
from pathlib import Path
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

LUA = Path(__file__).parent.parent / "client" / "lua"
r = redis.Redis.from_url(sys.argv[1], retry=Retry(NoBackoff(), 0))  # nothing is sent twice
host, nonce = os.environ.get("DYNO") or socket.gethostname(), secrets.token_hex(6)
me = [host, str(os.getpid()), nonce]
queues = [(f"queue:{name}", "|".join([f"queue:{name}", *me, "0"])) for name in sys.argv[2:]]


# Error texts, matched from their beginning: the caller's own bytes may follow.
def unknown(command):
    return [rf"(unknown|unsupported|unknown or unsupported) command ((['`\"]){command}\3|{command}([ ,]|$))",
            rf"(unknown command|command (['`\"]?){command}\2 not support)$"]


LINES = r"(Error running script.*?\): )?(@user_script[\d: ]+)*-?"  # before 7.0: the script's line numbers
OOM = [LINES + "(OOM |Out of memory)"]
CANNOT_COMPILE = ["[^'`\"]*unexpected symbol near '#'", "Unexpected flag in script shebang", "allow-oom is not supported"]
NO_SCRIPTS = [*unknown("EVAL"), "command ['`\"]?eval['`\"]? not support", "Could not find scripting engine",
              "This instance has Lua scripting support disabled",
              "(this user|User .*) has no permissions to run the 'eval' command",
              LINES + "The user executing the script can't run this command",
              LINES + "ACL failure in script: User .* has no permissions to run the '"]


def matches(error, patterns):
    return any(re.match(pattern, str(error), re.IGNORECASE) for pattern in patterns)


def is_oom(error):  # newer versions of redis-py have a class for it, and drop the code from the text
    return isinstance(error, getattr(redis.exceptions, "OutOfMemoryError", ())) or matches(error, OOM)


def acknowledge_and_call(done, *command):
    """The reply to a command that is sent together with the acknowledgements of `done`, without MULTI.

    What the server refused to acknowledge stays in `done`. After a lost connection `done` is empty, and any part may
    have run: the private lists tell.
    """
    pipeline = r.pipeline(transaction=False)
    for private, job in done:
        pipeline.lrem(private, 1, job)
    sent, done[:] = done[:], []  # if the replies are lost, it must not be sent again
    *replies, reply = pipeline.execute_command(*command).execute(raise_on_error=False)
    done += [job for job, refused in zip(sent, replies) if isinstance(refused, Exception)]
    if isinstance(reply, Exception):
        raise reply
    return reply


known = {}  # for a second: by command the step that worked, and by "OOM" the error of a full server


def fall_back(command, keys, args, original_error=None, done=None):
    """The module's command, the script, the script for servers before 7.0, or the original error, if there is one."""
    text = (LUA / f"{command.split('.')[1].lower()}.lua").read_text()
    legacy = (LUA / "before-7.0" / "write.lua").read_text() + text.split("\n", 1)[1]
    steps = [(command,), ("EVAL", text, len(keys)), ("EVAL", legacy, len(keys))]
    for step in range(known.get(command, 0), len(steps)):
        try:
            reply = acknowledge_and_call(done or [], *steps[step], *keys, *args)
            known[command] = step
            return reply
        except redis.ResponseError as error:
            last_error = error
            if step > 0 and matches(error, NO_SCRIPTS):
                break
            leads_on = is_oom(error) or matches(error, CANNOT_COMPILE) if step > 0 else matches(error, unknown(command))
            if not leads_on:
                raise
    raise original_error or last_error


def acknowledge_and_claim(done):
    """Acknowledges the jobs in `done` and takes the next one, which is returned whatever became of those."""
    oom = known.get("OOM")
    try:
        for public, private in [] if oom else queues:
            if (job := acknowledge_and_call(done, "LMOVE", public, private, "RIGHT", "LEFT")) is not None:
                return private, job
    except redis.ResponseError as error:
        if not is_oom(error):
            raise
        oom = known["OOM"] = error
    if oom:
        info = json.dumps({"hostname": host, "pid": me[1], "identity": ":".join(me), "queues": sys.argv[2:]})
        keys = ["processes", ":".join(me), *(key for pair in queues for key in pair)]
        if claimed := fall_back("WURK.CLAIM", keys, [info, time.time(), 60], oom, done):
            return queues[claimed[0] - 1][1], claimed[1]


def queue_of(job):
    try:
        name = json.loads(job)["queue"].encode()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        name = b"default"
    return b"queue:" + name.removeprefix(b"queue:")


def promote():
    """Moves the jobs whose retry is due to their queues; of several workers one moves each job."""
    kept = 0  # jobs that stay in the set
    while due := r.zrangebyscore("retry", "-inf", time.time(), start=kept, num=100):  # never refused: it only reads
        for job in due:
            try:
                fall_back("WURK.PROMOTE", ["retry", queue_of(job)], [job])
            except redis.ResponseError as error:
                if not str(error).startswith("WRONGTYPE"):
                    raise
                print(queue_of(job), error, file=sys.stderr)  # whatever else is due must not wait for this key
                kept += 1


done, promoted = [], 0
while True:
    if time.time() >= promoted + 1:
        known.clear()
        promote()
        promoted = time.time()
    if not (claimed := acknowledge_and_claim(done)):
        break
    private, job = claimed
    sys.stdout.buffer.write(job + b"\n")
    sys.stdout.flush()
    done.append(claimed)
for private, job in done:  # what was refused so far
    r.lrem(private, 1, job)
