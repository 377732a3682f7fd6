'use strict';
// Lets a worker go on where a Redis-compatible server is full: what the server
// refused with OOM is sent again inside a script that is flagged `allow-oom`.
// Loading it is all (`node --require wurk-rescue.js`): each copy of ioredis 4.31 to
// 6 and of node_redis 3 is patched when the program loads it. Producers do not load
// it, and stay refused.
//
// Nothing is sent twice: an attempt that the client has repeated by itself is not
// rescued, and what rescues is dropped if its connection is lost.

// Loaded twice, the first one stays.
const LOADED = Symbol.for('wurk-rescue');
if (globalThis[LOADED]) {
  module.exports = globalThis[LOADED];
  return;
}

const { createHash } = require('crypto');
const Module = require('module');
const path = require('path');

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** `limit`: how many percent past maxmemory a rescue may go; 0: no limit. */
const settings = { limit: Number(process.env.WURK_RESCUE_LIMIT || 10) };
if (!(settings.limit >= 0)) throw new Error('WURK_RESCUE_LIMIT is a number of percent, 0 for no limit');
module.exports = globalThis[LOADED] = settings;

// ---- What an error means. The code stands at the start; further inside may stand
// the caller's own bytes. Before 7.0 a script's error stands behind its lines.

const OOM = /^(?:ERR Error running script \(call to f_\w+\): )?(?:@user_script: ?\d+: ?)*-?OOM /;
const EXEC_OOM = /^EXECABORT Transaction discarded because of: OOM /;
const NO_MODULE = /^(?:ERR )?(?:unknown|unsupported) command(?:$|,? ?['`"]wurk\.rescue\b)/i;
const NO_MODULE_FOR_USER = /^NOPERM (?:this user|User \S+) has no permissions to run the 'wurk\.rescue' command/;
const SCRIPT_ERROR = /^(?:ERR )?(?:Error running script \(call to f_\w+\): )?(?:@user_script: ?\d+: ?)*-?/;
const NO_SCRIPTS = [
  /^unknown command(?:$|,? ?['`"]eval['`"])/i,
  /^unsupported command ['`"]eval['`"]/i,
  /^command eval not support/,
  /^Could not find scripting engine/,
  /^This instance has Lua scripting support disabled/,
  /^NOPERM (?:this user|User \S+) has no permissions to run the 'eval' command/,
  /^The user executing the script can't run this command/,
  /^ACL failure in script: User \S+ has no permissions to run the '/,
  /^Out of memory/,
];
const CANNOT_COMPILE = [
  /^Unexpected flag in script shebang/,
  /^allow-oom is not supported/,
  /^[^'`"]*unexpected symbol near '#'/,
];

const isOom = (error) => OOM.test(error.message);
const isReply = (error) => error.name === 'ReplyError';
const says = (error, patterns) => {
  const text = error.message.replace(SCRIPT_ERROR, '');
  return patterns.some((pattern) => pattern.test(text));
};

// ---- What is known of a server.

const servers = new Map();
let full = 0; // How many servers are known to be full.

class Server {
  isKnownFull = false;
  refusedAt = 0;
  askedAt = 0;
  used = null; // null: not known
  maxmemory = 0;
  noModuleUntil = 0;
  noScriptsUntil = 0;
  before7Until = 0;

  constructor(name) {
    this.name = name;
  }

  static of(name) {
    if (!servers.has(name)) servers.set(name, new Server(name));
    return servers.get(name);
  }

  know(isFull) {
    if (isFull !== this.isKnownFull) full += isFull ? 1 : -1;
    this.isKnownFull = isFull;
  }

  refuses() {
    this.refusedAt = Date.now();
    this.know(true);
  }

  isFull() {
    if (this.used === null && Date.now() - this.refusedAt >= SECOND) this.know(false);
    return this.isKnownFull;
  }

  /** Asks for its memory, at most once a second; what to wait for, if anything. */
  ask(link) {
    if (Date.now() - this.askedAt < SECOND) return this.asking;
    this.askedAt = Date.now();
    this.asking = this.measure(link).finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  async measure(link) {
    this.used = null;
    try {
      const info = String(await link.send(['INFO', 'memory']));
      const field = (name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? NaN);
      if (Number.isNaN(field('used_memory')) || Number.isNaN(field('maxmemory'))) return;
      this.used = field('used_memory');
      this.maxmemory = field('maxmemory');
      this.know(this.maxmemory > 0 && this.used >= 0.98 * this.maxmemory);
    } catch {
      // Not allowed, or not sent: it counts as full for a second after a refusal.
    }
  }

  isPastLimit() {
    if (this.used === null || this.maxmemory === 0 || settings.limit === 0) return false;
    return this.used > this.maxmemory * (1 + settings.limit / 100);
  }
}

let lastLine = { rescue: -Infinity, limit: -Infinity };
function log(kind, line) {
  if (Date.now() - lastLine[kind] < MINUTE) return;
  lastLine[kind] = kind === 'rescue' ? Infinity : Date.now();
  console.error(`wurk_rescue: ${line}`);
}

// ---- Scripts that this process has sent or registered, by which EVALSHA is known.

const texts = new Map(); // text: its SHA1, once somebody asks
const shas = new Map();

function learn(text) {
  text = String(text);
  if (texts.has(text)) return;
  texts.set(text, null);
  if (texts.size <= 2000) return;
  const [oldest, sha] = texts.entries().next().value;
  texts.delete(oldest);
  shas.delete(sha);
}

function textOf(sha) {
  sha = String(sha).toLowerCase();
  if (!shas.has(sha)) {
    for (const [text, known] of texts) {
      if (known) continue;
      const its = createHash('sha1').update(text).digest('hex');
      texts.set(text, its);
      shas.set(its, text);
    }
  }
  return shas.get(sha);
}

/** A library that hears of a script of unknown text loads it, and it is known then. */
const deniedOnce = new Set();
function scriptExists(digests, reply) {
  if (!Array.isArray(reply)) return reply;
  return reply.map((exists, i) => {
    const sha = String(digests[i]).toLowerCase();
    if (textOf(sha) !== undefined || deniedOnce.has(sha)) return exists;
    deniedOnce.add(sha);
    return 0;
  });
}

// ---- What is sent.

const MOVES = new Set(['LMOVE', 'RPOPLPUSH', 'BLMOVE', 'BRPOPLPUSH']);
const WAITS = new Set(['BLMOVE', 'BRPOPLPUSH']);
const NOT_IN_SCRIPTS = new Set(
  `BLPOP BRPOP BLMPOP BZPOPMIN BZPOPMAX BZMPOP BLMOVEM SUBSCRIBE PSUBSCRIBE SSUBSCRIBE
  UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE MULTI EXEC DISCARD WATCH UNWATCH SCRIPT CLIENT
  CONFIG HELLO AUTH SELECT RESET QUIT WAIT WAITAOF DEBUG FCALL FCALL_RO FUNCTION EVAL_RO
  EVALSHA_RO MONITOR SYNC PSYNC ACL SHUTDOWN SAVE BGSAVE BGREWRITEAOF REPLICAOF SLAVEOF
  FAILOVER CLUSTER ASKING READONLY READWRITE MODULE LATENCY SLOWLOG PFDEBUG PFSELFTEST
  HIMPORT`.split(/\s+/),
);
const MOST_WORDS = 7000; // More cannot be unpacked in Lua.

const nameOf = (words) => String(words[0]).toUpperCase();
const isScript = (words) => /^EVAL(?:SHA)?$/.test(nameOf(words));
const body = (script) => script.replace(/^#![^\n]*/, '');

/** The words as they may stand in a script, EVALSHA with its text; else null. */
function inScript(words, how) {
  const name = nameOf(words);
  if (NOT_IN_SCRIPTS.has(name) || words.length > MOST_WORDS) return null;
  if (how === 'each' && WAITS.has(name)) return null;
  if (/^XREAD/.test(name) && words.some((word) => /^block$/i.test(String(word)))) return null;
  if (name === 'WURK.RESCUE') return null;
  if (name !== 'EVALSHA') return words;
  const text = textOf(words[1]);
  return text === undefined ? null : ['EVAL', text, ...words.slice(2)];
}

function allInScript(commands, how) {
  const all = commands.map((words) => inScript(words, how));
  return all.includes(null) ? null : all;
}

const FLAGS = ['allow-oom', 'allow-cross-slot-keys'];

/** A library's script with the flag; null if it has it: it was refused for a reason of its own. */
function withFlags(text) {
  const line = /^#![^\n]*/.exec(text)?.[0];
  if (line === undefined) return `#!lua flags=${FLAGS}\n${text}`;
  const flags = (/ flags=(\S*)/.exec(line)?.[1] ?? '').split(',').filter(Boolean);
  if (flags.includes(FLAGS[0])) return null;
  const both = [...new Set([...flags, ...FLAGS])];
  return `${line.replace(/ flags=\S*/, '')} flags=${both}${text.slice(line.length)}`;
}

/** EVAL and its words: for 7.0 and later, and for servers before, which need a key. */
function scriptsFor(link, commands, how, watched) {
  const first = commands[0];
  if (how === 'each' && commands.length === 1 && isScript(first)) {
    const [, script, ...rest] = inScript(first, how);
    const text = String(script);
    const flagged = withFlags(text);
    if (flagged === null || (Buffer.isBuffer(script) && !Buffer.from(text).equals(script))) return [];
    const before7 = Number(rest[0]) > 0 && ['EVAL', WRITE_FIRST + body(text), ...rest];
    return [['EVAL', flagged, ...rest], before7];
  }
  const keys = link.isCluster ? commands.flatMap((words) => link.keysOf(words)) : [];
  // By itself a move may wait: what runs it waits in its place.
  const inText = allInScript(commands, commands.length === 1 ? 'all' : how);
  const args = argumentsOf(link, inText, how, watched);
  const keyOf = (words) => (!isScript(words) ? words[1] : Number(words[2]) > 0 ? words[3] : undefined);
  const key = commands.map(keyOf).find((each) => each !== undefined);
  const one = keys.length > 0 ? keys : key !== undefined && [key];
  return [
    ['EVAL', COMMANDS, keys.length, ...keys, ...args],
    one && ['EVAL', WRITE_FIRST + body(COMMANDS), one.length, ...one, ...args],
  ];
}

function argumentsOf(link, commands, how, watched) {
  const args = [how, link.protocol, watched.length, ...watched.flat()];
  for (const words of commands) {
    args.push(words.length);
    for (const word of words) args.push(word);
  }
  return args;
}

const NOT_SENT = new Error('the connection is not ready');

/**
 * Runs commands that were refused: their replies, or nil for a transaction whose
 * watched keys have changed. null if nothing was run: the caller's own error stands.
 * What it throws is the answer.
 */
async function rescue(link, commands, how, watched = []) {
  const { server } = link;
  const isSingle = how === 'each' && commands.length === 1;
  try {
    const asking = server.ask(link);
    if (asking) await asking;
    if (server.isPastLimit() && !(isSingle && MOVES.has(nameOf(commands[0])))) {
      log('limit', `${server.name} is ${settings.limit} % past maxmemory: what it refuses stays refused`);
      return null;
    }
    // For several the module has no command: a script inside WURK.RESCUE would begin, and
    // be refused half-way, for a user who is not named.
    if (isSingle && Date.now() >= server.noModuleUntil) {
      try {
        const reply = await link.send(['WURK.RESCUE', ...commands[0]]);
        logRescue(server);
        return { reply: [reply] };
      } catch (error) {
        const isPlain = isOom(error) && !error.message.includes("'wurk.rescue-limit'");
        const isUnknown = NO_MODULE.test(error.message) || NO_MODULE_FOR_USER.test(error.message);
        if (!isReply(error) || !(isPlain || isUnknown)) throw error;
        server.noModuleUntil = Date.now() + MINUTE;
      }
    }
    if (isSingle && WAITS.has(nameOf(commands[0]))) return await waitFor(link, commands[0]);
    return await runInScript(link, commands, how, watched);
  } catch (error) {
    if (error === NOT_SENT) return null;
    throw error;
  }
}

function logRescue(server) {
  const limit = settings.limit === 0 ? '' : ` (up to ${settings.limit} % past maxmemory)`;
  log('rescue', `${server.name} is full: what it refuses is sent again in a script${limit}`);
}

async function runInScript(link, commands, how, watched) {
  const { server } = link;
  const isSingle = how === 'each' && commands.length === 1;
  if (Date.now() < server.noScriptsUntil) return null;
  const noScripts = () => {
    server.noScriptsUntil = Date.now() + MINUTE;
    return null;
  };
  const [from7, before7] = scriptsFor(link, commands, how, watched);
  for (const words of [Date.now() < server.before7Until ? null : from7, before7]) {
    if (words === null) continue;
    if (!words) return null;
    try {
      let reply = await link.send(words);
      if (isSingle && isScript(commands[0])) reply = [reply];
      const denied = isSingle && reply[0] instanceof Error && says(reply[0], NO_SCRIPTS);
      if (denied) return noScripts();
      logRescue(server);
      return { reply };
    } catch (error) {
      if (!isReply(error)) throw error;
      if (says(error, NO_SCRIPTS)) return noScripts();
      if (isOom(error)) return null;
      if (!says(error, CANNOT_COMPILE)) throw error;
      if (words === from7) server.before7Until = Date.now() + MINUTE;
    }
  }
  return noScripts();
}

/** BLMOVE and BRPOPLPUSH do not wait in a script: asked for again until their time is over. */
async function waitFor(link, words) {
  const seconds = Number(words[words.length - 1]);
  if (Number.isNaN(seconds) || seconds < 0) return null;
  const end = seconds === 0 ? Infinity : Date.now() + seconds * SECOND;
  let plainAt = Date.now();
  for (let pause = 10; ; pause = Math.min(1.5 * pause, 100)) {
    const moved = await runInScript(link, [words], 'each', []);
    if (moved === null || moved.reply[0] !== null) return moved;
    const left = end - Date.now();
    if (left <= 0) return moved;
    await new Promise((resolve) => setTimeout(resolve, Math.min(pause, left)));
    if (Date.now() - plainAt < SECOND) continue;
    // By itself it waits properly, once there is room.
    plainAt = Date.now();
    const timeout = seconds === 0 ? 0 : Math.max(end - Date.now(), 1) / SECOND;
    try {
      return { reply: [await link.send([...words.slice(0, -1), timeout])] };
    } catch (error) {
      if (!isReply(error) || !isOom(error)) throw error;
    }
  }
}

// ---- What a connection was refused. `item` is what the client keeps of a command
// that it has sent; a link knows how to read and to answer it.

const TRANSACTION = Symbol('transaction');
const WATCHED = Symbol('watched');
const GROUP = Symbol('group');
const BATCH = Symbol('batch');
const LINK = Symbol('link');
const CLUSTER = Symbol('cluster');

const ours = new WeakSet(); // What rescues, and is never rescued or repeated.
const repeated = new WeakSet(); // Sent before, and perhaps run.

/** Takes an error reply: whether it is being seen to. */
function refused(link, error, item) {
  const command = link.commandOf(item);
  const transaction = command[TRANSACTION];
  if (transaction) return refusedInTransaction(link, transaction, error, item);
  if (!isOom(error)) return false;
  const { server } = link;
  server.refuses();
  const words = link.wordsOf(item);
  const name = nameOf(words);
  if (repeated.has(command) || !(WAITS.has(name) || inScript(words, 'each'))) return false;

  if (!command[GROUP]) {
    const last = later(link, item, words);
    if (!last) {
      rescueItem(link, error, item);
      return true;
    }
  }
  command[GROUP].errors.set(item, error);
  if (command[GROUP].last === item) decide(link, command[GROUP]);
  return true;
}

/**
 * Sent again, a command would follow those that were sent after it and are still on
 * their way. So it waits for those that it has to do with: in its pipeline whatever
 * shares an argument, elsewhere a command, not a script, that shares a key.
 */
function later(link, item, words) {
  const batch = link.batchOf(item);
  if (!batch && isScript(words)) return null;
  const marks = (each) => (batch ? link.wordsOf(each).slice(1) : link.keysOf(link.wordsOf(each))).map(String);
  const mine = new Set(marks(item));
  const others = link.inFlight().filter((each) => {
    const command = link.commandOf(each);
    if (ours.has(command) || command[GROUP]) return false;
    return batch ? link.batchOf(each) === batch : !isScript(link.wordsOf(each));
  });
  while (others.length > 0 && !marks(others[others.length - 1]).some((mark) => mine.has(mark))) others.pop();
  if (others.length === 0) return null;
  const group = { items: [item, ...others], last: others[others.length - 1], errors: new Map(), marks };
  for (const each of group.items) link.commandOf(each)[GROUP] = group;
  link.onAnswer(group.last, () => decide(link, group));
  return group.last;
}

/** All of a group are answered: those refused are rescued, unless a later one has run. */
function decide(link, group) {
  if (group.isDecided) return;
  group.isDecided = true;
  const ran = new Set();
  const all = new Set();
  const overtaken = new Set();
  for (const item of group.items.slice().reverse()) {
    link.commandOf(item)[GROUP] = undefined;
    const marks = group.marks(item);
    // One that waits would be overtaken by what is rescued after it, too.
    const others = WAITS.has(nameOf(link.wordsOf(item))) ? all : ran;
    if (group.errors.has(item) && marks.some((mark) => others.has(mark))) overtaken.add(item);
    for (const mark of marks) {
      all.add(mark);
      if (!group.errors.has(item)) ran.add(mark);
    }
  }
  for (const [item, error] of group.errors) {
    if (overtaken.has(item) || !link.isUsable()) link.ownError(item, error);
    else rescueItem(link, error, item);
  }
}

async function rescueItem(link, error, item) {
  let done;
  try {
    done = await rescue(link, [link.wordsOf(item)], 'each');
  } catch (answer) {
    link.fail(item, answer);
    return;
  }
  if (done === null) link.ownError(item, error);
  else answerWith(link, item, done.reply[0]);
}

function answerWith(link, item, reply) {
  if (reply instanceof Error) link.fail(item, reply);
  else link.succeed(item, reply);
}

/** A pipeline, while its server is known to be full: one script from the start. */
async function carry(link, items, commands, asEver) {
  let done = null;
  try {
    done = await rescue(link, commands, 'each');
  } catch (answer) {
    if (!isReply(answer) || !isOom(answer)) {
      for (const item of items) link.fail(item, answer);
      return;
    }
  }
  if (done === null) asEver();
  else items.forEach((item, i) => answerWith(link, item, done.reply[i]));
}

/** The commands of a pipeline if it is to be carried, else null. */
function toCarry(link, commands) {
  // One by itself has no order to keep, and it may be no command that WURK.RESCUE takes.
  if (commands.length < 2 || !link.isUsable() || link.isCluster) return null;
  const { server } = link;
  if (!server.isFull() || server.isPastLimit() || Date.now() < server.noScriptsUntil) return null;
  return allInScript(commands, 'each') && commands;
}

// ---- Transactions: from MULTI to EXEC on one connection.

class Transaction {
  items = [];
  held = []; // Refused, and unanswered until EXEC is.
  isRefused = false;
  isForeign = false; // Failed for another reason, or sent before.
  exec = null;

  constructor(multi, watched) {
    this.multi = multi;
    this.watched = watched;
  }
}

function refusedInTransaction(link, transaction, error, item) {
  const command = link.commandOf(item);
  const isRefusal = isOom(error) || EXEC_OOM.test(error.message);
  if (isRefusal) link.server.refuses();
  if (repeated.has(command)) transaction.isForeign = true;
  if (command !== transaction.exec) {
    if (!isRefusal || command === transaction.multi) transaction.isForeign = true;
    if (transaction.isForeign) return false;
    transaction.isRefused = true;
    if (transaction.exec) transaction.held.push([item, error]);
    else if (Date.now() >= link.server.noScriptsUntil) link.succeed(item, link.text('QUEUED'));
    else return false;
    return true;
  }
  const commands = allInScript(transaction.items.map((each) => link.wordsOf(each)), 'all');
  const isWhole = isRefusal || (transaction.isRefused && /^EXECABORT /.test(error.message));
  if (!isWhole || transaction.isForeign || !commands || commands.length === 0) {
    release(link, transaction);
    return false;
  }
  rescueTransaction(link, transaction, commands, error, item);
  return true;
}

function release(link, transaction) {
  for (const [item, error] of transaction.held.splice(0)) link.ownError(item, error);
}

async function rescueTransaction(link, transaction, commands, error, exec) {
  let done = null;
  try {
    const watched = [];
    for (const { keys, fingerprints } of transaction.watched) {
      const known = fingerprints && (await fingerprints.catch(() => null));
      if (!known) throw null;
      keys.forEach((key, i) => watched.push([key, known[i]]));
    }
    done = await rescue(link, commands, 'all', watched);
  } catch (answer) {
    if (answer !== null) {
      for (const [item] of transaction.held.splice(0)) link.succeed(item, link.text('QUEUED'));
      link.fail(exec, answer);
      return;
    }
  }
  if (done === null) {
    release(link, transaction);
    link.ownError(exec, error);
    return;
  }
  for (const [item] of transaction.held.splice(0)) link.succeed(item, link.text('QUEUED'));
  link.succeed(exec, done.reply);
}

const KINDS = new Map();
for (const name of ['multi', 'exec', 'discard', 'watch', 'unwatch', 'eval', 'script']) {
  KINDS.set(name, name).set(name.toUpperCase(), name);
}

/** Follows a command that is of interest, or stands in a transaction, while it is sent. */
function follow(link, client, kind, command, send) {
  const { args } = command;
  const subcommand = kind === 'script' && String(args[0]).toLowerCase();
  if (kind === 'eval') learn(args[0]);
  if (subcommand === 'load') learn(args[1]);
  if (subcommand === 'exists') link.mapReply(command, (reply) => scriptExists(args.slice(1), reply));
  const result = send();
  const item = link.lastSent();
  if (!item || link.commandOf(item) !== command) return result; // It waits for a connection.

  const open = client[TRANSACTION];
  if (open) {
    command[TRANSACTION] = open;
    if (repeated.has(command)) open.isForeign = true;
    if (kind === 'exec') open.exec = command;
    else if (kind !== 'discard') open.items.push(item);
    if (kind === 'exec' || kind === 'discard') client[TRANSACTION] = undefined;
  } else if (kind === 'multi') {
    client[TRANSACTION] = command[TRANSACTION] = new Transaction(command, client[WATCHED] ?? []);
  } else if (kind === 'watch') {
    const watched = { keys: link.wordsOf(item).slice(1), fingerprints: null };
    client[WATCHED] = [...(client[WATCHED] ?? []), watched];
    if (full > 0 && link.server.isFull()) {
      watched.fingerprints = link.send(['EVAL', WATCH, watched.keys.length, ...watched.keys]);
      watched.fingerprints.catch(() => {});
      link.server.ask(link);
    }
  }
  if (kind === 'exec' || kind === 'discard' || kind === 'unwatch') client[WATCHED] = undefined;
  return result;
}

/** The connection is gone: what was on its way may have run. Returns what is ours. */
function lost(link, client) {
  client[TRANSACTION] = client[WATCHED] = undefined;
  const dropped = [];
  for (const item of link.inFlight()) {
    const command = link.commandOf(item);
    if (ours.has(command)) {
      dropped.push(item);
      continue;
    }
    repeated.add(command);
    if (command[TRANSACTION]) release(link, command[TRANSACTION]);
    if (command[GROUP]) decide(link, command[GROUP]);
  }
  return dropped;
}

// ---- ioredis

class IoredisLink {
  constructor(redis, library) {
    this.redis = redis;
    this.library = library;
    this.server_ = null;
  }

  get server() {
    const { stream, options } = this.redis;
    if (this.stream !== stream || !this.server_) {
      this.stream = stream;
      const address = stream?.remoteAddress
        ? `${stream.remoteAddress}:${stream.remotePort}`
        : options.path || `${options.host}:${options.port}`;
      this.server_ = Server.of(options.username ? `${options.username}@${address}` : address);
    }
    return this.server_;
  }

  get isCluster() {
    return this.redis[CLUSTER] === true;
  }

  get protocol() {
    return this.redis.condition?.protocol === 3 ? 3 : 2;
  }

  isUsable() {
    const { redis } = this;
    return redis.status === 'ready' && redis.stream?.writable && !redis[TRANSACTION];
  }

  send(words) {
    if (!this.isUsable()) return Promise.reject(NOT_SENT);
    const command = new this.library.Command(String(words[0]), words.slice(1), { replyEncoding: null });
    ours.add(command);
    this.library.sendCommand.call(this.redis, command);
    return command.promise;
  }

  text = (text) => Buffer.from(text);
  commandOf = (item) => item.command;
  wordsOf = (item) => [item.command.name, ...item.command.args];
  batchOf = (item) => item.stream;
  keysOf = (words) => new this.library.Command(String(words[0]).toLowerCase(), words.slice(1)).getKeys();
  inFlight = () => this.redis.commandQueue.toArray();
  lastSent = () => this.redis.commandQueue.peekBack();
  succeed = (item, reply) => item.command.resolve(reply);
  ownError = (item, error) => this.library.handleReconnection.call(this.redis, error, item);

  fail({ command }, error) {
    error.command = { name: command.name, args: command.args };
    command.reject(error);
  }

  onAnswer({ command }, done) {
    for (const way of ['resolve', 'reject']) {
      const answer = command[way];
      command[way] = function (value) {
        done();
        return answer.call(this, value);
      };
    }
  }

  mapReply(command, change) {
    const { resolve } = command;
    command.resolve = function (reply) {
      return resolve.call(this, change(reply));
    };
  }

  /** Keeps ioredis from sending again what rescues. */
  drop(dropped) {
    if (dropped.length === 0) return;
    const queue = this.redis.commandQueue;
    for (let left = queue.length; left > 0; left -= 1) {
      const item = queue.shift();
      if (!dropped.includes(item)) queue.push(item);
    }
    // By its usual text a cluster would know that it may send the command again.
    const text = this.isCluster ? 'Connection is closed; what was sent may have run' : 'Connection is closed.';
    for (const { command } of dropped) command.reject(new Error(text));
  }
}

const linkOf = (client, Link, library) => (client[LINK] ??= new Link(client, library));

function patchIoredis(exports, version) {
  const { Command, Cluster, Pipeline } = exports;
  const redis = exports.prototype;
  const wanted = { sendCommand: redis, handleReconnection: redis, setStatus: redis, defineCommand: redis };
  Object.assign(wanted, { exec: Pipeline.prototype, connect: Cluster.prototype, getKeys: Command.prototype });
  if (lacks(`ioredis ${version}`, wanted)) return;

  const { sendCommand, handleReconnection, setStatus } = redis;
  const library = { Command, sendCommand, handleReconnection };
  const link = (client) => linkOf(client, IoredisLink, library);

  redis[TRANSACTION] = undefined;
  redis.sendCommand = function (command, stream) {
    const kind = KINDS.get(command.name);
    if (kind === undefined && this[TRANSACTION] === undefined) return sendCommand.call(this, command, stream);
    return follow(link(this), this, kind, command, () => sendCommand.call(this, command, stream));
  };

  redis.handleReconnection = function (error, item) {
    if (ours.has(item.command)) return item.command.reject(error);
    if (refused(link(this), error, item)) return undefined;
    // It may lead to another attempt.
    if (this.options.reconnectOnError) repeated.add(item.command);
    return handleReconnection.call(this, error, item);
  };

  redis.setStatus = function (status, argument) {
    if (status === 'close') link(this).drop(lost(link(this), this));
    return setStatus.call(this, status, argument);
  };

  for (const client of [redis, Cluster.prototype]) {
    const { defineCommand } = client;
    client.defineCommand = function (name, definition) {
      learn(definition.lua);
      return defineCommand.call(this, name, definition);
    };
  }

  const { connect } = Cluster.prototype;
  Cluster.prototype.connect = function () {
    if (!this[CLUSTER]) {
      this[CLUSTER] = true;
      this.on('+node', (node) => {
        node[CLUSTER] = true;
      });
    }
    return connect.apply(this, arguments);
  };

  const { exec } = Pipeline.prototype;
  Pipeline.prototype.exec = function () {
    const isPlain = full > 0 && !this.isCluster && !this._transactions && !this.nodeifiedPromise;
    if (isPlain && this._queue.length > 0) {
      const to = link(this.redis);
      const commands = toCarry(to, this._queue.map((command) => to.wordsOf({ command })));
      // The pipeline sends to one that collects.
      if (commands) this.redis = collector(this, this.redis, to, commands);
    }
    return exec.apply(this, arguments);
  };
}

function collector(pipeline, redis, link, commands) {
  const items = [];
  return Object.assign(Object.create(redis), {
    sendCommand(command, stream) {
      if (!stream) return redis.sendCommand(command);
      command.setReplyContext?.(redis.condition ?? redis.options);
      items.push({ command, stream, select: redis.condition.select });
      if (items.length === commands.length) {
        pipeline.redis = redis;
        carry(link, items, commands, () => {
          for (const item of items) redis.sendCommand(item.command);
        });
      }
      return command.promise;
    },
  });
}

// ---- node_redis

class NodeRedisLink {
  protocol = 2;
  isCluster = false;

  constructor(client, library) {
    this.client = client;
    this.library = library;
    const user = client.auth_user ? `${client.auth_user}@` : '';
    this.server = Server.of(user + client.address);
  }

  isUsable() {
    const { client } = this;
    return (
      client.ready && client.stream.writable && client.reply === 'ON' &&
      !client[TRANSACTION] && !client.monitoring && client.pub_sub_mode === 0
    );
  }

  send(words) {
    return new Promise((resolve, reject) => {
      if (!this.isUsable()) throw NOT_SENT;
      const { Command, internal_send_command } = this.library;
      const done = (error, reply) => (error ? reject(error) : resolve(reply));
      // The reply to `exec` is handed out as it has come.
      const raw = () => {
        command.command = 'exec';
      };
      const command = new Command(String(words[0]).toLowerCase(), words.slice(1), done, raw);
      ours.add(command);
      // The keys have their prefix already.
      const { options } = this.client;
      const { prefix } = options;
      options.prefix = undefined;
      internal_send_command.call(this.client, command);
      options.prefix = prefix;
    });
  }

  text = (text) => (this.client.buffers ? Buffer.from(text) : text);
  commandOf = (item) => item;
  batchOf = (item) => item[BATCH];
  inFlight = () => this.client.command_queue.toArray();
  lastSent = () => this.client.command_queue.peekBack();
  ownError = (item, error) => this.answer(item, error);

  /** As they are written: with the prefix, and as bytes or text. */
  wordsOf({ command, args }) {
    const words = [...args];
    const { prefix, rename_commands: renamed } = this.client.options;
    if (prefix) for (const i of this.keyIndexes(command, words)) words[i] = prefix + words[i];
    return [renamed?.[command] ?? command, ...words.map((word) => (Buffer.isBuffer(word) ? word : String(word)))];
  }

  keysOf = (words) => this.keyIndexes(words[0], words.slice(1)).map((i) => words[i + 1]);

  keyIndexes(name, args) {
    try {
      return this.library.getKeyIndexes(String(name).toLowerCase(), args);
    } catch {
      return []; // It does not know the command.
    }
  }

  fail(item, error) {
    error.command = item.command.toUpperCase();
    if (item.args.length > 0) error.args = item.args;
    if (isReply(error)) error.code = /^[A-Z]+(?=\s)/.exec(error.message)?.[0] ?? error.code;
    this.answer(item, error);
  }

  answer(item, error, reply) {
    if (item.callback) item.callback(error, reply);
    else if (error) this.client.emit('error', error);
  }

  succeed(item, reply) {
    const isRaw = item.command === 'exec';
    this.answer(item, null, isRaw ? reply : this.client.handle_reply(reply, item.command, item.buffer_args));
  }

  onAnswer(item, done) {
    const { callback } = item;
    item.callback = (error, reply) => {
      item.callback = callback;
      done();
      this.answer(item, error, reply);
    };
  }

  mapReply(command, change) {
    const { callback } = command;
    if (callback) command.callback = (error, reply) => callback(error, error ? reply : change(reply));
  }
}

function patchNodeRedis(exports, version, load) {
  const client = exports.RedisClient.prototype;
  const multi = exports.Multi.prototype;
  const wanted = { internal_send_command: client, return_error: client, connection_gone: client };
  Object.assign(wanted, { handle_reply: client, exec_batch: multi, exec_transaction: multi });
  if (lacks(`redis ${version}`, wanted)) return;

  const { internal_send_command, return_error, connection_gone } = client;
  const { getKeyIndexes } = load('redis-commands');
  const library = { Command: load('./lib/command'), internal_send_command, getKeyIndexes };
  const link = (instance) => linkOf(instance, NodeRedisLink, library);

  client[TRANSACTION] = undefined;
  client.internal_send_command = function (command) {
    const kind = KINDS.get(command.command);
    if (kind === undefined && this[TRANSACTION] === undefined) return internal_send_command.call(this, command);
    return follow(link(this), this, kind, command, () => internal_send_command.call(this, command));
  };

  client.return_error = function (error) {
    const item = this.command_queue.peekFront();
    if (item && !ours.has(item)) {
      const { callback } = item;
      item.callback = (own) => {
        item.callback = callback;
        if (!refused(link(this), own, item)) link(this).answer(item, own);
      };
    }
    return return_error.call(this, error);
  };

  client.connection_gone = function (why, error) {
    const dropped = lost(link(this), this);
    if (this.options.retry_unfulfilled_commands && dropped.length > 0) {
      const kept = this.command_queue.toArray().filter((item) => !dropped.includes(item));
      this.command_queue.clear();
      for (const item of kept) this.command_queue.push(item);
      const text = 'Redis connection lost and command aborted. It might have been processed.';
      for (const item of dropped) item.callback(Object.assign(new Error(text), { code: 'UNCERTAIN_STATE' }));
    }
    return connection_gone.call(this, why, error);
  };

  const { exec_batch } = multi;
  multi.exec = multi.EXEC = multi.exec_batch = function (callback) {
    const items = this.queue.toArray();
    if (items.length === 0) return exec_batch.call(this, callback);
    const sender = this._client;
    for (const item of items) item[BATCH] = this;
    // It takes replies in the order that they come in, and a rescued one comes later.
    if (callback) collect(items, callback);

    const isSound = (arg) => arg != null && (typeof arg !== 'object' || Buffer.isBuffer(arg) || arg instanceof Date);
    if (full === 0 || !items.every((item) => item.args.every(isSound))) return exec_batch.call(this);
    const to = link(sender);
    const commands = toCarry(to, items.map((item) => to.wordsOf(item)));
    if (!commands) return exec_batch.call(this);
    this.queue.clear();
    for (const item of items) item.buffer_args = item.args.some(Buffer.isBuffer);
    carry(to, items, commands, () => {
      for (const item of items) sender.internal_send_command(item);
    });
    return !sender.should_buffer;
  };
}

function collect(items, callback) {
  const replies = new Array(items.length);
  let left = items.length;
  items.forEach((item, i) => {
    const own = item.callback;
    item.callback = (error, reply) => {
      if (error) error.position = i;
      replies[i] = error ?? reply;
      if (own) own(error, reply);
      left -= 1;
      if (left === 0) callback(null, replies);
    };
  });
}

// ---- Loading

function lacks(library, wanted) {
  const missing = Object.keys(wanted).filter((name) => typeof wanted[name]?.[name] !== 'function');
  if (missing.length > 0) console.error(`wurk_rescue: ${library} has no ${missing.join(', ')}: nothing of it is rescued`);
  return missing.length > 0;
}

const seen = new WeakSet();

function patch(filename, loaded) {
  const isIoredis = typeof loaded === 'function' && 'Pipeline' in loaded && 'Cluster' in loaded && 'Command' in loaded;
  const isNodeRedis = loaded !== null && typeof loaded === 'object' && 'RedisClient' in loaded && 'Multi' in loaded;
  if (!(isIoredis || isNodeRedis) || seen.has(loaded)) return;
  seen.add(loaded);
  const load = Module.createRequire(filename);
  const root = path.join(path.dirname(filename), isIoredis ? '..' : '.', 'package.json');
  const { version } = load(root);
  if (isIoredis) patchIoredis(loaded, version);
  else patchNodeRedis(loaded, version, load);
}

const ENTRY = /[\\/](?:built[\\/]index|redis[\\/]index)\.js$/;
const { load } = Module.prototype;
Module.prototype.load = function (filename) {
  const result = load.call(this, filename);
  if (ENTRY.test(filename)) patch(filename, this.exports);
  return result;
};
for (const [filename, { exports }] of Object.entries(require.cache)) {
  if (ENTRY.test(filename)) patch(filename, exports);
}

// From client/lua/, by tools/embed.

const WRITE_FIRST = String.raw`
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
`.trimStart();

const COMMANDS = String.raw`
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
`.trimStart();

const WATCH = String.raw`
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
`.trimStart();
