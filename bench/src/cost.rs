//! The server's time per call.

use wurk_client::scripts::{CLAIM, Script};
use wurk_testkit::{Options, Resp, Server};

use crate::engine::{self, Engine};
use crate::pipeline::{BATCH, CONNECTIONS, Pipeline, WARM_UP, pack, succeeds};

/// A server, a connection for set-up, and the connections that the calls use.
pub(crate) struct Bench {
    pub(crate) server: Server,
    pub(crate) con: Resp,
    pipeline: Pipeline,
}

/// The data on the server before a round, and the call.
#[derive(Clone)]
pub(crate) struct Workload {
    pub(crate) script: &'static Script,
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) args: Vec<Vec<u8>>,
    /// The list that is filled with jobs, how many, and of how many bytes.
    pub(crate) fill: Option<(Vec<u8>, usize, usize)>,
    /// Jobs in that list's private list.
    pub(crate) private: usize,
    /// After each batch push as many jobs as it took, and trim the private list to
    /// its length: both keep their lengths.
    pub(crate) steady: bool,
}

impl Workload {
    /// A claim over `queues` queues; only the last one holds jobs.
    pub(crate) fn claim(queues: usize, jobs: usize, size: usize) -> Self {
        let mut keys = vec![b"processes".to_vec(), b"host:4711:0f3a77b2c1d".to_vec()];
        for queue in 0..queues {
            keys.push(format!("queue:name-{queue}").into_bytes());
            keys.push(format!("queue:name-{queue}|host|4711|0f3a77b2c1d|0").into_bytes());
        }
        let public = keys[keys.len() - 2].clone();
        Self {
            script: &CLAIM,
            keys,
            args: ["{\"pid\":4711}", "1700000000.123456", "60"]
                .map(|arg| arg.as_bytes().to_vec())
                .into(),
            fill: Some((public, jobs, size)),
            private: 0,
            steady: false,
        }
    }
}

impl Workload {
    /// The commands that restore the lists' lengths.
    fn again(&self) -> Vec<Vec<Vec<u8>>> {
        let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect::<Vec<_>>();
        let private = self.keys.last().map_or(b"".as_slice(), Vec::as_slice);
        let last = self.private.wrapping_sub(1).to_string();
        let cut = match self.private {
            0 => words(&[b"DEL", private]),
            _ => words(&[b"LTRIM", private, b"0", last.as_bytes()]),
        };
        let Some((list, _, size)) = &self.fill else {
            return vec![cut];
        };
        let job = vec![b'j'; *size];
        let mut push = words(&[b"LPUSH", list]);
        push.extend(std::iter::repeat_n(job, BATCH));
        vec![push, cut]
    }
}

impl Bench {
    pub(crate) fn start(options: &Options) -> Self {
        let server = options.start();
        let mut con = server.connect();
        engine::prepare(&mut con);
        let pipeline = Pipeline::new(&server);
        Self {
            server,
            con,
            pipeline,
        }
    }

    /// Prepares the data, makes about `calls` calls, and returns the server's CPU time
    /// for one, in microseconds.
    pub(crate) fn round(&mut self, workload: &Workload, engine: Engine, calls: usize) -> f64 {
        self.con.must("FLUSHALL");
        let identity =
            String::from_utf8_lossy(&workload.keys[workload.keys.len().min(2) - 1]).into_owned();
        if workload.keys.len() > 3 {
            self.con
                .call(&["HSET", &identity, "info", "{}", "beat", "1"]);
            self.con.call(&["SADD", "processes", &identity]);
        }
        let batches = calls.div_ceil(BATCH);
        let warm_up = WARM_UP.min(batches);
        if let Some((list, jobs, size)) = &workload.fill {
            let taken = if workload.steady {
                CONNECTIONS // What is in flight.
            } else {
                warm_up + batches
            };
            self.push(list, taken * BATCH + jobs, *size);
            let private = workload.keys.last().cloned().unwrap_or_default();
            self.push(&private, workload.private, *size);
        }
        let commands = engine.call(workload.script, &workload.keys, &workload.args);
        let mut wire = pack(&commands, BATCH);
        let mut replies = BATCH * commands.len();
        if workload.steady {
            let again = workload.again();
            wire.extend(pack(&again, 1));
            replies += again.len();
        }
        self.pipeline.call(&wire, replies, warm_up, succeeds);
        let cost = self.pipeline.cost(&wire, replies, batches, succeeds);
        cost / BATCH as f64
    }

    /// Adds `jobs` jobs to the workload's list.
    pub(crate) fn refill(&mut self, workload: &Workload, jobs: usize) {
        if let Some((list, _, size)) = &workload.fill {
            self.push(list, jobs, *size);
        }
    }

    fn push(&mut self, list: &[u8], jobs: usize, size: usize) {
        let job = vec![b'j'; size];
        let together = (1 << 20) / size.max(1);
        let mut left = jobs;
        while left > 0 {
            let now = left.min(together.clamp(1, 1_000));
            let command = [b"RPUSH".as_slice(), list]
                .into_iter()
                .chain(std::iter::repeat_n(job.as_slice(), now));
            self.con.call(&command.collect::<Vec<_>>());
            left -= now;
        }
    }
}

/// The median.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
