const Queue = require('bee-queue');
const { enqueueAll } = require('../job/job');

async function main() {
  const queue = new Queue('mail', { redis: process.env.REDIS_URL, isWorker: false });
  await enqueueAll((job) => queue.createJob(job).retries(3).backoff('fixed', 1000).save());
  process.exit();
}

main();
