const Queue = require('bull');
const { run } = require('../job/job');

const options = {};
// The jobs of a worker that is killed return after this many seconds.
if (process.env.RECOVER_AFTER) {
  const milliseconds = 1000 * process.env.RECOVER_AFTER;
  options.settings = { lockDuration: milliseconds, stalledInterval: milliseconds };
}
const queue = new Queue('mail', process.env.REDIS_URL, options);
queue.process(4, (job) => run(job.data.id));
queue.on('error', (error) => console.error(error));
