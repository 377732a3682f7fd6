// What every job of Node's libraries does, and what fills the server with them. The
// folder `JOBS` is described in job.py.
const fs = require('fs');
const { setTimeout: sleep } = require('timers/promises');

const file = (name) => `${process.env.JOBS}/${name}`;
// One write a line: several processes append.
const write = (name, line) => fs.appendFileSync(file(name), `${line}\n`);

async function run(id) {
  if (fs.existsSync(file('gate'))) {
    write('held', id);
    while (fs.existsSync(file('gate'))) await sleep(20);
  }
  if (Number(id.slice(-6)) % 20 === 0 && firstRun(id)) throw new Error(`the first run of ${id}`);
  write('done', id);
}

// Enqueues jobs from number `FIRST` on: `MOST`, or until the server refuses.
async function enqueueAll(enqueue) {
  const first = Number(process.env.FIRST ?? 0);
  const most = Number(process.env.MOST ?? 1_000_000);
  const payload = 'x'.repeat(500);
  for (let number = first; number < first + most; number++) {
    const id = `job-${String(number).padStart(6, '0')}`;
    try {
      await enqueue({ id, payload });
    } catch (error) {
      write('uncertain', id);
      write('refused', error);
      return;
    }
    write('accepted', id);
  }
}

function firstRun(id) {
  try {
    fs.closeSync(fs.openSync(file(`failed-${id}`), 'wx'));
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

module.exports = { run, enqueueAll };
