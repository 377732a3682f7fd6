//! A full server while workers try to drain it: by module, by script, not at all.

use std::time::{Duration, Instant};

use wurk_client::{Heartbeat, Queue, Wurk};
use wurk_testkit::{Binary, Options, jobs};

/// A way to drain, and MiB in use by seconds.
pub(crate) type Curve = (&'static str, Vec<(f64, f64)>);

const MAXMEMORY_MIB: f64 = 64.0;
const LONGEST: Duration = Duration::from_secs(8);

pub(crate) fn curves(binary: &Binary) -> Vec<Curve> {
    let plain = Options::new(binary)
        .set("maxmemory", &["64mb"])
        .set("maxmemory-policy", &["noeviction"]);
    vec![
        ("by module", drain(&plain.clone().module(), true)),
        ("by script", drain(&plain, true)),
        ("by LMOVE", drain(&plain, false)),
    ]
}

fn drain(options: &Options, rescued: bool) -> Vec<(f64, f64)> {
    let server = options.start();
    let client = redis::Client::open(server.url()).expect("an address");
    let mut con = client.get_connection().expect("a connection");
    let mut random = fastrand::Rng::with_seed(1);
    for batch in [50, 1] {
        loop {
            let jobs: Vec<_> = (0..batch)
                .map(|_| jobs::job(&mut random, "queue:mail"))
                .collect();
            if redis::cmd("LPUSH")
                .arg("queue:mail")
                .arg(jobs)
                .exec(&mut con)
                .is_err()
            {
                break;
            }
        }
    }
    let queues = [Queue::new("queue:mail", "queue:mail|mine")];
    let heartbeat = Heartbeat::new(b"processes", b"id").with_beat(b"1");
    let wurk = Wurk::new();
    let mut curve = Vec::new();
    let began = Instant::now();
    for call in 0.. {
        if call % 500 == 0 {
            curve.push((began.elapsed().as_secs_f64(), used(&mut con)));
        }
        if !rescued {
            let refused = redis::cmd("LMOVE")
                .arg(&["queue:mail", "queue:mail|mine", "RIGHT", "LEFT"])
                .exec(&mut con);
            if refused.is_ok() || began.elapsed() > LONGEST / 2 {
                break;
            }
            continue;
        }
        let Some(claimed) = wurk.claim(&mut con, &heartbeat, &queues).expect("a claim") else {
            break;
        };
        wurk.acknowledge(&mut con, &claimed)
            .expect("an acknowledgement");
        if began.elapsed() > LONGEST {
            break;
        }
    }
    curve.push((began.elapsed().as_secs_f64(), used(&mut con)));
    let (seconds, mib) = curve[curve.len() - 1];
    println!(
        "{}: {:.1} of {MAXMEMORY_MIB} MiB in use after {seconds:.1} s",
        if rescued { "drained" } else { "refused" },
        mib
    );
    curve
}

fn used(con: &mut redis::Connection) -> f64 {
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
