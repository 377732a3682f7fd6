"""What is rescued, what is not, and what a caller gets then, on a full server that `FULL_URL` names."""
import asyncio, logging, os, re, socket, subprocess, sys, tempfile, threading, time

import redis, redis.asyncio
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, ResponseError, WatchError
from redis.asyncio.retry import Retry as LaterRetry
from redis.retry import Retry

import wurk_rescue

wurk_rescue.LIMIT = 0
URL = os.environ["FULL_URL"]
OLD = bool(os.environ.get("BEFORE_7"))
admin = redis.Redis.from_url(URL)


def fresh(full=True):
    """A server with these keys, full or not, of which nothing is known."""
    admin.config_set("maxmemory", 0)
    admin.flushall()
    admin.rpush("q", "a", "b")
    admin.set("watched", "before")
    if full:
        admin.config_set("maxmemory", 1)
    wurk_rescue.servers.clear()
    wurk_rescue.full.clear()
    return redis.Redis.from_url(URL)


def with_room(change):
    admin.config_set("maxmemory", 0)
    change()
    admin.config_set("maxmemory", 1)


def refused(call):
    try:
        call()
    except ResponseError as error:
        assert wurk_rescue.is_refusal(error) or "OOM" in str(error) or "not allowed" in str(error), error
        return error
    raise AssertionError("it was not refused")


def an_error_that_is_not_oom_is_the_answer():
    r = fresh(full=False)
    for run in (r.eval, lambda *words: r.pipeline().eval(*words).execute(), lambda *words: r.pipeline(transaction=False).eval(*words).execute()):
        admin.delete("n")
        try:
            run("redis.call('INCR', KEYS[1]) return redis.error_reply('MINE OOM ' .. ARGV[1])", 1, "n", "OOM command not allowed")
            raise AssertionError("no error")
        except ResponseError as error:
            assert "MINE OOM OOM" in str(error) and r.get("n") == b"1", (error, r.get("n"))


def a_pipeline_keeps_its_order():
    r = fresh()
    pipe = r.pipeline(transaction=False)
    pipe.set("b", "v").expire("b", 10000).set("c", "v")
    replies = pipe.execute(raise_on_error=False)
    assert wurk_rescue.is_refusal(replies[0]) and replies[1:] == [False, True], replies
    assert not r.exists("b"), "not for ever"
    assert r.pipeline(transaction=False).set("b", "v").expire("b", 10000).execute() == [True, True]
    assert r.ttl("b") > 9000


def what_a_pipeline_does_not_decode_is_not_decoded():
    fresh()
    r = redis.Redis.from_url(URL, decode_responses=True)
    r.set("k", "v")  # Now the server is known to be full.
    replies = r.pipeline(transaction=False).set("b", "v").dump("k").execute()
    assert replies[0] is True and type(replies[1]) is bytes, replies


def it_is_known_for_as_long_as_it_is_so():
    r = fresh()
    r.set("k", "v")
    time.sleep(1.2)
    assert r.pipeline(transaction=False).set("b", "v").expire("b", 10000).execute() == [True, True]
    time.sleep(1.2)
    pipe = r.pipeline()
    pipe.watch("watched")
    pipe.multi()
    assert pipe.incr("n").execute() == [1]
    admin.config_set("maxmemory", 0)
    time.sleep(1.2)
    r.pipeline(transaction=False).set("b", "v").get("b").execute()  # Asks, and asks no more.
    before = admin.info("stats")["total_commands_processed"]
    r.pipeline(transaction=False).set("b", "v").get("b").execute()
    assert admin.info("stats")["total_commands_processed"] - before == 3


def a_transaction_is_all_or_nothing():
    r = fresh()
    assert r.pipeline().set("b", "v").incr("n").execute() == [True, 1]
    # One that ran is not sent again.
    try:
        r.pipeline().incr("b").incr("n").execute()
        raise AssertionError("b is no integer")
    except ResponseError as error:
        assert "not an integer" in str(error), error
    assert r.get("n") == b"2"
    r = fresh()  # Up to 7.2 none of these is queued; later the first runs, and the script is refused.
    try:
        r.pipeline().lpop("q").eval("return redis.call('SET', KEYS[1], 'v')", 1, "b").execute()
    except ResponseError as error:
        assert wurk_rescue.is_refusal(error), error
    assert r.llen("q") == 1, r.llen("q")
    r = fresh()
    assert r.pipeline().blmove("q", "p", 1).incr("n").execute() == [b"a", 1], "it does not wait there"


def what_is_watched_decides():
    r = fresh()
    pipe = r.pipeline()
    pipe.watch("watched")
    pipe.multi()
    pipe.incr("n")
    refused(pipe.execute)  # Nobody knows how it was.
    assert not r.exists("n")
    for change in (None, lambda: admin.set("watched", "after"), lambda: admin.delete("watched"), lambda: admin.expire("watched", 999)):
        if OLD and change and change.__code__.co_names[-1] == "expire":
            continue  # Nobody can ask for it.
        with_room(lambda: (admin.set("watched", "before"), admin.delete("n")))
        r.set("k", "v")  # Refused: the server is known to be full.
        pipe = r.pipeline()
        pipe.watch("watched", "absent")
        if change:
            with_room(change)
        pipe.multi()
        pipe.incr("n")
        try:
            assert pipe.execute() == [1] and change is None
        except WatchError:
            assert change is not None and not r.exists("n")


def a_server_without_the_module_is_asked_once_a_minute():
    r = fresh()
    r.ping()  # Connecting may bring errors of its own.
    asked = lambda: int(re.sub(r"\D", "", str(admin.info("errorstats").get("errorstat_ERR", 0))))
    before = asked()
    assert [r.incr("n") for _ in range(4)] == [1, 2, 3, 4]
    unknown = 1 + 4 * OLD  # Before 7.0 each script is refused once for its first line.
    assert asked() - before == unknown, asked() - before


def scripts_get_the_flag():
    r = fresh()
    admin.script_load("return redis.call('SET', KEYS[1], ARGV[1])")
    wurk_rescue.texts.clear()
    script = r.register_script("return redis.call('SET', KEYS[1], ARGV[1])")
    wurk_rescue.texts.clear()  # As if it had been registered before this was loaded.
    wurk_rescue.asked.clear()
    assert script(keys=["k"], args=["v"]) == b"OK"
    assert r.eval("return redis.call('APPEND', KEYS[1], 'w')", 1, "k") == 2
    if not OLD:
        assert r.eval("#!lua flags=no-cluster\nreturn redis.call('APPEND', KEYS[1], 'w')", 1, "k") == 3
    pipe = r.pipeline()
    pipe.incr("n")
    script(keys=["m"], args=["v"], client=pipe)
    assert pipe.execute() == [1, b"OK"]


def the_limit_stops_what_grows():
    r = fresh()
    wurk_rescue.LIMIT = 10
    try:
        refused(lambda: r.set("k", "v"))
        assert r.lmove("q", "p", "LEFT", "RIGHT") == b"a"
    finally:
        wurk_rescue.LIMIT = 0


def each_log_line_comes_once():
    r, lines = fresh(), []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    wurk_rescue.log.addHandler(handler)
    try:
        r.set("k", "v"), r.set("k", "v")
        wurk_rescue.LIMIT = 10
        wurk_rescue.server_of(r.connection_pool.make_connection()).asked = 0
        refused(lambda: r.set("k", "v")), refused(lambda: r.set("k", "v"))
    finally:
        wurk_rescue.LIMIT = 0
        wurk_rescue.log.removeHandler(handler)
    assert [line.split(": ")[2] for line in lines] == [
        "what it refuses is sent again in a script (without a limit)",
        "more than 10 % past maxmemory, what grows keeps its error"], lines


def a_move_waits():
    r = fresh()
    began = time.monotonic()
    assert r.blmove("empty", "p", 0.3) is None and time.monotonic() - began >= 0.3

    def push():
        time.sleep(0.15)
        with_room(lambda: admin.lpush("empty", "job"))

    thread = threading.Thread(target=push)
    thread.start()
    assert r.blmove("empty", "p", 20) == b"job"
    thread.join()

    async def later():
        client = redis.asyncio.Redis.from_url(URL)
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        assert await client.blmove("empty", "p", 0.3) is None
        ticking.cancel()
        assert ticks > 10, "the loop is not blocked"
        await getattr(client, "aclose", client.close)()

    asyncio.run(later())


def the_callers_own_error_where_no_script_runs():
    fresh()
    admin.execute_command("ACL", "SETUSER", "limited", "reset", "on", ">secret", "~*", "+@all", "-eval", "-evalsha")
    host = admin.connection_pool.connection_kwargs
    r = redis.Redis(host=host.get("host", "127.0.0.1"), port=host["port"], username="limited", password="secret")
    for _ in range(2):
        refused(lambda: r.set("k", "v"))
        refused(r.pipeline().set("k", "v").incr("n").execute)
        refused(r.pipeline(transaction=False).set("k", "v").incr("n").execute)
    assert not admin.exists("k", "n")
    admin.execute_command("ACL", "SETUSER", "limited", "+eval", "-lmove")
    wurk_rescue.servers.clear()
    refused(lambda: r.blmove("q", "p", 1))
    assert r.set("k", "v"), "this user may still"


class Proxy:
    """Forwards to the server; cuts a connection instead of the reply to the first command of this name, `times` times."""

    def __init__(self, name, times=1, then=lambda: None):
        self.name, self.times, self.then, self.seen = name.encode(), times, then, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        server = socket.create_connection(("127.0.0.1", admin.connection_pool.connection_kwargs["port"]))
        while data := client.recv(1 << 20):
            server.sendall(data)
            named = data.split(b"\r\n", 3)[2:3] == [self.name]
            self.seen += named
            reply = server.recv(1 << 20)
            if named and self.times > 0:
                self.times -= 1
                self.then()
                break
            client.sendall(reply)
        client.close()
        server.close()


def over(proxy, retries):
    return redis.Redis(port=proxy.port, retry=Retry(NoBackoff(), retries), retry_on_error=[ConnectionError])


def what_redis_py_sends_again_is_not_rescued():
    fresh(full=False)
    proxy = Proxy("INCRBY", then=lambda: admin.config_set("maxmemory", 1))
    r = over(proxy, 3)
    refused(lambda: r.incr("n"))
    assert proxy.seen == 2 and admin.get("n") == b"1", (proxy.seen, admin.get("n"))


def what_redis_py_sends_again_is_not_rescued_where_it_is_known_full():
    def then():  # As another thread would find out.
        admin.config_set("maxmemory", 1)
        wurk_rescue.server_of(r.connection_pool.make_connection()).refused()

    async def asynchronous(pipeline):
        client = redis.asyncio.Redis(port=proxy.port, retry=LaterRetry(NoBackoff(), 3), retry_on_error=[ConnectionError])
        pipe = client.pipeline(transaction=pipeline.is_transaction)
        for args, _ in pipeline.command_stack:
            pipe.execute_command(*args)
        try:
            return await pipe.execute()
        finally:
            await getattr(client, "aclose", client.close)()

    for transaction, first in ((False, "RPUSH"), (True, "MULTI")):
        for run in (lambda pipe: pipe.execute(), lambda pipe: asyncio.run(asynchronous(pipe))):
            fresh(full=False)
            proxy = Proxy(first, then=then)
            r = over(proxy, 3)
            pipe = r.pipeline(transaction=transaction).rpush("l", "1")
            pipe.is_transaction = transaction
            try:
                run(pipe.eval("return redis.call('RPUSH', KEYS[1], 'two')", 1, "l"))
                raise AssertionError("it was sent again")
            except (ResponseError, ConnectionError):  # Not every redis-py sends pipelines again.
                pass
            assert admin.llen("l") == 2, admin.lrange("l", 0, -1)


def a_rescue_is_sent_once():
    if OLD:
        return  # Its first script does not compile, and runs nothing.

    async def later(r):
        client = redis.asyncio.Redis(port=r.port, retry=LaterRetry(NoBackoff(), 3), retry_on_error=[ConnectionError])
        try:
            await r.way(client)
        finally:
            await getattr(client, "aclose", client.close)()

    ways = [lambda r: r.incr("n"), lambda r: r.pipeline().incr("n").set("k", "v").execute(),
            lambda r: r.pipeline(transaction=False).incr("n").set("k", "v").execute()]
    for known in (False, True):
        for way in ways:
            for run in (way, lambda r: asyncio.run(later(r))):
                fresh()
                proxy = Proxy("EVAL", times=9)
                r = over(proxy, 3)
                r.port, r.way = proxy.port, way
                if known:
                    wurk_rescue.server_of(r.connection_pool.make_connection()).refused()
                try:
                    run(r)
                    raise AssertionError("no reply, no error")
                except ConnectionError:
                    pass
                assert proxy.seen == 1 and admin.get("n") == b"1", (proxy.seen, admin.get("n"))


def a_pipeline_that_has_run_in_part_is_not_sent_again():
    async def later(port):
        client = redis.asyncio.Redis(port=port, retry=LaterRetry(NoBackoff(), 3), retry_on_error=[ConnectionError])
        try:
            await client.pipeline(transaction=False).lpop("q").set("k", "v").execute()
        finally:
            await getattr(client, "aclose", client.close)()

    for run in (lambda proxy: over(proxy, 3).pipeline(transaction=False).lpop("q").set("k", "v").execute(),
                lambda proxy: asyncio.run(later(proxy.port))):
        fresh(full=False)
        admin.config_set("maxmemory", 1)
        proxy = Proxy("INFO")
        try:
            run(proxy)
            raise AssertionError("no reply, no error")
        except ConnectionError:
            pass
        assert proxy.seen == 1 and admin.llen("q") == 1, (proxy.seen, admin.lrange("q", 0, -1))


def a_watch_that_is_lost_is_an_error_of_the_client():
    async def later(port):
        client = redis.asyncio.Redis(port=port, retry=LaterRetry(NoBackoff(), 0))
        try:
            async with client.pipeline() as pipe:  # It sends UNWATCH at its end, whenever that is.
                await pipe.watch("k")
        finally:
            await getattr(client, "aclose", client.close)()

    def now(port):
        with redis.Redis(port=port, retry=Retry(NoBackoff(), 0), socket_timeout=2).pipeline() as pipe:
            pipe.watch("k")

    for run in (lambda proxy: now(proxy.port), lambda proxy: asyncio.run(later(proxy.port))):
        fresh()
        proxy = Proxy("EVAL")
        wurk_rescue.server_of(over(proxy, 0).connection_pool.make_connection()).refused()
        try:
            run(proxy)
            raise AssertionError("no reply, no error")
        except ConnectionError:
            assert proxy.seen == 1, proxy.seen


def nothing_more_is_sent_with_room():
    r = fresh(full=False)
    r.ping()
    before = admin.info("stats")["total_commands_processed"]
    for _ in range(5):
        r.set("k", "v")
        r.pipeline(transaction=False).set("k", "v").get("k").execute()
        r.pipeline().set("k", "v").execute()
    assert admin.info("stats")["total_commands_processed"] - before == 5 * 6 + 1


def it_can_be_loaded_twice():
    text = "import wurk_rescue, importlib, redis\nsend = redis.Redis._send_command_parse_response\nimportlib.reload(wurk_rescue)\n" \
           "assert redis.Redis._send_command_parse_response is send"
    subprocess.run([sys.executable, "-c", text], check=True)


def it_patches_all_or_nothing():
    text = "import redis.client\ndel redis.client.Redis._send_command_parse_response\nexecute = redis.client.Redis.execute_command\n" \
           "for _ in range(2):\n    try:\n        import wurk_rescue\n        raise SystemExit('loaded')\n    except ImportError as error:\n" \
           "        assert 'has no Redis._send_command_parse_response' in str(error), error\n" \
           "assert redis.client.Redis.execute_command is execute"
    subprocess.run([sys.executable, "-c", text], check=True)


PROGRAM = """
import dataclasses, multiprocessing, pickle, sys, typing, redis

@dataclasses.dataclass
class Thing:
    next: "typing.Optional[Thing]" = None

def loaded(queue):
    queue.put(hasattr(redis, "wurk_rescue"))

if __name__ == "__main__":
    import wurk_rescue
    assert redis.Redis._send_command_parse_response.__globals__ is vars(wurk_rescue), "it is there once"
    assert pickle.loads(pickle.dumps(Thing())) == Thing() and typing.get_type_hints(Thing) and "MOVES" not in globals()
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=loaded, args=(queue,))
        process.start()
        assert queue.get(timeout=20), method
        process.join()
    print(sys.argv[1:], __file__)
"""


def a_program_is_run_with_it():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")
        with open(path, "w") as file:
            file.write(PROGRAM)
        for arguments in ([path], ["-m", "program"]):
            run = subprocess.run([sys.executable, "-m", "wurk_rescue", *arguments, "one", "two"], text=True, capture_output=True,
                                 env={**os.environ, "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], folder])})
            assert run.returncode == 0 and run.stdout.startswith("['one', 'two']"), (run.stdout, run.stderr)


for name, rule in list(globals().items()):
    if getattr(rule, "__module__", None) == "__main__" and "_" in name and callable(rule) and name != "with_room":
        rule()
        print("ok", name)
