const { Queue } = require('bullmq');
const IORedis = require('ioredis');
const { enqueueAll } = require('../job/job');

async function main() {
  const connection = new IORedis(process.env.REDIS_URL, { maxRetriesPerRequest: null });
  const queue = new Queue('mail', { connection });
  const options = { attempts: 3, backoff: { type: 'fixed', delay: 1000 } };
  await enqueueAll((job) => queue.add('send', job, options));
  process.exit();
}

main();
