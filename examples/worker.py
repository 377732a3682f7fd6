"""A worker that claims, works and acknowledges, and goes on when Redis is full.

    python3 examples/worker.py redis://127.0.0.1/ mail bulk

Ends when every queue is empty; prints each job.
"""
import json, os, re, secrets, socket, sys, time
from pathlib import Path
import redis

LUA = Path(__file__).parent.parent / "client" / "lua"
r = redis.Redis.from_url(sys.argv[1])
host, nonce = os.environ.get("DYNO") or socket.gethostname(), secrets.token_hex(6)
me = [host, str(os.getpid()), nonce]
queues = [(f"queue:{name}", "|".join([f"queue:{name}", *me, "0"])) for name in sys.argv[2:]]


def is_oom(error):  # a newer redis-py takes the code off the text, and has a class for it
    out_of_memory = getattr(redis.exceptions, "OutOfMemoryError", ())
    return isinstance(error, out_of_memory) or re.search("OOM |Out of memory", str(error))


def rescue(command, keys, args, own):
    """The module's command, the script, the script behind a write, or the caller's own error."""
    text = (LUA / f"{command.split('.')[1].lower()}.lua").read_text()
    behind_a_write = "redis.pcall('ZREMRANGEBYRANK', KEYS[1], 1, 0)\n" + text.split("\n", 1)[1]
    try:
        return r.execute_command(command, *keys, *args)
    except redis.ResponseError as error:
        if not re.match(f"unknown command ['`]{command}", str(error)):
            raise
    for script in (text, behind_a_write):
        try:
            return r.eval(script, len(keys), *keys, *args)
        except redis.ResponseError as error:
            refusal = "near '#'|script shebang|unknown command|scripting engine|'eval' command|executing the script can't run|ACL failure in script: User"
            if not is_oom(error) and not re.search(refusal, str(error)):
                raise
    raise own


def claim():
    try:
        for public, private in queues:
            if (job := r.execute_command("LMOVE", public, private, "RIGHT", "LEFT")) is not None:
                return private, job
    except redis.ResponseError as oom:
        if not is_oom(oom):
            raise
        info = json.dumps({"hostname": host, "pid": me[1], "identity": ":".join(me), "queues": sys.argv[2:]})
        keys = ["processes", ":".join(me), *(key for pair in queues for key in pair)]
        if claimed := rescue("WURK.CLAIM", keys, [info, time.time(), 60], oom):
            return queues[claimed[0] - 1][1], claimed[1]


while claimed := claim():
    private, job = claimed
    print(job.decode(), flush=True)
    r.lrem(private, 1, job)
