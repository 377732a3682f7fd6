// A connection to a cluster, and a queue in each of three parts of it.
const IORedis = require('ioredis');

const url = new URL(process.env.REDIS_URL);
const connection = new IORedis.Cluster([{ host: url.hostname, port: Number(url.port) }], {
  redisOptions: { username: url.username, password: url.password, maxRetriesPerRequest: null },
});

module.exports = { connection, prefixes: ['{a}', '{b}', '{c}'] };
