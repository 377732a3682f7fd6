//! The server's time per call.

use wurk_client::scripts::{CLAIM, Script};
use wurk_testkit::{Options, Reply, Resp, Server};

use crate::contender::{self, Contender};

/// Calls that are sent together.
const BATCH: usize = 16;

/// Connections, each with a batch on its way. On a single one the server falls
/// asleep after every batch, and most of what is measured is how dear it is on
/// this machine to wake it.
const CONNECTIONS: usize = 4;

/// Batches before the clock runs: what has just been filled is in no cache.
const WARM_UP: usize = 16 * CONNECTIONS;

/// A server to ask, a connection to it, and those that the calls go through.
pub(crate) struct Bench {
    pub(crate) server: Server,
    pub(crate) con: Resp,
    callers: [Resp; CONNECTIONS],
}

/// What stands on the server before a round, and what is called.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) script: &'static Script,
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) args: Vec<Vec<u8>>,
    /// The list that is filled with jobs, how many, and of how many bytes.
    pub(crate) fill: Option<(Vec<u8>, usize, usize)>,
    /// Jobs that stand in the private list of that one.
    pub(crate) private: usize,
    /// Behind each batch so many jobs are pushed as were taken, and the private
    /// list is cut to its length: both stay as long as they were.
    pub(crate) steady: bool,
}

impl Scene {
    /// A claim over `queues` queues, of which only the last holds jobs.
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

impl Scene {
    /// What brings the lists back to their lengths.
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
        contender::prepare(&mut con);
        let callers = std::array::from_fn(|_| server.connect());
        Self {
            server,
            con,
            callers,
        }
    }

    /// Sets the scene, calls about `calls` times, and returns the microseconds of the
    /// server's time for one.
    pub(crate) fn round(&mut self, scene: &Scene, contender: Contender, calls: usize) -> f64 {
        self.con.must("FLUSHALL");
        let identity =
            String::from_utf8_lossy(&scene.keys[scene.keys.len().min(2) - 1]).into_owned();
        if scene.keys.len() > 3 {
            self.con
                .call(&["HSET", &identity, "info", "{}", "beat", "1"]);
            self.con.call(&["SADD", "processes", &identity]);
        }
        let batches = calls.div_ceil(BATCH);
        let warm_up = WARM_UP.min(batches);
        if let Some((list, jobs, size)) = &scene.fill {
            let taken = if scene.steady {
                CONNECTIONS // What is on its way.
            } else {
                warm_up + batches
            };
            self.push(list, taken * BATCH + jobs, *size);
            let private = scene.keys.last().cloned().unwrap_or_default();
            self.push(&private, scene.private, *size);
        }
        let commands = contender.call(scene.script, &scene.keys, &scene.args);
        let mut wire = pack(&commands, BATCH);
        let mut replies = BATCH * commands.len();
        if scene.steady {
            let again = scene.again();
            wire.extend(pack(&again, 1));
            replies += again.len();
        }
        self.call(&wire, replies, contender, warm_up);
        let before = self.cpu();
        self.call(&wire, replies, contender, batches);
        (self.cpu() - before) * 1e6 / (batches * BATCH) as f64
    }

    /// Sends `batches` of them, the next on a connection when the last is answered.
    fn call(&mut self, wire: &[u8], replies: usize, contender: Contender, batches: usize) {
        for number in 0..batches + CONNECTIONS {
            let con = &mut self.callers[number % CONNECTIONS];
            if number >= CONNECTIONS {
                for _ in 0..replies {
                    let reply = con.read().expect("a reply");
                    assert!(
                        !matches!(reply, Reply::Error(_)),
                        "{}: {reply}",
                        contender.name()
                    );
                }
            }
            if number < batches {
                con.send_raw(wire).expect("a server");
            }
        }
    }

    /// Fills the scene's list with so many jobs more.
    pub(crate) fn refill(&mut self, scene: &Scene, jobs: usize) {
        if let Some((list, _, size)) = &scene.fill {
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

    /// Seconds that the server's main thread has run.
    pub(crate) fn cpu(&mut self) -> f64 {
        let info = self.con.say("INFO cpu");
        let info = String::from_utf8_lossy(info.bytes().unwrap_or_default()).into_owned();
        let field = |name: &str| -> f64 {
            let line = info
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|value| value.trim().parse().ok())
                .unwrap_or(0.0)
        };
        field("used_cpu_user_main_thread") + field("used_cpu_sys_main_thread")
    }
}

/// The bytes of `commands`, `times` over.
pub(crate) fn pack(commands: &[Vec<Vec<u8>>], times: usize) -> Vec<u8> {
    let one: Vec<u8> = commands
        .iter()
        .flat_map(|command| redis::pack_command(command))
        .collect();
    one.repeat(times)
}

/// The middle one.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
