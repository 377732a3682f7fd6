const Queue = require('bull');
const { enqueueAll } = require('../job/job');

async function main() {
  const queue = new Queue('mail', process.env.REDIS_URL);
  const options = { attempts: 3, backoff: 1000 };
  await enqueueAll((job) => queue.add(job, options));
  process.exit();
}

main();
