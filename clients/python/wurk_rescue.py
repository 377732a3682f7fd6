"""Workers over redis-py that keep running when their Redis or Valkey is full.

`import wurk_rescue` in the worker's process is all; or start any program with it:

    python -m wurk_rescue bin/rq worker        # a file, or -m and a module

A command that a full server refused (OOM, under maxmemory and noeviction) is sent again inside a
script that such a server runs; what is not refused is sent as ever. Producers do not load this, and
stay refused. `WURK_RESCUE_LIMIT` is how far past maxmemory the server may be for that, in percent
(10; 0 is no limit): past it what grows keeps its error, and what only moves a job goes on.
"""
import asyncio, hashlib, importlib.util, logging, multiprocessing.spawn, os, re, sys, time, types

import redis
import redis.asyncio.client, redis.client, redis.commands.core
from redis.exceptions import ConnectionError, ExecAbortError, NoScriptError, ResponseError, TimeoutError, WatchError

LIMIT = float(os.environ.get("WURK_RESCUE_LIMIT") or 10)  # percent
MOVES = {"LMOVE", "RPOPLPUSH", "BLMOVE", "BRPOPLPUSH"}
WAITS = {"BLMOVE", "BRPOPLPUSH"}
# What a script cannot run, or would not wait for.
NOT_IN_SCRIPTS = set("""EVALSHA EVAL_RO EVALSHA_RO FCALL FCALL_RO FUNCTION SCRIPT MULTI EXEC DISCARD WATCH UNWATCH AUTH
    HELLO RESET QUIT SELECT CLIENT CONFIG DEBUG WAIT WAITAOF MONITOR SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE PUNSUBSCRIBE
    SSUBSCRIBE SUNSUBSCRIBE BLPOP BRPOP BLMOVE BRPOPLPUSH BLMPOP BZPOPMIN BZPOPMAX BZMPOP XREAD XREADGROUP SAVE BGSAVE
    BGREWRITEAOF SHUTDOWN REPLICAOF FAILOVER MODULE ACL CLUSTER MIGRATE""".split())
MOST_WORDS = 7000  # Lua's stack holds 8,000.
NO = object()  # Nothing was carried: the caller's own error is the answer.
INFO = ("INFO", "memory")
log = logging.getLogger("wurk_rescue")
texts = {}  # of scripts, by their digests
asked = set()  # digests that the caller was asked to load
servers = {}
full = set()  # the servers that are known to be full


# What errors mean. redis-py drops the code OOM, and ERR; a caller's own bytes may follow.
LINES = r"(Error running script.*?\): )?(@user_script[\d: ]+)*-?"
OOM_TEXT = re.compile(LINES + "OOM ")
OOM_CLASS = getattr(redis.exceptions, "OutOfMemoryError", ())
UNKNOWN = r"(ERR )?(unknown|unsupported|unknown or unsupported) command [`'\"]?{}\b"
NO_MODULE = re.compile(UNKNOWN.format("WURK.RESCUE") + r"|(ERR )?unknown command$"
                       r"|(NOPERM )?(this user|User .*) has no permissions to run the 'wurk.rescue' command", re.I)
CANNOT_COMPILE = re.compile(r"[^'`\"]*unexpected symbol near '#'|(ERR )?(Unexpected flag in script shebang|allow-oom is not supported)")
NO_SCRIPTS = re.compile(UNKNOWN.format("EVAL") + "|(ERR )?command ['`\"]?eval['`\"]? not support|(ERR )?Could not find scripting engine"
                        "|(ERR )?This instance has Lua scripting support disabled|(ERR )?Out of memory"
                        "|(NOPERM )?(this user|User .*) has no permissions to run the 'eval' command"
                        f"|(ERR )?{LINES}The user executing the script can't run this command"
                        f"|(ERR )?{LINES}ACL failure in script: User .* has no permissions to run the '", re.I)


def is_refusal(error):
    """Whether a command was refused for memory. Past an operator's limit the error says so, and is the answer."""
    refused = isinstance(error, OOM_CLASS) or isinstance(error, ResponseError) and OOM_TEXT.match(str(error))
    return bool(refused) and "'wurk." not in str(error)


class Server:
    """What is known of a server: whether it is full, and which way it takes commands."""

    def __init__(self, name):
        self.name, self.full_until, self.asked, self.past_limit = name, 0, float("-inf"), False
        self.no_module_until = self.no_scripts_until = 0
        self.logged = {}

    def refused(self):
        self.full_until = time.monotonic() + 1
        full.add(self)

    def is_still_full(self):
        """Sent INFO's reply when a second has passed since a refusal: it may have been long ago."""
        if self in full and time.monotonic() >= self.full_until:
            self.on_info((yield INFO))
        return self in full

    def on_info(self, info):
        self.asked = time.monotonic()
        fields = dict(line.split(":", 1) for line in as_text(info).split("\r\n") if ":" in line)
        if isinstance(info, Exception) or not {"used_memory", "maxmemory"} <= fields.keys():
            if self.asked >= self.full_until:  # It does not say: a second after the last refusal.
                full.discard(self)
            return
        used, most = int(fields["used_memory"]), int(fields["maxmemory"])
        self.past_limit = bool(LIMIT and most and used > most * (1 + LIMIT / 100))
        if most and used >= 0.98 * most:
            self.refused()
        else:
            full.discard(self)

    def note(self, what):
        if time.monotonic() > self.logged.get(what, float("-inf")) + 60:
            self.logged[what] = time.monotonic()
            log.warning("wurk_rescue: %s is full: %s", self.name, what)


def server_of(conn):
    name = getattr(conn, "path", None) or f"{getattr(conn, 'host', '')}:{getattr(conn, 'port', '')}"
    return servers.get(name) or servers.setdefault(name, Server(name))


def with_text(words):
    """EVALSHA with the script's text, where it is known."""
    if str(words[0]).upper() != "EVALSHA":
        return words
    text = texts.get(as_text(words[1]).lower())
    return words if text is None else ("EVAL", text, *words[2:])


def as_text(word):
    return word.decode(errors="replace") if isinstance(word, bytes) else str(word)


def first_key(words):
    if as_text(words[0]).upper() == "EVAL":
        return words[3] if int(words[2]) > 0 else None
    return words[2 if as_text(words[0]).upper() in ("XGROUP", "BITOP") else 1] if len(words) > 1 else None


def allow_oom(text):
    """A library's own script with the flag; None if it has that already."""
    text = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
    if not text.startswith(b"#!"):
        return b"#!lua flags=allow-oom,allow-cross-slot-keys\n" + text
    line, _, body = text.partition(b"\n")
    if not line.startswith(b"#!lua") or b"allow-oom" in line:
        return None
    line = line.replace(b"flags=", b"flags=allow-oom,", 1) if b"flags=" in line else line.rstrip() + b" flags=allow-oom"
    return line + b"\n" + body


def split(words):
    """As the wire has it: redis-py has names of two words, which are one to it."""
    name = as_text(words[0])
    return (*name.split(), *words[1:])


def requests(commands, how, protocol, watched):
    """What to send on 7.0 and later, and before; how to read the reply."""
    single = commands[0] if len(commands) == 1 and how == "each" else None
    if single and as_text(single[0]).upper() == "EVAL":
        text, old = allow_oom(single[1]), WRITE_FIRST.encode() + (single[1].encode() if isinstance(single[1], str) else bytes(single[1]))
        return text and ("EVAL", text, *single[2:]), first_key(single) is not None and ("EVAL", old, *single[2:]), False
    for words in commands:
        name = as_text(words[0]).upper()
        moves = name in WAITS and (single or how == "all")  # In a transaction it would not wait either.
        if len(words) > MOST_WORDS or name in NOT_IN_SCRIPTS and not moves:
            return None, None, True
    rest = [how, protocol, len(watched)]
    for pair in watched:
        rest += pair
    for words in commands:
        rest += [len(words), *words]
    key = next((key for key in map(first_key, commands) if key is not None), None)
    return ("EVAL", COMMANDS, 0, *rest), key is not None and ("EVAL", WRITE_FIRST + COMMANDS.split("\n", 1)[1], 1, key, *rest), True


def carry(server, commands, how="each", protocol="2", watched=()):
    """Sends commands that were refused another way. Yields what to send (a tuple), or how long to pause; is sent
    the raw reply, or the server's error. Returns the reply, an error, or NO if nothing was run."""
    commands = [with_text(split(words)) for words in commands]
    single = commands[0] if len(commands) == 1 and how == "each" else None
    name = as_text(single[0]).upper() if single else ""
    end = None
    if name in WAITS:
        try:
            timeout = float(as_text(single[-1]))
        except ValueError:
            return NO
        end = time.monotonic() + timeout if timeout else float("inf")
    pause, pauses = 0.01, 0
    while True:
        if time.monotonic() >= server.asked + 1:
            server.on_info((yield INFO))
        if server.past_limit and name not in MOVES:
            server.note(f"more than {LIMIT:g} % past maxmemory, what grows keeps its error")
            return NO
        if single and time.monotonic() >= server.no_module_until:
            reply = yield ("WURK.RESCUE", *single)
            if not isinstance(reply, Exception) or not (is_refusal(reply) or NO_MODULE.match(str(reply))):
                return reply
            server.no_module_until = time.monotonic() + 60
        new, old, wrapped = requests(commands, how, protocol, watched)
        if not new or time.monotonic() < server.no_scripts_until:
            return NO
        server.note("what it refuses is sent again in a script"
                    f" ({f'up to {LIMIT:g} % past maxmemory' if LIMIT else 'without a limit'})")
        reply = yield new
        if isinstance(reply, Exception) and CANNOT_COMPILE.match(str(reply)):
            reply = (yield old) if old else reply
        if isinstance(reply, Exception) and (is_refusal(reply) or CANNOT_COMPILE.match(str(reply)) or NO_SCRIPTS.match(str(reply))):
            if not is_refusal(reply):
                server.no_scripts_until = time.monotonic() + 60
            return NO
        if isinstance(reply, Exception) or not wrapped or reply is None or how == "all":
            return reply
        reply = reply[0] if single else reply
        if name in WAITS and isinstance(reply, Exception) and NO_SCRIPTS.match(str(reply)):
            return NO  # The user may wait for a move, and not move.
        left = end - time.monotonic() if end is not None else 0
        if reply is not None or left <= 0:
            return reply
        # A move that waits asks again, and now and then lets the server do the waiting.
        yield min(pause, left)
        pause, pauses = min(2 * pause, 0.1), pauses + 1
        if pauses % 10 == 0:
            left = 0 if end == float("inf") else max(end - time.monotonic(), 0.001)
            reply = yield (*single[:-1], left)
            if not is_refusal(reply):
                return reply


LOST = (ConnectionError, TimeoutError, OSError)


class Lost(Exception):
    """The reply to a rescue was lost. Not an error that redis-py would send the command again for."""


def drive(conn, steps, partly=False, **options):
    try:
        request = next(steps)
        while True:
            if isinstance(request, float):
                time.sleep(request)
                reply = None
            else:
                try:
                    conn.send_command(*request)
                    reply = conn.read_response(**options)
                except ResponseError as error:
                    reply = error
            request = steps.send(reply)
    except StopIteration as stop:
        return stop.value
    except LOST as error:
        if request is INFO and not partly:
            raise  # Nothing has been run: redis-py may begin again.
        raise Lost() from error


async def drive_async(conn, steps, partly=False, **options):
    try:
        request = next(steps)
        while True:
            if isinstance(request, float):
                await asyncio.sleep(request)
                reply = None
            else:
                try:
                    await conn.send_command(*request)
                    reply = await conn.read_response(**options)
                except ResponseError as error:
                    reply = error
            request = steps.send(reply)
    except StopIteration as stop:
        return stop.value
    except LOST as error:
        if request is INFO and not partly:
            raise  # Nothing has been run: redis-py may begin again.
        raise Lost() from error


def decoding(options):
    """How the connection is to read a reply, and the callback's options."""
    options = {name: value for name, value in options.items() if name != "keys"}
    raw = options.pop("NEVER_DECODE", None) is not None
    options.pop("EMPTY_RESPONSE", None)
    return ({"disable_decoding": True} if raw else {}), options


def protocol_of(conn):
    return "3" if str(getattr(conn, "protocol", 2)) == "3" else "2"


def finish(client, words, reply, options):
    """What the client makes of a reply."""
    if isinstance(reply, Exception):
        raise reply
    callback = client.response_callbacks.get(words[0])
    return callback(reply, **options) if callback else reply


def is_resend(conn, words):
    """Whether redis-py sends this for the second time: the first may have run."""
    return conn.__dict__.pop("wurk_lost", None) == words


def begins(conn, words, error):
    """The server whose refusal this is, if the command may be carried."""
    if not is_refusal(error) or is_resend(conn, words):
        return None
    server = server_of(conn)
    server.refused()
    return server


def own_or_ask(words, error):
    """The caller's own error; or, once, the one upon which it loads its script."""
    if as_text(words[0]).upper() == "EVALSHA":
        digest = as_text(words[1]).lower()
        if digest not in texts and digest not in asked:
            asked.add(digest)
            return NoScriptError("No matching script. Please use EVAL.")
    return error


def has_error(replies):
    for reply in replies:
        if isinstance(reply, Exception):
            return True
    return False


def shares_an_argument(at, commands, replies):
    own = set(map(as_text, commands[at][1:]))
    later = zip(commands[at + 1:], replies[at + 1:])
    return any(not is_refusal(reply) and own.intersection(map(as_text, words[1:])) for words, reply in later)


def is_aborted(pipeline, error):
    """Whether nothing of a transaction has run, for want of memory and nothing else."""
    if isinstance(error, ExecAbortError):
        return str(error).startswith(("Transaction discarded because of: OOM ", "EXECABORT Transaction discarded because of: OOM "))
    errors = pipeline.wurk_errors
    return not pipeline.wurk_ran and bool(errors) and errors[0][0] is error and all(refused for _, refused in errors)


def watched_by(pipeline):
    """The fingerprints of what is watched; None if nobody knows them."""
    return pipeline.__dict__.get("wurk_watched") if pipeline.watching else ()


def has_script(commands):
    return any(as_text(args[0]).upper() in ("EVAL", "EVALSHA") for args, _ in commands)


def learn(pipeline):
    for script in pipeline.scripts:
        texts[script.sha] = script.script


def known_full(conn, commands=None):
    """The server, if it was full a moment ago. Not for what redis-py sends again: the first may have run."""
    server = server_of(conn)
    return server if server in full and (commands is None or conn.__dict__.get("wurk_lost") != commands) else None


def fits(commands):
    """Whether a script can run each. Its reply is decoded as a whole, or not at all."""
    if len(commands) < 2 or any("NEVER_DECODE" in options for _, options in commands):
        return False
    return requests([with_text(split(args)) for args, _ in commands], "each", "2", ())[0]


def results(pipeline, commands, replies, raise_on_error):
    replies = list(replies)
    if raise_on_error:
        pipeline.raise_first_error(commands, replies)
    return [reply if isinstance(reply, Exception) else finish(pipeline, args, reply, decoding(options)[1])
            for reply, (args, options) in zip(replies, commands)]


def ask(*words):
    return (yield words)


def words_of(commands):
    return [args for args, _ in commands]


def patch_client(client, pipeline):
    send, transaction, several = client._send_command_parse_response, pipeline._execute_transaction, pipeline._execute_pipeline

    def send_command_parse_response(self, conn, name, *args, **options):
        try:
            return send(self, conn, name, *args, **options)
        except ResponseError as error:
            own = error
            server = begins(conn, args, error)
            if not server:
                raise
        except LOST:
            conn.wurk_lost = args
            raise
        reading, rest = decoding(options)
        reply = drive(conn, carry(server, [args], protocol=protocol_of(conn)), **reading)
        if reply is NO:
            raise own_or_ask(args, own)
        return finish(self, args, reply, rest)

    def execute_transaction(self, conn, commands, raise_on_error):
        self.wurk_errors, self.wurk_ran = (), False
        server = known_full(conn, commands) if full else None
        if server and has_script(commands) and watched_by(self) is not None and drive(conn, server.is_still_full()):
            learn(self)  # A script would be queued, and refused when it runs.
            reply = drive(conn, carry(server, words_of(commands), "all", protocol_of(conn), watched_by(self)))
            if reply is not NO:
                return transaction_results(self, commands, reply, raise_on_error)
        try:
            return transaction(self, conn, commands, raise_on_error)
        except ResponseError as error:
            own, watched = error, watched_by(self)
            if not is_aborted(self, error) or is_resend(conn, commands):
                raise
        except LOST:
            conn.wurk_lost = commands
            raise
        server = server_of(conn)
        server.refused()
        if watched is None:
            raise own
        learn(self)
        reply = drive(conn, carry(server, words_of(commands), "all", protocol_of(conn), watched))
        if reply is NO:
            raise own
        return transaction_results(self, commands, reply, raise_on_error)

    def execute_pipeline(self, conn, commands, raise_on_error):
        server = known_full(conn, commands) if full else None
        if server:
            learn(self)
            if fits(commands) and drive(conn, server.is_still_full()):
                reply = drive(conn, carry(server, words_of(commands), "each", protocol_of(conn)))
                if reply is not NO:
                    return pipeline_results(self, commands, reply, raise_on_error)
        try:
            replies = several(self, conn, commands, False)
        except LOST:
            conn.wurk_lost = commands
            raise
        if not has_error(replies):
            return replies
        if any(map(is_refusal, replies)) and not is_resend(conn, commands):
            learn(self)
            server, words = server_of(conn), words_of(commands)
            for at, own in enumerate(replies):
                if is_refusal(own) and not shares_an_argument(at, words, replies):
                    server.refused()
                    reading, rest = decoding(commands[at][1])
                    reply = drive(conn, carry(server, [words[at]], protocol=protocol_of(conn)), partly=True, **reading)
                    replies[at] = own if reply is NO else outcome(self, words[at], reply, rest)
            server.refused()
        if raise_on_error:
            self.raise_first_error(commands, replies)
        return replies

    def watch(self, *names):
        before = watched_by(self)
        result = original_watch(self, *names)
        self.wurk_watched = None
        server = known_full(self.connection) if full and before is not None else None
        if server and drive(self.connection, server.is_still_full()):
            self.wurk_watched = fingerprints(before, names, drive(self.connection, ask("EVAL", WATCH, len(names), *names)))
        return result

    original_watch = pipeline.watch
    client._send_command_parse_response = send_command_parse_response
    pipeline._execute_transaction, pipeline._execute_pipeline, pipeline.watch = execute_transaction, execute_pipeline, watch
    note_errors(pipeline)

    for owner, name in ((client, "execute_command"), (pipeline, "immediate_execute_command"), (pipeline, "execute"),
                        (pipeline, "watch")):
        unwrap(owner, name)


def unwrap(owner, name):
    """The connection's own error to the caller, in place of Lost."""
    method = getattr(owner, name)

    def call(self, *args, **options):
        try:
            return method(self, *args, **options)
        except Lost as lost:
            raise lost.__cause__

    setattr(owner, name, call)


def unwrap_async(owner, name):
    method = getattr(owner, name)

    async def call(self, *args, **options):
        try:
            return await method(self, *args, **options)
        except Lost as lost:
            raise lost.__cause__

    setattr(owner, name, call)


def note_errors(pipeline):
    """Notes what the commands of a transaction were refused with, and whether it ran."""
    annotate, first = pipeline.annotate_exception, pipeline.raise_first_error
    pipeline.wurk_errors = ()

    def annotate_exception(self, error, number, command):
        self.wurk_errors += ((error, is_refusal(error)),)
        return annotate(self, error, number, command)

    def raise_first_error(self, commands, response):
        self.wurk_ran = True
        return first(self, commands, response)

    pipeline.annotate_exception, pipeline.raise_first_error = annotate_exception, raise_first_error


def outcome(client, words, reply, options):
    return reply if isinstance(reply, Exception) else finish(client, words, reply, options)


def pipeline_results(pipeline, commands, reply, raise_on_error):
    if isinstance(reply, Exception):
        raise reply
    return results(pipeline, commands, reply, raise_on_error)


def transaction_results(pipeline, commands, reply, raise_on_error):
    if reply is None:
        raise WatchError("Watched variable changed.")
    return pipeline_results(pipeline, commands, reply, raise_on_error)


def fingerprints(before, names, reply):
    return [*before, *zip(names, reply)] if isinstance(reply, list) else None


def patch_async_client(client, pipeline):
    send, transaction, several = client._send_command_parse_response, pipeline._execute_transaction, pipeline._execute_pipeline

    async def send_command_parse_response(self, conn, name, *args, **options):
        try:
            return await send(self, conn, name, *args, **options)
        except ResponseError as error:
            own = error
            server = begins(conn, args, error)
            if not server:
                raise
        except LOST:
            conn.wurk_lost = args
            raise
        reading, rest = decoding(options)
        reply = await drive_async(conn, carry(server, [args], protocol=protocol_of(conn)), **reading)
        if reply is NO:
            raise own_or_ask(args, own)
        return finish(self, args, reply, rest)

    async def execute_transaction(self, conn, commands, raise_on_error):
        self.wurk_errors, self.wurk_ran = (), False
        server = known_full(conn, commands) if full else None
        if server and has_script(commands) and watched_by(self) is not None and await drive_async(conn, server.is_still_full()):
            learn(self)
            reply = await drive_async(conn, carry(server, words_of(commands), "all", protocol_of(conn), watched_by(self)))
            if reply is not NO:
                return transaction_results(self, commands, reply, raise_on_error)
        try:
            return await transaction(self, conn, commands, raise_on_error)
        except ResponseError as error:
            own, watched = error, watched_by(self)
            if not is_aborted(self, error) or is_resend(conn, commands):
                raise
        except LOST:
            conn.wurk_lost = commands
            raise
        server = server_of(conn)
        server.refused()
        if watched is None:
            raise own
        learn(self)
        reply = await drive_async(conn, carry(server, words_of(commands), "all", protocol_of(conn), watched))
        if reply is NO:
            raise own
        return transaction_results(self, commands, reply, raise_on_error)

    async def execute_pipeline(self, conn, commands, raise_on_error):
        server = known_full(conn, commands) if full else None
        if server:
            learn(self)
            if fits(commands) and await drive_async(conn, server.is_still_full()):
                reply = await drive_async(conn, carry(server, words_of(commands), "each", protocol_of(conn)))
                if reply is not NO:
                    return pipeline_results(self, commands, reply, raise_on_error)
        try:
            replies = await several(self, conn, commands, False)
        except LOST:
            conn.wurk_lost = commands
            raise
        if not has_error(replies):
            return replies
        if any(map(is_refusal, replies)) and not is_resend(conn, commands):
            learn(self)
            server, words = server_of(conn), words_of(commands)
            for at, own in enumerate(replies):
                if is_refusal(own) and not shares_an_argument(at, words, replies):
                    server.refused()
                    reading, rest = decoding(commands[at][1])
                    steps = carry(server, [words[at]], protocol=protocol_of(conn))
                    reply = await drive_async(conn, steps, partly=True, **reading)
                    replies[at] = own if reply is NO else outcome(self, words[at], reply, rest)
            server.refused()
        if raise_on_error:
            self.raise_first_error(commands, replies)
        return replies

    async def watch(self, *names):
        before = watched_by(self)
        result = await original_watch(self, *names)
        self.wurk_watched = None
        server = known_full(self.connection) if full and before is not None else None
        if server and await drive_async(self.connection, server.is_still_full()):
            reply = await drive_async(self.connection, ask("EVAL", WATCH, len(names), *names))
            self.wurk_watched = fingerprints(before, names, reply)
        return result

    original_watch = pipeline.watch
    client._send_command_parse_response = send_command_parse_response
    pipeline._execute_transaction, pipeline._execute_pipeline, pipeline.watch = execute_transaction, execute_pipeline, watch
    note_errors(pipeline)
    for owner, name in ((client, "execute_command"), (pipeline, "immediate_execute_command"), (pipeline, "execute"),
                        (pipeline, "watch")):
        unwrap_async(owner, name)


def patch_scripts(core):
    """Keeps the texts of scripts that are registered or loaded."""
    for kind in (core.Script, core.AsyncScript):
        def init(self, *args, _init=kind.__init__, **options):
            _init(self, *args, **options)
            texts[self.sha] = self.script

        kind.__init__ = init
    for kind in (core.ScriptCommands, core.AsyncScriptCommands):
        def load(self, script, _load=kind.script_load):
            body = script.encode("utf-8", "surrogateescape") if isinstance(script, str) else bytes(script)
            texts[hashlib.sha1(body).hexdigest()] = script
            return _load(self, script)

        kind.script_load = load


def install():
    sync, later = redis.client, redis.asyncio.client
    for client, pipeline in ((sync.Redis, sync.Pipeline), (later.Redis, later.Pipeline)):
        needed = [(client, "_send_command_parse_response"), (client, "execute_command"), (pipeline, "immediate_execute_command"),
                  *((pipeline, name) for name in ("execute", "watch", "_execute_transaction", "_execute_pipeline",
                                                  "annotate_exception", "raise_first_error"))]
        missing = [f"{owner.__name__}.{name}" for owner, name in needed if not hasattr(owner, name)]
        if missing:
            raise ImportError(f"wurk_rescue: redis-py {redis.__version__} has no {', '.join(missing)}")
    patch_client(sync.Redis, sync.Pipeline)
    patch_async_client(later.Redis, later.Pipeline)
    patch_scripts(redis.commands.core)


if not hasattr(redis, "wurk_rescue"):  # Loading it twice does nothing more.
    install()
    redis.wurk_rescue = "wurk_rescue"


class Loaded:
    """Unpickled in a process that multiprocessing spawns, it loads this file there."""

    folder = os.path.dirname(os.path.abspath(__file__))

    def __reduce__(self):
        return exec, (f"import sys; sys.path.append({self.folder!r}); import wurk_rescue", {})


def main():
    """Runs a program as Python does, and loads this in the processes that it spawns."""
    if len(sys.argv) < 2 or sys.argv[1] == "-m" and len(sys.argv) < 3:
        sys.exit("usage: python -m wurk_rescue FILE|-m MODULE [argument ...]")
    sys.modules["wurk_rescue"] = sys.modules["__main__"]  # If the program imports it, there is one.
    prepare = multiprocessing.spawn.get_preparation_data
    multiprocessing.spawn.get_preparation_data = lambda name: {**prepare(name), "wurk_rescue": Loaded()}
    module = types.ModuleType("__main__")
    if sys.argv[1] == "-m":
        spec = importlib.util.find_spec(sys.argv[2])
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(sys.argv[2] + ".__main__")
        if spec is None:
            sys.exit(f"no module {sys.argv[2]}")
        sys.argv[:3] = [spec.origin]
        module.__spec__, module.__loader__, module.__package__ = spec, spec.loader, spec.parent
        code = spec.loader.get_code(spec.name)
    else:
        del sys.argv[0]
        try:
            with open(sys.argv[0], "rb") as file:
                code = compile(file.read(), sys.argv[0], "exec")
        except OSError as error:
            sys.exit(f"wurk_rescue: {error}")
        sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    module.__file__ = sys.argv[0]
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


# From client/lua/, by tools/embed. The program runs at its end.

WRITE_FIRST = r"""
-- Replaces the first line of a script on servers before 7.0: a write that a full
-- server permits and that changes nothing, whatever type the key has. After its
-- first write such a server does not check a script for memory again.
--
-- If the server refuses this write (READONLY, MISCONF, NOREPLICAS), its error is
-- the script's reply. Effects are replicated instead of the script, because the
-- scripts read the clock; older servers need the call for that.
if redis.replicate_commands then redis.replicate_commands() end
local refused = redis.pcall('ZREMRANGEBYRANK', KEYS[1], 1, 0)
if type(refused) == 'table' and not refused.err:find('WRONGTYPE ', 1, true) then return refused end
""".lstrip()

COMMANDS = r"""
#!lua flags=allow-oom,allow-cross-slot-keys
-- Runs commands of any kind one after another, on a server that is full: what a
-- client sends in place of commands that were refused for memory.
--
-- KEYS     the commands' keys, by which a cluster finds the slot
-- ARGV     how protocol watched [key fingerprint ...] [words word ...] ...
--          how        "each": every command by itself, as in a pipeline;
--                     "all": all or none, as in a transaction
--          protocol   of the connection, 2 or 3
--          watched    how many keys must be as they were; each with what
--                     watch.lua said of it
--          words      how many words the next command has, its name included.
--                     EVALSHA stands as EVAL with its text
-- Replies  an array of the commands' replies, errors included, in the types of
--          the protocol; nil if a watched key has changed: nothing was run
-- Errors   OOM before 7.0 with INCRBYFLOAT: nothing has been run
--          "all": OOM if a command was refused all the same, by a limit of the
--          server's. That is before the first write: nothing has been written
--
-- Numbers in Lua have 53 bits: an integer above that is rounded in the reply.

local how, protocol, watched = ARGV[1], ARGV[2], tonumber(ARGV[3])
local load = loadstring or load

-- Commands whose reply has another type in protocol 3. In others it may hold nil,
-- which ends an array in Lua there, and is false in protocol 2.
local types = {}
for name in ([[HGETALL HRANDFIELD SMEMBERS SINTER SUNION SDIFF SPOP ZADD ZINCRBY
  ZSCORE ZRANGE ZREVRANGE ZRANGEBYSCORE ZREVRANGEBYSCORE ZPOPMIN ZPOPMAX ZMPOP
  BZPOPMIN BZPOPMAX BZMPOP ZRANDMEMBER ZUNION ZINTER ZDIFF ZRANK ZREVRANK
  GEORADIUS GEORADIUSBYMEMBER GEOSEARCH LCS INFO XINFO CONFIG CLIENT MEMORY
  OBJECT FUNCTION COMMAND ACL LATENCY MODULE PUBSUB CLUSTER]]):gmatch('%u+') do
  types[name] = true
end

-- Replies that hold nil, and numbers where protocol 2 has text.
local function doubles(reply)
  if type(reply) == 'string' then return {double = tonumber(reply)} end
  if type(reply) == 'table' and not reply.err then
    for i = 1, #reply do reply[i] = doubles(reply[i]) end
  end
  return reply
end

local function map(reply)
  if type(reply) ~= 'table' or reply.err then return reply end
  local pairs = {}
  for _, pair in ipairs(reply) do pairs[pair[1]] = pair[2] end
  return {map = pairs}
end

local convert = {ZMSCORE = doubles, GEOPOS = doubles, XREAD = map, XREADGROUP = map}

-- A script cannot call one: its text becomes a function of this one.
local function eval(words)
  local count = tonumber(words[3])
  if not count or count < 0 or count > #words - 3 then
    return redis.error_reply("ERR Number of keys can't be greater than number of args")
  end
  local keys, others = {}, {}
  for i = 4, #words do
    local list = i < 4 + count and keys or others
    list[#list + 1] = words[i]
  end
  local text = words[2]:gsub('^#![^\n]*', '')
  local script, why = load('local KEYS, ARGV = ... ' .. text, '@user_script')
  if not script then return redis.error_reply('ERR Error compiling script (new function): ' .. why) end
  local done, reply = pcall(script, keys, others)
  if done or type(reply) == 'table' then return reply end
  reply = tostring(reply) -- of an error of redis.call with its code, of Lua's without
  return {err = reply:find('^%u+ ') and reply or 'ERR ' .. reply}
end

-- Up to 7.0 a script may not call these two, and nowhere do they wait in one.
local moves = {BLMOVE = 'LMOVE', BRPOPLPUSH = 'RPOPLPUSH'}

local function run(words)
  local name = words[1]:upper()
  if name == 'EVAL' then return eval(words) end
  if moves[name] then words[1], words[#words] = moves[name], nil end
  local changed = protocol == '3' and types[name]
  if changed then redis.setresp(3) end
  local reply = redis.pcall(unpack(words))
  if changed then redis.setresp(2) end
  if protocol == '3' and convert[name] then return convert[name](reply) end
  return reply
end

for i = 4, 3 + 2 * watched, 2 do
  local value = redis.pcall('DUMP', ARGV[i]) or ''
  local time = redis.pcall('PEXPIRETIME', ARGV[i])
  if type(value) == 'table' then return value end
  if type(time) == 'table' then time = '' end
  if redis.sha1hex(time .. ':' .. value) ~= ARGV[i + 1] then return nil end
end

-- What a script's own words for an error are to a client.
local function in_the_servers_words(text, words)
  -- Before 7.0 some come with the line that they were met at.
  text = text:gsub('^@user_script: %d+: %-?', '')
  if text:find('^%u* ?Wrong number of args calling ') then
    return "ERR wrong number of arguments for '" .. words[1]:lower() .. "' command"
  end
  if text:find('^%u* ?Unknown .*command called from ') then
    return "ERR unknown command '" .. words[1]:sub(1, 128) .. "'"
  end
  return text
end

local commands, at = {}, 4 + 2 * watched
while at <= #ARGV do
  local words = {}
  for i = at + 1, at + tonumber(ARGV[at]) do words[#words + 1] = ARGV[i] end
  at = at + #words + 1
  commands[#commands + 1] = words
  -- Inside a script it corrupts the memory of such a server, which ends it.
  if words[1]:upper() == 'INCRBYFLOAT' and not redis.acl_check_cmd then
    return redis.error_reply("OOM command not allowed when used memory > 'maxmemory'.")
  end
end

local replies = {}
for i, words in ipairs(commands) do
  local reply = run(words)
  if type(reply) == 'table' and reply.err then
    local text = in_the_servers_words(reply.err, words)
    reply = {err = text}
    if how == 'all' and text:find('^OOM ') then return reply end
  end
  if reply == nil then reply = false end
  replies[i] = reply
end
return replies
""".lstrip()

WATCH = r"""
-- What WATCH would notice of keys, for a client whose transaction may be refused:
-- commands.lua compares it. Only reads, so a full server runs it as it is.
--
-- KEYS     the keys
-- Replies  for each 40 characters that change with its value or its time to live;
--          before 7.0 with its value alone

local fingerprints = {}
for i, key in ipairs(KEYS) do
  local value = redis.call('DUMP', key) or ''
  local time = redis.pcall('PEXPIRETIME', key)
  if type(time) == 'table' then time = '' end
  fingerprints[i] = redis.sha1hex(time .. ':' .. value)
end
return fingerprints
""".lstrip()


if __name__ == "__main__":
    main()
