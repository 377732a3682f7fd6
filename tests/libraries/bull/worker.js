const Queue = require('bull');
const { run } = require('../job/job');

const queue = new Queue('mail', process.env.REDIS_URL);
queue.process(4, (job) => run(job.data.id));
queue.on('error', (error) => console.error(error));
