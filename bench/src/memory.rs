//! A full server while a worker tries to drain it: by module, by script, and by plain
//! commands, which are refused.

use std::time::Instant;

use redis::Connection;
use wurk_client::{Heartbeat, Queue, Wurk};
use wurk_testkit::{Binary, Options, Server, jobs};

/// A way to drain, and the MiB in use by seconds.
pub(crate) type Curve = (&'static str, Vec<(f64, f64)>);

/// Calls between two samples.
const CALLS: usize = 500;

pub(crate) fn curves(binary: &Binary) -> Vec<Curve> {
    let plain = Options::new(binary)
        .set("maxmemory", &["64mb"])
        .set("maxmemory-policy", &["noeviction"]);
    let mut drains = [
        Drain::start("by module", &plain.clone().module()),
        Drain::start("by script", &plain),
    ];
    // In turn, so that whatever else this machine does slows all of them.
    while drains.iter().any(|drain| !drain.empty) {
        for drain in drains.iter_mut().filter(|drain| !drain.empty) {
            drain.run(claim);
        }
    }
    let mut refused = Drain::start("by LMOVE", &plain);
    let longest = drains.iter().map(|drain| drain.seconds);
    let longest = longest.fold(0.0, f64::max);
    while refused.seconds < longest {
        refused.run(lmove);
    }
    let all = drains.into_iter().chain([refused]);
    all.map(Drain::curve).collect()
}

/// A server that was full, and a worker that drains it.
struct Drain {
    name: &'static str,
    con: Connection,
    wurk: Wurk,
    /// While the worker ran.
    seconds: f64,
    samples: Vec<(f64, f64)>,
    empty: bool,
    _server: Server,
}

impl Drain {
    /// Starts a server and fills it until it refuses another job.
    fn start(name: &'static str, options: &Options) -> Self {
        let server = options.start();
        let client = redis::Client::open(server.url()).expect("an address");
        let mut con = client.get_connection().expect("a connection");
        let mut random = fastrand::Rng::with_seed(1);
        for batch in [50, 1] {
            loop {
                let jobs: Vec<_> = (0..batch)
                    .map(|_| jobs::job(&mut random, "queue:mail"))
                    .collect();
                let push = redis::cmd("LPUSH").arg("queue:mail").arg(jobs).take();
                if push.exec(&mut con).is_err() {
                    break;
                }
            }
        }
        Self {
            name,
            samples: vec![(0.0, used(&mut con))],
            con,
            wurk: Wurk::new(),
            seconds: 0.0,
            empty: false,
            _server: server,
        }
    }

    /// Makes [`CALLS`] calls, or fewer if the queue is empty then, and takes a sample.
    fn run(&mut self, call: fn(&Wurk, &mut Connection) -> bool) {
        let began = Instant::now();
        self.empty = !(0..CALLS).all(|_| call(&self.wurk, &mut self.con));
        self.seconds += began.elapsed().as_secs_f64();
        self.samples.push((self.seconds, used(&mut self.con)));
    }

    fn curve(self) -> Curve {
        let (seconds, mib) = self.samples[self.samples.len() - 1];
        println!("{}: {mib:.1} MiB in use after {seconds:.1} s", self.name);
        (self.name, self.samples)
    }
}

/// Does one job. `false` if there is none.
fn claim(wurk: &Wurk, con: &mut Connection) -> bool {
    let queues = [Queue::new("queue:mail", "queue:mail|mine")];
    let heartbeat = Heartbeat::new(b"processes", b"id").with_beat(b"1");
    let claimed = wurk.claim(con, &heartbeat, &queues).expect("a claim");
    let Some(claimed) = claimed else {
        return false;
    };
    wurk.acknowledge(con, &claimed).expect("an acknowledgement");
    true
}

/// Tries to claim one job by `LMOVE`.
fn lmove(_: &Wurk, con: &mut Connection) -> bool {
    let moved = redis::cmd("LMOVE")
        .arg(&["queue:mail", "queue:mail|mine", "RIGHT", "LEFT"])
        .exec(con);
    moved.expect_err("an OOM error");
    true
}

/// The server's `used_memory`, in MiB.
fn used(con: &mut Connection) -> f64 {
    let info: String = redis::cmd("INFO")
        .arg("memory")
        .query(con)
        .unwrap_or_default();
    let used = info
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    used.and_then(|used| used.trim().parse::<f64>().ok())
        .unwrap_or(f64::NAN)
        / f64::from(1 << 20)
}
