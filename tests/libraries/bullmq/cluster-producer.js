const { Queue } = require('bullmq');
const { enqueueAll } = require('../job/job');
const { connection, prefixes } = require('./cluster');

async function main() {
  const queues = prefixes.map((prefix) => new Queue('mail', { connection, prefix }));
  const options = { attempts: 3, backoff: { type: 'fixed', delay: 1000 } };
  let next = 0;
  await enqueueAll((job) => queues[next++ % queues.length].add('send', job, options));
  process.exit();
}

main();
