const Queue = require('bee-queue');
const { run } = require('../job/job');

const options = { redis: process.env.REDIS_URL, activateDelayedJobs: true };
// The jobs of a worker that is killed return after this many seconds.
if (process.env.RECOVER_AFTER) options.stallInterval = 1000 * process.env.RECOVER_AFTER;
const queue = new Queue('mail', options);
// Without this a job whose worker was killed stays where it is.
if (process.env.RECOVER_AFTER) setInterval(() => queue.checkStalledJobs(), options.stallInterval);
queue.process(4, (job) => run(job.data.id));
queue.on('error', (error) => console.error(error));
