"""Random commands, pipelines, transactions and scripts on a full server, whose refusals are rescued,
and on one with room: the same replies of the same types, and the same data. SEED and STEPS choose the run."""
import asyncio, os, random, re

import redis, redis.asyncio
import wurk_rescue

wurk_rescue.LIMIT = 0
FULL, ROOMY = os.environ["FULL_URL"], os.environ["ROOMY_URL"]
OLD = bool(os.environ.get("BEFORE_7"))  # There scripts have other errors, and one command is not rescued.
SEED = int(os.environ.get("SEED") or random.randrange(10**9))
STEPS = int(os.environ.get("STEPS") or 600)
print(f"SEED={SEED}")

KEYS = ["a", "b", "c", b"\xff\x00\r\n", "", "list"]
VALUES = ["", "1", "-5", "2.5", "text", b"\x00\xff\r\n", "OOM command not allowed"]
SCRIPTS = [
    "return redis.call('SET', KEYS[1], ARGV[1])",
    "return {redis.call('RPUSH', KEYS[1], ARGV[1]), false, {'x', 1}, 3}",
    "redis.call('HSET', KEYS[1], 'f', ARGV[1]) return redis.call('HGETALL', KEYS[1])",
    "if redis.call('EXISTS', KEYS[1]) == 1 then return {err = 'MINE it is there'} end",
]


def command(r):
    key, other, value = r.choice(KEYS), r.choice(KEYS), r.choice(VALUES)
    kinds = [
        ("SET", key, value), ("SET", key, value, "NX", "GET"), ("GET", key), ("INCRBY", key, 7), ("APPEND", key, value),
        ("HSET", key, "f", value), ("HGETALL", key), ("HMGET", key, "f", "none"), ("HINCRBYFLOAT", key, "f", "0.5"),
        ("LPUSH", key, value, "more"), ("RPUSH", key, value), ("LMOVE", key, other, "LEFT", "RIGHT"),
        ("BLMOVE", key, other, "LEFT", "RIGHT", "0.02"), ("RPOPLPUSH", key, other), ("LRANGE", key, 0, -1),
        ("LREM", key, 1, value), ("SADD", key, value), ("SMEMBERS", key), ("ZADD", key, "1.5", value),
        ("ZADD", key, "INCR", "2", value), ("ZSCORE", key, value), ("ZMSCORE", key, value, "none"),
        ("ZRANGE", key, 0, -1), ("ZINCRBY", key, "inf", value), ("XADD", "stream", "*", "f", value),
        ("XADD", "stream", f"{r.randrange(1, 65000)}-1", "f", value), ("XRANGE", "stream", "-", "+"),
        ("XGROUP CREATE", "stream", "g", "0", "MKSTREAM"), ("DEL", key), ("EXPIRE", key, 10000), ("MSET", key, value, "m", value),
        ("GEOADD", key, "13.36", "38.11", "Palermo"), ("GEOPOS", key, "Palermo", "none"), ("COPY", key, other), ("SET", key),
    ]
    if not OLD:
        kinds += [("EVAL", r.choice(SCRIPTS), 1, key, value)] * 3 + [("INCRBYFLOAT", key, "0.25")]
    kinds = [kind for kind in kinds if kind[:3] != ("XADD", "stream", "*")]
    return r.choice(kinds)


def outcome(reply):
    """A reply, or an error, with its type; without the place in a script, or in a pipeline, that an error names."""
    if isinstance(reply, Exception):
        text = re.sub(r" script: .*|^Command # \d+ .* caused error: ", "", str(reply), flags=re.S)
        return type(reply).__name__, text
    if isinstance(reply, list):
        return [outcome(each) for each in reply]
    return type(reply).__name__, reply


def step(r):
    kind = r.randrange(4)
    if kind < 2:
        return "command", [command(r)]
    commands = [command(r) for _ in range(r.randrange(2, 6))]
    # What cannot be queued ends a transaction, and what waits does not wait in one.
    allowed = [c for c in commands if len(c) > 2 or c[0] != "SET" or kind == 2] or [("GET", "a")]
    return ("pipeline", "transaction")[kind - 2], [c for c in allowed if c[0] != "BLMOVE"] or [("GET", "a")]


def run(client, kind, commands):
    try:
        if kind == "command":
            return client.execute_command(*commands[0])
        pipe = client.pipeline(transaction=kind == "transaction")
        for words in commands:
            pipe.execute_command(*words)
        return pipe.execute(raise_on_error=False)
    except (redis.RedisError, ValueError) as error:  # Some replies it cannot parse.
        return error


async def run_async(client, kind, commands):
    try:
        if kind == "command":
            return await client.execute_command(*commands[0])
        pipe = client.pipeline(transaction=kind == "transaction")
        for words in commands:
            pipe.execute_command(*words)
        return await pipe.execute(raise_on_error=False)
    except (redis.RedisError, ValueError) as error:  # Some replies it cannot parse.
        return error


def check(protocol, at, kind, commands, ours, theirs):
    ours, theirs = outcome(ours), outcome(theirs)
    assert ours == theirs, f"SEED={SEED}, RESP{protocol}, step {at}: {kind} {commands}\n full: {ours}\nroomy: {theirs}"


def speaks(protocol):
    return {"protocol": protocol} if redis.VERSION >= (5,) else {}  # Before 5.0 there was one.


def begin(protocol):
    clients = [redis.Redis.from_url(url, **speaks(protocol)) for url in (FULL, ROOMY)]
    for client in clients:
        client.flushall()
        client.set("a", "1")  # Now the server is known to be full.
    return clients, random.Random(SEED)


for protocol in (2, 3) if redis.VERSION >= (5,) else (2,):
    (full, roomy), r = begin(protocol)
    for at in range(STEPS):
        kind, commands = step(r)
        if kind != "command":  # A second ago is too long to know that the server is full.
            full.set("now", "full"), roomy.set("now", "full")
        check(protocol, at, kind, commands, run(full, kind, commands), run(roomy, kind, commands))
    assert full.execute_command("DEBUG", "DIGEST") == roomy.execute_command("DEBUG", "DIGEST")

    async def asynchronous():
        _, r = begin(protocol)
        clients = [redis.asyncio.Redis.from_url(url, **speaks(protocol)) for url in (FULL, ROOMY)]
        for at in range(STEPS):
            kind, commands = step(r)
            if kind != "command":
                for client in clients:
                    await client.set("now", "full")
            check(protocol, at, kind, commands, *[await run_async(client, kind, commands) for client in clients])
        for client in clients:
            await getattr(client, "aclose", client.close)()

    asyncio.run(asynchronous())
    assert full.execute_command("DEBUG", "DIGEST") == roomy.execute_command("DEBUG", "DIGEST")
