//! The time from the push to the last of a waiting worker's queues until the worker
//! has the job.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use wurk_testkit::{Binary, Options, Resp, Server};

use crate::tables;

/// Seconds that the alternative waits on its first queue before it polls the others,
/// as libraries do.
const POLL: &str = "2";

pub(crate) fn table(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let title = format!(
        "{}: from the push to the last queue to the worker, in milliseconds",
        binary.name
    );
    let mut table = tables::table(
        &title,
        &[
            "",
            "pushes",
            "10 queues p50",
            "p99",
            "100 queues p50",
            "p99",
        ],
    );
    for way in [Way::Bclaim, Way::Poll] {
        let mut row = vec![way.name().to_owned()];
        for queues in [10, 100] {
            // Slow engines run many pairs at once, each on its own queues.
            let mut waits: Vec<_> = thread::scope(|scope| {
                let pairs: Vec<_> = (0..way.pairs())
                    .map(|pair| {
                        let server = &server;
                        scope.spawn(move || pick_up(server, pair, queues, way))
                    })
                    .collect();
                let waits = pairs
                    .into_iter()
                    .flat_map(|pair| pair.join().expect("a pair"));
                waits.collect()
            });
            waits.sort_by(f64::total_cmp);
            let at = |part: f64| {
                waits
                    .get((waits.len() as f64 * part) as usize)
                    .copied()
                    .unwrap_or(f64::NAN)
            };
            if row.len() == 1 {
                row.push(waits.len().to_string());
            }
            row.extend([at(0.5), at(0.99)].map(|wait| format!("{wait:.2}")));
        }
        table.add_row(row);
    }
    println!("{table}");
}

/// How a worker waits.
#[derive(Clone, Copy)]
enum Way {
    Bclaim,
    Poll,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Bclaim => "WURK.BCLAIM",
            Self::Poll => "BLMOVE on the first, 2 s poll",
        }
    }

    /// Workers, each with a client that pushes.
    fn pairs(self) -> u64 {
        match self {
            Self::Bclaim => 1,
            Self::Poll => 25,
        }
    }

    fn pushes(self) -> usize {
        match self {
            Self::Bclaim => 200,
            Self::Poll => 8,
        }
    }

    /// The longest pause before a push, in milliseconds, so that pushes fall anywhere in
    /// a wait.
    fn pause(self) -> u64 {
        match self {
            Self::Bclaim => 12,
            Self::Poll => 2_000,
        }
    }

    /// Tries the queues of `pair` once; returns whether there was a job.
    fn claim(self, con: &mut Resp, pair: u64, queues: usize) -> bool {
        let queue = |queue: usize| format!("queue:{pair}:{queue} queue:{pair}:{queue}|mine");
        match self {
            Self::Bclaim => {
                let keys: Vec<_> = (0..queues).map(queue).collect();
                let keys = keys.join(" ");
                !con.must(&format!(
                    "WURK.BCLAIM processes host:1:f00 {keys} i 1 60 10"
                ))
                .is_nil()
            }
            Self::Poll => {
                let first = format!("BLMOVE {} RIGHT LEFT {POLL}", queue(0));
                let others = (1..queues).map(|other| format!("LMOVE {} RIGHT LEFT", queue(other)));
                std::iter::once(first)
                    .chain(others)
                    .any(|line| !con.must(&line).is_nil())
            }
        }
    }
}

/// Milliseconds from each push to the moment the worker has the job.
fn pick_up(server: &Server, pair: u64, queues: usize, way: Way) -> Vec<f64> {
    let (send, receive) = mpsc::channel();
    let mut worker = server.connect();
    let working = thread::spawn(move || {
        for _ in 0..way.pushes() {
            while !way.claim(&mut worker, pair, queues) {}
            let _ = send.send(Instant::now());
        }
    });
    let mut con = server.connect();
    let mut random = fastrand::Rng::with_seed(pair);
    let mut waits = Vec::new();
    for _ in 0..way.pushes() {
        thread::sleep(Duration::from_millis(random.u64(2..way.pause())));
        let pushed = Instant::now();
        con.must(&format!("LPUSH queue:{pair}:{} job", queues - 1));
        let taken = receive.recv().expect("a worker");
        waits.push(taken.saturating_duration_since(pushed).as_secs_f64() * 1e3);
    }
    working.join().expect("a worker");
    waits
}
