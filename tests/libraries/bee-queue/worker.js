const Queue = require('bee-queue');
const { run } = require('../job/job');

const queue = new Queue('mail', { redis: process.env.REDIS_URL, activateDelayedJobs: true });
queue.process(4, (job) => run(job.data.id));
queue.on('error', (error) => console.error(error));
