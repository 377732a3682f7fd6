const { Worker } = require('bullmq');
const IORedis = require('ioredis');
const { run } = require('../job/job');

const connection = new IORedis(process.env.REDIS_URL, { maxRetriesPerRequest: null });
const worker = new Worker('mail', (job) => run(job.data.id), { connection, concurrency: 4 });
worker.on('error', (error) => console.error(error));
