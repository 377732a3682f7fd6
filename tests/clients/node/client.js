'use strict';
// One way to drive ioredis and node_redis; which of them, NODE_PATH says. Beside it a
// proxy that sees what is sent and can cut a connection.

const net = require('net');
const rescue = require('../../../clients/node/wurk-rescue');

function installed(name) {
  try {
    return require(name);
  } catch {
    return null;
  }
}

const IORedis = installed('ioredis');
const nodeRedis = IORedis ? null : require('redis');
const protocol = Number(process.env.PROTOCOL || 2);

const split = (words) => [String(words[0]).toLowerCase(), words.slice(1)];

class OnIoredis {
  constructor(url, options = {}) {
    this.redis = new IORedis(url, { protocol, retryStrategy: () => 20, ...options });
    this.redis.on('error', () => {});
  }

  call(words, asBuffers = false) {
    const [name, args] = split(words);
    const method = name + (asBuffers ? 'Buffer' : '');
    if (this.redis[method]) return this.redis[method](...args);
    return this.redis[asBuffers ? 'callBuffer' : 'call'](name, ...args);
  }

  fill(pipeline, commands, asBuffers) {
    for (const words of commands) {
      const [name, args] = split(words);
      pipeline[name + (asBuffers ? 'Buffer' : '')](...args);
    }
    return pipeline;
  }

  async pipeline(commands, asBuffers = false) {
    const replies = await this.fill(this.redis.pipeline(), commands, asBuffers).exec();
    return replies.map(([error, reply]) => error ?? reply);
  }

  async multi(commands, asBuffers = false) {
    const replies = await this.fill(this.redis.multi(), commands, asBuffers).exec();
    return replies && replies.map(([error, reply]) => error ?? reply);
  }

  close() {
    this.redis.disconnect();
  }
}

class OnNodeRedis {
  constructor(url, options = {}) {
    this.redis = nodeRedis.createClient(url, { detect_buffers: true, retry_strategy: () => 20, ...options });
    this.redis.on('error', () => {});
  }

  call(words) {
    const [name, args] = split(words);
    return new Promise((resolve, reject) => {
      this.redis.send_command(name, args, (error, reply) => (error ? reject(error) : resolve(reply)));
    });
  }

  run(multi, commands) {
    for (const words of commands) {
      const [name, args] = split(words);
      multi[name](...args);
    }
    return new Promise((resolve, reject) => {
      multi.exec((error, replies) => (error ? reject(error) : resolve(replies)));
    });
  }

  pipeline = (commands) => this.run(this.redis.batch(), commands);
  multi = (commands) => this.run(this.redis.multi(), commands);
  close = () => this.redis.end(true);
}

const Client = IORedis ? OnIoredis : OnNodeRedis;

/** Forwards to a server. `sent` is all that clients have sent; `onRequest(chunk)` may say "cut": it is forwarded, and the connection is gone before its reply. */
class Proxy {
  sent = '';
  onRequest = () => {};

  static async to(url) {
    const proxy = new Proxy();
    const { hostname, port } = new URL(url);
    proxy.server = net.createServer((client) => {
      const server = net.connect(Number(port), hostname);
      let isCut = false;
      client.on('data', (chunk) => {
        if (isCut) return;
        proxy.sent += chunk.toString('latin1');
        isCut = proxy.onRequest(chunk.toString('latin1')) === 'cut';
        server.write(chunk);
      });
      server.on('data', async (chunk) => {
        if (!isCut) return client.write(chunk);
        await proxy.beforeCut?.();
        return client.destroy();
      });
      for (const [one, other] of [[client, server], [server, client]]) {
        one.on('close', () => other.destroy());
        one.on('error', () => other.destroy());
      }
    });
    await new Promise((resolve) => {
      proxy.server.listen(0, '127.0.0.1', resolve);
    });
    proxy.url = `redis://127.0.0.1:${proxy.server.address().port}`;
    return proxy;
  }

  count(word) {
    return this.sent.split(word).length - 1;
  }

  close() {
    this.server.close();
  }
}

module.exports = { Client, Proxy, rescue, isIoredis: Client === OnIoredis, library: IORedis ?? nodeRedis };
