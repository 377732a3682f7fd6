'use strict';
// Each rule of the rescue on a server at FULL_URL, which refuses everything that grows.
// A proxy of its own for each makes the server one that nothing is known of.

const assert = require('assert');
const { execFileSync } = require('child_process');
const fs = require('fs');
const net = require('net');
const os = require('os');
const path = require('path');
const { Client, Proxy, rescue, isIoredis, library } = require('./client');

const FULL_URL = process.env.FULL_URL;
const OOM = /^OOM command not allowed when used memory > 'maxmemory'/;
const FILE = path.resolve(__dirname, '../../../clients/node/wurk-rescue.js');
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let admin; // Its connection is no proxy's, and it is rescued.
let version;
let lines = [];
console.error = (line) => lines.push(String(line));

const room = (maxmemory) => admin.call(['CONFIG', 'SET', 'maxmemory', String(maxmemory)]);
const refusal = (promise) => promise.then(() => assert.fail('not refused'), (error) => error);

/** Clients on a proxy of their own. */
async function stage(test, options) {
  const proxy = await Proxy.to(FULL_URL);
  const client = new Client(proxy.url, options);
  try {
    await client.call(['PING']);
    await test(client, proxy);
  } finally {
    client.close();
    proxy.close();
  }
}

const rules = {
  async 'what is not refused is sent once, as it is'() {
    await stage(async (client, proxy) => {
      proxy.sent = '';
      assert.strictEqual(await client.call(['GET', 'k']), null);
      await client.pipeline([['GET', 'k'], ['GET', 'k']]);
      assert.strictEqual(proxy.sent.toLowerCase(), '*2\r\n$3\r\nget\r\n$1\r\nk\r\n'.repeat(3));
    });
  },

  async 'only the server says OOM'() {
    await stage(async (client, proxy) => {
      const text = "return redis.error_reply('ERR ' .. ARGV[1])";
      const error = await refusal(client.call(['EVAL', text, '0', 'OOM command not allowed']));
      assert.match(error.message, /^ERR OOM/);
      assert.strictEqual(proxy.count('ARGV[1]'), 1);
    });
  },

  async 'the module is asked once a minute'() {
    await stage(async (client, proxy) => {
      for (let n = 1; n <= 3; n += 1) assert.strictEqual(await client.call(['RPUSH', 'l', 'x']), n);
      assert.strictEqual(proxy.sent.toUpperCase().split('WURK.RESCUE').length - 1, 1);
    });
  },

  async 'INFO is asked once a second'() {
    await stage(async (client, proxy) => {
      for (let n = 0; n < 10; n += 1) await client.call(['SET', 'k', 'v']);
      assert.strictEqual(proxy.count('memory\r\n'), 1);
    });
  },

  async 'a script of known text'() {
    await stage(async (client, proxy) => {
      const text = "return redis.call('RPUSH', KEYS[1], ARGV[1])";
      assert.strictEqual(await client.call(['EVAL', text, '1', 'l', 'x']), 1);
      const sha = await client.call(['SCRIPT', 'LOAD', text]);
      assert.strictEqual(await client.call(['EVALSHA', sha, '1', 'l', 'x']), 2);
      if (version >= 7) {
        const flagged = `#!lua name=mine flags=allow-cross-slot-keys\n${text}`;
        const error = await refusal(client.call(['EVAL', `#!lua flags=allow-oom\nreturn redis.error_reply('OOM mine')`, '0']));
        assert.strictEqual(error.message, 'OOM mine');
        assert.strictEqual(proxy.count('OOM mine'), 1);
        assert.strictEqual(await client.call(['EVAL', flagged.replace(' name=mine', ''), '1', 'l', 'x']), 3);
      }
    });
  },

  async 'a script of unknown text stays refused, and SCRIPT EXISTS is 0 once'() {
    await stage(async (client) => {
      const text = "return redis.call('RPUSH', KEYS[1], 'unknown')";
      const sha = require('crypto').createHash('sha1').update(text).digest('hex');
      const { hostname, port } = new URL(FULL_URL);
      const raw = net.connect(Number(port), hostname);
      raw.write(`*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$${text.length}\r\n${text}\r\n`);
      await new Promise((resolve) => raw.once('data', resolve));
      raw.destroy();
      const error = await refusal(client.call(['EVALSHA', sha, '1', 'l']));
      assert.match(error.message, /OOM command not allowed/);
      assert.deepStrictEqual(await client.call(['SCRIPT', 'EXISTS', sha]), [0]);
      assert.deepStrictEqual(await client.call(['SCRIPT', 'EXISTS', sha]), [1]);
      await client.call(['SCRIPT', 'LOAD', text]);
      assert.strictEqual(await client.call(['EVALSHA', sha, '1', 'l']), 1);
    });
  },

  async 'a user who may run no scripts gets the own error, and no second attempt'() {
    await admin.call(['ACL', 'SETUSER', 'plain', 'on', '>plain', '~*', '&*', '+@all', '-eval', '-evalsha', '-info']);
    const options = isIoredis ? { username: 'plain', password: 'plain', enableReadyCheck: false } : { user: 'plain', password: 'plain', no_ready_check: true };
    await stage(async (client, proxy) => {
      for (let n = 0; n < 2; n += 1) {
        const error = await refusal(client.call(['SET', 'k', 'v']));
        assert.match(error.message, OOM);
        assert.strictEqual((error.command.name ?? error.command).toLowerCase(), 'set');
        const [refused, read] = await client.pipeline([['SET', 'k', 'v'], ['GET', 'other']]);
        assert.match(refused.message, OOM);
        assert.strictEqual(read, null);
      }
      const attempts = proxy.sent.toUpperCase().split('\r\nEVAL\r\n').length - 1;
      assert.ok(attempts >= 1 && attempts <= 2, `${attempts} attempts`); // Before 7.0 in another form, too.
    }, options);
    await admin.call(['ACL', 'DELUSER', 'plain']);
  },

  async 'a pipeline keeps its order'() {
    await stage(async (client, proxy) => {
      const list = [['SET', 'b', '1'], ['EXPIRE', 'b', '100']];
      const [set, expire] = await client.pipeline(list);
      assert.match(set.message, OOM);
      assert.strictEqual(expire, 0);
      assert.strictEqual(await client.call(['EXISTS', 'b']), 0);
      await client.call(['SET', 'known', 'full']);
      const sent = proxy.count('\r\nexpire\r\n');
      assert.deepStrictEqual(await client.pipeline(list), ['OK', 1]);
      assert.ok((await client.call(['TTL', 'b'])) > 90);
      assert.strictEqual(proxy.count('\r\nexpire\r\n'), sent + 1, 'carried at once');
    });
    await stage(async (client) => {
      const list = [['SET', 'x', '1'], ['RPUSH', 'l', 'a'], ['GET', 'y'], ['RPUSH', 'l', 'b']];
      assert.deepStrictEqual(await client.pipeline(list), ['OK', 1, null, 2]);
      assert.deepStrictEqual(await client.call(['LRANGE', 'l', '0', '-1']), ['a', 'b']);
    });
  },

  async 'a move that waits is not overtaken in its pipeline'() {
    await stage(async (client) => {
      const [move, push] = await client.pipeline([['BRPOPLPUSH', 'l', 'm', '1'], ['RPUSH', 'l', 'x']]);
      assert.match(move.message, OOM);
      assert.strictEqual(push, 1);
      assert.strictEqual(await client.call(['LLEN', 'l']), 1);
    });
  },

  async 'before 7.0, whose scripts it corrupts, INCRBYFLOAT stays refused'() {
    await stage(async (client) => {
      if (version >= 7) assert.strictEqual(await client.call(['INCRBYFLOAT', 'f', '1.5']), '1.5');
      else assert.match((await refusal(client.call(['INCRBYFLOAT', 'f', '1.5']))).message, OOM);
    });
  },

  async 'commands that nobody waits for keep their order, too'() {
    await stage(async (client) => {
      const set = refusal(client.call(['SET', 'b', '1']));
      assert.strictEqual(await client.call(['EXPIRE', 'b', '100']), 0);
      assert.match((await set).message, OOM);
      assert.strictEqual(await client.call(['EXISTS', 'b']), 0);
      const pushes = ['a', 'b', 'c'].map((value) => client.call(['RPUSH', 'l', value]));
      assert.deepStrictEqual(await Promise.all(pushes), [1, 2, 3]);
      assert.deepStrictEqual(await client.call(['LRANGE', 'l', '0', '-1']), ['a', 'b', 'c']);
    });
  },

  async 'a pipeline of one command is sent as ever'() {
    await stage(async (client, proxy) => {
      await client.call(['SET', 'k', 'v']);
      proxy.sent = '';
      assert.deepStrictEqual(await client.pipeline([['GET', 'k']]), ['v']);
      assert.strictEqual(proxy.sent.toLowerCase(), '*2\r\n$3\r\nget\r\n$1\r\nk\r\n');
    });
  },

  async 'a pipeline that cannot stand in a script is sent as ever'() {
    await stage(async (client) => {
      await client.call(['SET', 'k', 'v']);
      const replies = await client.pipeline([['CONFIG', 'GET', 'maxmemory'], ['SET', 'a', '1']]);
      assert.deepStrictEqual(replies, [['maxmemory', '1'], 'OK']);
      const many = Array.from({ length: 7100 }, (_, i) => String(i));
      const [pushed] = await client.pipeline([['RPUSH', 'l', ...many]]);
      assert.match(pushed.message, OOM);
    });
  },

  async 'a transaction is rescued whole, or stays refused'() {
    await stage(async (client) => {
      assert.deepStrictEqual(await client.multi([['SET', 'a', '1'], ['INCR', 'a'], ['HSET', 'h', 'f', 'v'], ['HGETALL', 'h']]), ['OK', 2, 1, { f: 'v' }]);
      const error = await refusal(client.multi([['SET', 'a', '7'], ['LPUSH', 'l']]));
      assert.match(error.message, /^EXECABORT/);
      assert.strictEqual(await client.call(['GET', 'a']), '2');
      const [ok, wrong] = await client.multi([['SET', 'c', 'x'], ['INCR', 'h']]);
      assert.strictEqual(ok, 'OK');
      assert.match(wrong.message, /^WRONGTYPE/);
      if (isIoredis) {
        client.redis.multi({ pipeline: false });
        assert.strictEqual(await client.redis.set('d', '1'), 'QUEUED');
        client.redis.incr('d');
        assert.deepStrictEqual(await client.redis.exec(), [[null, 'OK'], [null, 2]]);
        const replies = await client.redis.pipeline().get('d').multi().incr('d').exec().exec();
        assert.deepStrictEqual(replies, [[null, '2'], [null, 'OK'], [null, 'QUEUED'], [null, [3]]]);
      }
    });
  },

  async 'a transaction that ran is not sent again'() {
    await stage(async (client) => {
      await client.call(['RPUSH', 'l', 'a', 'b', 'c', 'd']);
      const text = "return redis.call('SET', KEYS[1], 'x')";
      await client.multi([['LPOP', 'l'], ['EVAL', text, '1', 'k']]).catch(() => {});
      assert.strictEqual(await client.call(['LLEN', 'l']), 3);
    });
  },

  async 'a watched transaction is rescued if what it watched is unchanged'() {
    await admin.call(['SET', 'w', '1']);
    const transact = async (client, between) => {
      await client.call(['WATCH', 'w', 'none']);
      await client.call(['GET', 'w']);
      await between?.();
      return client.multi([['SET', 'done', '1'], ['INCR', 'w']]);
    };
    await stage(async (client, proxy) => {
      const first = await refusal(transact(client));
      assert.match(first.message, /^EXECABORT/);
      assert.strictEqual(proxy.count('fingerprints'), 0, 'asked for nothing while not known to be full');
      assert.deepStrictEqual(await transact(client), ['OK', 2]);
      await admin.call(['DEL', 'done']);
      for (const change of [['INCR', 'w'], ['DEL', 'w'], ['SET', 'w', 'again'], ['SET', 'none', '']]) {
        assert.strictEqual(await transact(client, () => admin.call(change)), null, `after ${change}`);
        assert.strictEqual(await client.call(['EXISTS', 'done']), 0);
      }
      const reset = async () => {
        await admin.call(['DEL', 'w']);
        await admin.call(['SET', 'w', 'other']);
      };
      assert.strictEqual(await transact(client, reset), null);
    });
  },

  async 'it ends once there is room'() {
    await stage(async (client, proxy) => {
      await client.call(['SET', 'k', 'v']);
      await room(0);
      await sleep(1100);
      await client.pipeline([['GET', 'k'], ['GET', 'k']]); // Asks again.
      await sleep(50);
      proxy.sent = '';
      await client.pipeline([['SET', 'k', 'v'], ['GET', 'k']]);
      assert.strictEqual(proxy.count('EVAL') + proxy.count('eval'), 0);
    });
  },

  async 'the brake lets only moves past it'() {
    rescue.limit = 10;
    await admin.call(['DEL', 'l']);
    rescue.limit = 0;
    await admin.call(['RPUSH', 'l', 'a', 'b', 'c']);
    rescue.limit = 10;
    lines = [];
    await stage(async (client) => {
      assert.match((await refusal(client.call(['SET', 'k', 'v']))).message, OOM);
      assert.match((await refusal(client.call(['SET', 'k', 'v']))).message, OOM);
      assert.strictEqual(await client.call(['RPOPLPUSH', 'l', 'm']), 'c');
      assert.strictEqual(await client.call(['BRPOPLPUSH', 'l', 'm', '1']), 'b');
      await refusal(client.multi([['SET', 'k', 'v']]));
      assert.match((await client.pipeline([['SET', 'k', 'v']]))[0].message, OOM);
      assert.ok(lines.filter((line) => /past maxmemory: what it refuses stays refused/.test(line)).length <= 1, lines.join());
      // Not so far past it.
      const { used } = /used_memory:(?<used>\d+)/.exec(String(await client.call(['INFO', 'memory']))).groups;
      await room(Math.floor(used / 1.05));
      await sleep(1100);
      assert.strictEqual(await client.call(['SET', 'k', 'v']), 'OK');
    });
  },

  async 'a move that waits'() {
    await stage(async (client, proxy) => {
      const began = Date.now();
      assert.strictEqual(await client.call(['BRPOPLPUSH', 'l', 'm', '1']), null);
      assert.ok(Date.now() - began >= 990 && Date.now() - began < 1500, `${Date.now() - began} ms`);
      const moved = client.call(['BLMOVE', 'l', 'm', 'RIGHT', 'LEFT', '0']);
      await sleep(150);
      await admin.call(['RPUSH', 'l', 'late']);
      assert.strictEqual(await moved, 'late');
      const later = client.call(['BRPOPLPUSH', 'l', 'm', '0']);
      await sleep(100);
      await room(0);
      await sleep(1200);
      const sent = proxy.sent.length;
      await sleep(300);
      assert.strictEqual(proxy.sent.length, sent, 'it waits by itself');
      await admin.call(['RPUSH', 'l', 'at last']);
      assert.strictEqual(await later, 'at last');
      assert.deepStrictEqual(await admin.call(['LRANGE', 'm', '0', '-1']), ['at last', 'late']);
    });
  },

  async 'an attempt that the client repeats is not rescued'() {
    await room(0);
    await stage(async (client, proxy) => {
      proxy.onRequest = (chunk) => (/rpush/i.test(chunk) ? 'cut' : '');
      proxy.beforeCut = async () => {
        proxy.onRequest = () => {};
        await room(1);
      };
      const error = await refusal(client.call(['RPUSH', 'l', 'once']));
      assert.match(error.message, OOM);
      assert.strictEqual(proxy.sent.toLowerCase().split('\r\nrpush\r\n').length - 1, 2);
      assert.strictEqual(await admin.call(['LLEN', 'l']), 1);
    }, isIoredis ? {} : { retry_unfulfilled_commands: true });
  },

  async 'a rescue whose reply is lost is not sent again'() {
    const cases = [
      (client) => client.call(['RPUSH', 'l', 'x']),
      (client) => client.multi([['RPUSH', 'l', 'x']]),
      (client) => client.call(['EVAL', "return redis.call('RPUSH', KEYS[1], 'x')", '1', 'l']),
      async (client) => {
        throw (await client.pipeline([['RPUSH', 'l', 'x'], ['GET', 'k']]))[0];
      },
    ];
    for (const attempt of cases) {
      await admin.call(['DEL', 'l']);
      await stage(async (client, proxy) => {
        await client.call(['SET', 'known', 'full']);
        const rescued = version >= 7 ? /allow-oom/ : /ZREMRANGEBYRANK/;
        proxy.onRequest = (chunk) => (rescued.test(chunk) ? 'cut' : '');
        proxy.beforeCut = () => {
          proxy.onRequest = () => {};
        };
        const error = await refusal(attempt(client));
        assert.match(error.message, /[Cc]onnection/);
        await client.call(['PING']);
        await sleep(50);
        assert.strictEqual(await admin.call(['LLEN', 'l']), 1, String(attempt));
      }, isIoredis ? {} : { retry_unfulfilled_commands: true });
    }
  },

  async 'loaded twice, it does nothing more'() {
    const before = isIoredis ? library.prototype.sendCommand : library.RedisClient.prototype.internal_send_command;
    delete require.cache[FILE];
    assert.strictEqual(require(FILE), rescue);
    const after = isIoredis ? library.prototype.sendCommand : library.RedisClient.prototype.internal_send_command;
    assert.strictEqual(after, before);
  },

  async 'a version that lacks something is left alone'() {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'wurk-'));
    const home = path.join(folder, 'node_modules', 'redis');
    fs.mkdirSync(home, { recursive: true });
    fs.writeFileSync(path.join(home, 'package.json'), '{"name": "redis", "version": "9.9.9", "main": "index.js"}');
    fs.writeFileSync(path.join(home, 'index.js'), 'exports.RedisClient = function () {}; exports.Multi = function () {}; exports.RedisClient.prototype.return_error = function it() {};');
    const program = "process.stdout.write(require('redis').RedisClient.prototype.return_error.name); process.stderr.write = (line) => process.stdout.write(line);";
    const run = execFileSync(process.execPath, ['-r', FILE, '-e', `process.stderr.write = (line) => process.stdout.write(line); ${program}`], { cwd: folder, env: { PATH: process.env.PATH } });
    fs.rmSync(folder, { recursive: true });
    assert.match(String(run), /^wurk_rescue: redis 9\.9\.9 has no .*: nothing of it is rescued\nit$/);
  },

  async 'one line says that a server is full'() {
    const program = `const { Client } = require(${JSON.stringify(path.join(__dirname, 'client.js'))});
      const client = new Client(${JSON.stringify(FULL_URL)});
      (async () => { for (let n = 0; n < 3; n += 1) await client.call(['SET', 'k', 'v']); process.exit(0); })();`;
    const env = { ...process.env, WURK_RESCUE_LIMIT: '0' };
    const { stderr } = require('child_process').spawnSync(process.execPath, ['-r', FILE, '-e', program], { env, encoding: 'utf8' });
    assert.match(stderr, /^wurk_rescue: \S+ is full: what it refuses is sent again in a script\n$/);
  },
};

if (isIoredis) {
  rules['automatic pipelines and defined commands'] = () =>
    stage(async (client) => {
      const { redis } = client;
      redis.defineCommand('push', { numberOfKeys: 1, lua: "return redis.call('RPUSH', KEYS[1], ARGV[1])" });
      assert.deepStrictEqual([await redis.push('l', 'a'), await redis.push('l', 'b')], [1, 2]);
      assert.deepStrictEqual(await Promise.all([redis.set('a', '1'), redis.push('l', 'c'), redis.incr('a')]), ['OK', 3, 2]);
      assert.deepStrictEqual(await redis.pipeline().push('l', 'd').llen('l').exec(), [[null, 4], [null, 4]]);
    }, { enableAutoPipelining: true });
}

async function main() {
  admin = new Client(FULL_URL);
  const info = String(await admin.call(['INFO', 'server']));
  version = Number(/redis_version:(\d+)/.exec(info)[1]);
  let failed = 0;
  for (const [name, rule] of Object.entries(rules)) {
    if (process.env.RULE && !name.includes(process.env.RULE)) continue;
    rescue.limit = 0;
    await admin.call(['FLUSHALL']);
    try {
      await rule();
    } catch (error) {
      failed += 1;
      process.stderr.write(`${name}: ${error.stack}\n`);
    }
    await room(1);
  }
  process.exit(failed === 0 ? 0 : 1);
}

main();
