const { Worker } = require('bullmq');
const IORedis = require('ioredis');
const { run } = require('../job/job');

const connection = new IORedis(process.env.REDIS_URL, { maxRetriesPerRequest: null });
const options = { connection, concurrency: Number(process.env.CONCURRENCY ?? 4) };
// The jobs of a worker that is killed return after this many seconds.
if (process.env.RECOVER_AFTER) {
  options.lockDuration = options.stalledInterval = 1000 * process.env.RECOVER_AFTER;
}
const worker = new Worker('mail', (job) => run(job.data.id), options);
worker.on('error', (error) => console.error(error));
