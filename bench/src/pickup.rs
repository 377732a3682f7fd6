//! How soon a waiting worker has a job that was pushed to the last of its
//! queues, and what many waiting workers cost.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use wurk_testkit::{Binary, Options, Resp, Server};

use crate::tables;

/// What the best library does today: waits on its first queue, and looks at the
/// others when that wait runs out.
const POLL: &str = "2";

/// Waiting clients, and the queues that each waits on.
const WAITING: usize = 5_000;
const QUEUES: usize = 100;

pub(crate) fn table(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let title = format!(
        "{}: from the push to the last queue to the worker, in milliseconds",
        binary.name
    );
    let mut table = tables::table(
        &title,
        &["", "10 queues p50", "p99", "100 queues p50", "p99"],
    );
    for (name, pushes, claim) in [
        ("WURK.BCLAIM", 200, bclaim as fn(&mut Resp, usize) -> bool),
        ("BLMOVE on the first, 2 s poll", 6, blmove_and_poll),
    ] {
        let mut row = vec![name.to_owned()];
        for queues in [10, 100] {
            let mut waits = pick_up(&server, queues, pushes, claim);
            waits.sort_by(f64::total_cmp);
            let at = |part: f64| {
                waits
                    .get((waits.len() as f64 * part) as usize)
                    .copied()
                    .unwrap_or(f64::NAN)
            };
            row.extend([at(0.5), at(0.99)].map(|wait| format!("{wait:.2}")));
        }
        table.add_row(row);
    }
    println!("{table}");
    many_waiting(binary);
}

/// Milliseconds from each push to the moment the worker has the job.
fn pick_up(
    server: &Server,
    queues: usize,
    pushes: usize,
    claim: fn(&mut Resp, usize) -> bool,
) -> Vec<f64> {
    let (send, receive) = mpsc::channel();
    let mut worker = server.connect();
    let working = thread::spawn(move || {
        for _ in 0..pushes {
            while !claim(&mut worker, queues) {}
            let _ = send.send(Instant::now());
        }
    });
    let mut con = server.connect();
    let mut random = fastrand::Rng::with_seed(5);
    let mut waits = Vec::new();
    for _ in 0..pushes {
        // At any moment of the worker's wait.
        thread::sleep(Duration::from_millis(
            random.u64(2..if pushes > 50 { 12 } else { 2_000 }),
        ));
        let pushed = Instant::now();
        con.must(&format!("LPUSH queue:{} job", queues - 1));
        let taken = receive.recv().expect("a worker");
        waits.push(taken.saturating_duration_since(pushed).as_secs_f64() * 1e3);
    }
    working.join().expect("a worker");
    waits
}

fn keys(queues: usize) -> String {
    (0..queues)
        .map(|queue| format!(" queue:{queue} queue:{queue}|mine"))
        .collect()
}

fn bclaim(con: &mut Resp, queues: usize) -> bool {
    !con.must(&format!(
        "WURK.BCLAIM processes host:1:f00{} i 1 60 10",
        keys(queues)
    ))
    .is_nil()
}

fn blmove_and_poll(con: &mut Resp, queues: usize) -> bool {
    if !con
        .must(&format!("BLMOVE queue:0 queue:0|mine RIGHT LEFT {POLL}"))
        .is_nil()
    {
        return true;
    }
    (1..queues).any(|queue| {
        !con.must(&format!(
            "LMOVE queue:{queue} queue:{queue}|mine RIGHT LEFT"
        ))
        .is_nil()
    })
}

/// Memory per waiting client, and the server's time for a push that wakes one.
fn many_waiting(binary: &Binary) {
    let title = format!("{}: {WAITING} waiting clients", binary.name);
    let mut table = tables::table(
        &title,
        &[
            "",
            "bytes a client",
            "push that wakes one (us)",
            "push that wakes none (us)",
        ],
    );
    for (name, shared, native) in [
        ("WURK.BCLAIM, 100 queues each, one of its own", false, false),
        ("WURK.BCLAIM, all on the same 100 queues", true, false),
        ("BLMOVE, one queue each", false, true),
        ("BLMOVE, all on the same queue", true, true),
    ] {
        let mut bench =
            crate::cost::Bench::start(&Options::new(binary).module().set("maxclients", &["6000"]));
        let before = memory(&mut bench.con);
        let waiting: Vec<_> = (0..WAITING)
            .map(|client| {
                let mut con = bench.server.connect();
                let own = if shared {
                    "q".to_owned()
                } else {
                    format!("q{client}")
                };
                let command = if native {
                    format!("BLMOVE {own} {own}|mine RIGHT LEFT 0")
                } else {
                    format!(
                        "WURK.BCLAIM processes host:1:f00 {own} {own}|mine{} i 1 60 0",
                        keys(QUEUES - 1)
                    )
                };
                con.send(&command.split(' ').collect::<Vec<_>>())
                    .expect("a server");
                con
            })
            .collect();
        while bench
            .con
            .say("INFO clients")
            .to_string()
            .split_once("blocked_clients:")
            .is_none_or(|(_, rest)| !rest.starts_with("5000"))
        {
            thread::sleep(Duration::from_millis(50));
        }
        let bytes = (memory(&mut bench.con) - before) / WAITING as f64;
        let mut cost = |queue: &dyn Fn(usize) -> String| {
            let pushes = 200;
            let before = bench.cpu();
            for push in 0..pushes {
                bench.con.must(&format!("LPUSH {} job", queue(push)));
            }
            (bench.cpu() - before) * 1e6 / pushes as f64
        };
        let none = cost(&|_| "nobody-waits".to_owned());
        let one = cost(&|push| {
            if shared {
                "q".to_owned()
            } else {
                format!("q{push}")
            }
        });
        table.add_row([
            name.to_owned(),
            format!("{bytes:.0}"),
            format!("{one:.1}"),
            format!("{none:.1}"),
        ]);
        drop(waiting);
    }
    println!("{table}");
}

fn memory(con: &mut Resp) -> f64 {
    let info = con.say("INFO memory").to_string();
    let used = info
        .split_once("used_memory:")
        .and_then(|(_, rest)| rest.split("\\r").next()?.parse().ok());
    used.unwrap_or(f64::NAN)
}
