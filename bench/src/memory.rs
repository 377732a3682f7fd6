//! A full server while a worker tries to drain it: by module, by script, and by plain
//! commands, which are refused.

use std::time::{Duration, Instant};

use redis::Connection;
use wurk_client::{Heartbeat, Queue, Wurk};
use wurk_testkit::{Binary, Options, Server, jobs};

/// A way to drain, and the MiB in use by seconds.
pub(crate) type Curve = (&'static str, Vec<(f64, f64)>);

const MAXMEMORY_MIB: f64 = 64.0;
/// No engine is followed for longer.
const LONGEST: Duration = Duration::from_secs(8);
/// Calls between two samples.
const CALLS: usize = 500;

pub(crate) fn curves(binary: &Binary) -> Vec<Curve> {
    let plain = Options::new(binary)
        .set("maxmemory", &["64mb"])
        .set("maxmemory-policy", &["noeviction"]);
    let mut curves = vec![
        ("by module", drain(&plain.clone().module())),
        ("by script", drain(&plain)),
    ];
    // For as long as the others, to the plot's right edge.
    let ends = curves.iter().filter_map(|(_, curve)| curve.last());
    let longest = ends.map(|(seconds, _)| *seconds).fold(0.0, f64::max);
    curves.push((
        "by LMOVE",
        refused(&plain, Duration::from_secs_f64(longest)),
    ));
    curves
}

/// Drains a full server by the client.
fn drain(options: &Options) -> Vec<(f64, f64)> {
    let (_server, mut con) = full(options);
    let queues = [Queue::new("queue:mail", "queue:mail|mine")];
    let heartbeat = Heartbeat::new(b"processes", b"id").with_beat(b"1");
    let wurk = Wurk::new();
    let curve = sample(&mut con, LONGEST, |con| {
        let claimed = wurk.claim(con, &heartbeat, &queues).expect("a claim");
        let Some(claimed) = claimed else {
            return false;
        };
        wurk.acknowledge(con, &claimed).expect("an acknowledgement");
        true
    });
    report("drained", &curve);
    curve
}

/// Tries to drain a full server by plain commands, for as long as `duration`.
fn refused(options: &Options, duration: Duration) -> Vec<(f64, f64)> {
    let (_server, mut con) = full(options);
    let mut refusals = 0;
    let curve = sample(&mut con, duration, |con| {
        let moved = redis::cmd("LMOVE")
            .arg(&["queue:mail", "queue:mail|mine", "RIGHT", "LEFT"])
            .exec(con);
        refusals += usize::from(moved.is_err());
        true
    });
    report(&format!("refused {refusals} times"), &curve);
    curve
}

/// A server that is filled with jobs until it refuses one more.
fn full(options: &Options) -> (Server, Connection) {
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
    (server, con)
}

/// The memory in use while `call` is repeated until it returns `false` or `duration`
/// is over.
fn sample(
    con: &mut Connection,
    duration: Duration,
    mut call: impl FnMut(&mut Connection) -> bool,
) -> Vec<(f64, f64)> {
    let mut curve = Vec::new();
    let began = Instant::now();
    for calls in 0.. {
        if calls % CALLS == 0 {
            curve.push((began.elapsed().as_secs_f64(), used(con)));
        }
        if !call(con) || began.elapsed() >= duration {
            break;
        }
    }
    curve.push((began.elapsed().as_secs_f64(), used(con)));
    curve
}

fn report(outcome: &str, curve: &[(f64, f64)]) {
    if let Some((seconds, mib)) = curve.last() {
        println!("{outcome}: {mib:.1} of {MAXMEMORY_MIB} MiB in use after {seconds:.1} s");
    }
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
