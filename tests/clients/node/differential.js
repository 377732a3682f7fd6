'use strict';
// Random commands on a full server, whose refusals are rescued, and on one with room:
// replies, their types, and the data are the same. SEED and STEPS choose the run.

const assert = require('assert');
const { Client, rescue, isIoredis } = require('./client');

rescue.limit = 0;
const seed = Number(process.env.SEED || Date.now() % 1e9);
const steps = Number(process.env.STEPS || 2000);

let state = seed >>> 0;
function random(below) {
  // mulberry32
  state = (state + 0x6d2b79f5) >>> 0;
  let x = Math.imul(state ^ (state >>> 15), 1 | state);
  x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
  return ((x ^ (x >>> 14)) >>> 0) % below;
}
const pick = (list) => list[random(list.length)];

const bytes = Buffer.from([0xff, 0x00, 0x0d, 0x0a, 0xc3, 0x28]);
const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'ключ', 'with space\r\n', bytes];
const key = () => pick(keys);
const value = () => pick(['', 'x', 'OOM command not allowed', '12', '-3', '1.5', 'ü', 'y'.repeat(300), bytes]);
const field = () => pick(['f', 'g', 'h', '1', '']);
const number = () => String(random(20) - 5);
const float = () => pick(['1.5', '-0.25', '3', '1e3', 'inf', '-inf', 'nan', 'no']);

const commands = [
  () => ['SET', key(), value()],
  () => ['SET', key(), value(), pick(['NX', 'XX', 'GET', 'KEEPTTL'])],
  () => ['GET', key()],
  () => ['MSET', key(), value(), key(), value()],
  () => ['MGET', key(), key(), key()],
  () => ['APPEND', key(), value()],
  () => ['INCRBY', key(), number()],
  // On 6.2 it is not rescued.
  () => (process.env.BEFORE_7 ? ['INCRBY', key(), number()] : ['INCRBYFLOAT', key(), float()]),
  () => ['GETRANGE', key(), number(), number()],
  () => ['SETRANGE', key(), String(random(9)), value()],
  () => ['SETBIT', key(), String(random(40)), pick(['0', '1', '2'])],
  () => ['BITCOUNT', key()],
  () => ['DEL', key(), key()],
  () => ['RENAME', key(), key()],
  () => ['COPY', key(), key(), 'REPLACE'],
  () => ['EXISTS', key()],
  () => ['TYPE', key()],
  () => ['EXPIRE', key(), '100000'],
  () => ['PERSIST', key()],
  () => [pick(['LPUSH', 'RPUSH', 'RPUSHX']), key(), value(), value()],
  () => [pick(['LPOP', 'RPOP']), key()],
  () => ['LPOP', key(), '2'],
  () => ['LRANGE', key(), '0', '-1'],
  () => ['LSET', key(), number(), value()],
  () => ['LINSERT', key(), pick(['BEFORE', 'AFTER']), value(), value()],
  () => ['LMOVE', key(), key(), pick(['LEFT', 'RIGHT']), pick(['LEFT', 'RIGHT'])],
  () => ['RPOPLPUSH', key(), key()],
  () => ['BRPOPLPUSH', key(), key(), '0.05'],
  () => ['HSET', key(), field(), value(), field(), value()],
  () => ['HGET', key(), field()],
  () => ['HMGET', key(), field(), field(), field()],
  () => ['HGETALL', key()],
  () => ['HINCRBY', key(), field(), number()],
  () => ['HINCRBYFLOAT', key(), field(), float()],
  () => ['HDEL', key(), field()],
  () => ['SADD', key(), value(), value()],
  () => ['SREM', key(), value()],
  () => ['SMEMBERS', key()],
  () => ['SINTERSTORE', key(), key(), key()],
  () => ['SUNION', key(), key()],
  () => ['SMISMEMBER', key(), value(), value()],
  () => ['ZADD', key(), float(), field(), float(), value()],
  () => ['ZADD', key(), pick(['NX', 'XX', 'CH', 'GT']), float(), field()],
  () => ['ZADD', key(), pick(['XX', 'NX', 'CH']), 'INCR', float(), field()],
  () => ['ZINCRBY', key(), float(), field()],
  () => ['ZSCORE', key(), field()],
  () => ['ZMSCORE', key(), field(), field()],
  () => ['ZRANK', key(), field()],
  () => ['ZRANGE', key(), '0', '-1', 'WITHSCORES'],
  () => ['ZRANGE', key(), '0', '-1'],
  () => ['ZRANGEBYSCORE', key(), '-inf', '2', 'WITHSCORES'],
  () => [pick(['ZPOPMIN', 'ZPOPMAX']), key()],
  () => ['ZPOPMIN', key(), '2'],
  () => ['ZUNIONSTORE', key(), '2', key(), key()],
  () => ['ZRANGESTORE', key(), key(), '0', '1'],
  () => ['GEOADD', key(), '13.361389', '38.115556', field()],
  () => ['GEOPOS', key(), field(), field()],
  () => ['GEODIST', key(), field(), field()],
  () => ['PFADD', key(), value()],
  () => ['PFCOUNT', key()],
  () => ['XADD', key(), `${1 + random(9)}-${random(9)}`, 'f', value()],
  () => ['XADD', key(), 'NOMKSTREAM', `${1 + random(9)}-${random(9)}`, 'f', value()],
  () => ['XRANGE', key(), '-', '+'],
  () => ['XREAD', 'COUNT', '2', 'STREAMS', key(), '0'],
  () => ['XGROUP', 'CREATE', key(), 'g', '0', 'MKSTREAM'],
  () => ['XREADGROUP', 'GROUP', 'g', 'me', 'COUNT', '1', 'STREAMS', key(), '>'],
  () => ['XLEN', key()],
  () => ['SORT', key(), 'ALPHA', 'STORE', key()],
  () => ['SETEX', key(), pick(['0', '100000']), value()],
  () => ['PING', 'x'],
  script,
  script,
];

// Before 7.0 there are none.
const line = process.env.BEFORE_7 ? '' : '#!lua flags=allow-cross-slot-keys\n';
const scripts = [
  "redis.call('SET', KEYS[1], ARGV[1]) return {ARGV[1], redis.call('GET', KEYS[1]), false, 7}",
  "return redis.call('RPUSH', KEYS[1], ARGV[1], ARGV[1])",
  "return redis.pcall('INCR', KEYS[1])",
  "return redis.call('INCR', KEYS[1])",
  "local got = redis.call('HMGET', KEYS[1], ARGV[1], 'none') redis.call('HSET', KEYS[1], ARGV[1], #got) return got",
  "return redis.error_reply('MINE ' .. ARGV[1]:sub(1, 3):gsub('[\\r\\n]', ' '))",
  "return {ok = 'FINE'}",
  "return redis.call('ZADD', KEYS[1], 'INCR', 1, 'm')",
];

let asSha = null;
function script() {
  const text = pick(scripts);
  const words = [key(), value()];
  if (asSha && random(2)) return ['EVALSHA', asSha.get(text), '1', ...words];
  return ['EVAL', random(2) ? line + text : text, '1', ...words];
}

const UNORDERED = /^(SMEMBERS|SUNION|HGETALL)$/;

function plain(words, reply) {
  if (reply instanceof Error) {
    const text = reply.message
      .replace(/,? ?script: .*$/s, '')
      .replace(/^ERR Error (running|compiling) script \([^)]*\): /, '')
      .replace(/(@?user_script: ?\d+: ?)*-?/g, '')
      .replace(/ERR (?=[A-Z]{3,} )/, '');
    return { error: text.replace(/^ERR /, '').trim(), command: reply.command?.name ?? reply.command };
  }
  if (Buffer.isBuffer(reply)) return `bytes ${reply.toString('latin1')}`;
  // Before 8.0 protocol 3 brings more digits than a number in Lua has.
  if (words[0] === 'GEOPOS') return reply.map((place) => place && place.map((each) => [typeof each, Number(each)]));
  if (Array.isArray(reply)) {
    const list = reply.map((each) => plain([], each));
    return UNORDERED.test(words[0]) ? list.map((each) => JSON.stringify(each)).sort() : list;
  }
  if (reply !== null && typeof reply === 'object') {
    return Object.fromEntries(Object.entries(reply).map(([k, v]) => [k, plain([], v)]).sort());
  }
  return reply;
}

async function step(client, kind, list, asBuffers) {
  try {
    if (kind === 'single') return plain(list[0], await client.call(list[0], asBuffers));
    const replies = await client[kind](list, asBuffers);
    return replies.map((reply, i) => plain(list[i], reply));
  } catch (error) {
    return [kind, plain([], error)];
  }
}

async function contents(client) {
  const all = {};
  for (const name of keys) {
    const type = await client.call(['TYPE', name]);
    const read = {
      none: ['EXISTS', name],
      string: ['GET', name],
      list: ['LRANGE', name, '0', '-1'],
      hash: ['HGETALL', name],
      set: ['SMEMBERS', name],
      zset: ['ZRANGE', name, '0', '-1', 'WITHSCORES'],
      stream: ['XRANGE', name, '-', '+'],
    }[type];
    const lives = (await client.call(['TTL', name])) > 0;
    all[String(name)] = [type, lives, plain(read, await client.call(read, isIoredis))];
  }
  return all;
}

async function main() {
  const urls = [process.env.FULL_URL, process.env.ROOMY_URL];
  const clients = urls.map((url) => new Client(url));
  for (const client of clients) await client.call(['FLUSHALL']);
  // From here on the server is known to be full: pipelines are carried whole.
  for (const client of clients) await client.call(['SET', 'a', '']);
  asSha = new Map();
  for (const text of scripts) {
    const loaded = await Promise.all(clients.map((client) => client.call(['SCRIPT', 'LOAD', text])));
    asSha.set(text, String(loaded[0]));
  }
  for (let n = 0; n < steps; n += 1) {
    const kind = pick(['single', 'single', 'pipeline', 'multi']);
    const choose = () => {
      const words = pick(commands)();
      // One that waits is not carried with its pipeline.
      return kind === 'pipeline' && words[0] === 'BRPOPLPUSH' ? choose() : words;
    };
    const list = Array.from({ length: kind === 'single' ? 1 : 1 + random(6) }, choose);
    // Alone in a transaction, a script is refused once the transaction runs: too late.
    if (kind === 'multi' && list.some(([name]) => /^EVAL/.test(name))) list.push(['SET', key(), value()]);
    const asBuffers = random(3) === 0;
    const [full, roomy] = await Promise.all(clients.map((client) => step(client, kind, list, asBuffers)));
    assert.deepStrictEqual(full, roomy, `step ${n}: ${kind} ${JSON.stringify(list.map((words) => words.map(String)))}`);
  }
  const [full, roomy] = await Promise.all(clients.map(contents));
  assert.deepStrictEqual(full, roomy, 'the data');
  for (const client of clients) client.close();
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(`SEED=${seed}: ${error.stack}`);
    process.exit(1);
  },
);
