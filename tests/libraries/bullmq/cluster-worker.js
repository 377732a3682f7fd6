const { Worker } = require('bullmq');
const { run } = require('../job/job');
const { connection, prefixes } = require('./cluster');

for (const prefix of prefixes) {
  const worker = new Worker('mail', (job) => run(job.data.id), { connection, prefix, concurrency: 4 });
  worker.on('error', (error) => console.error(error));
}
