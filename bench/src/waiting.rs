//! What many waiting clients cost.

use std::thread;
use std::time::Duration;

use wurk_testkit::{Binary, Options, Resp};

use crate::cost::Bench;
use crate::pipeline::cpu;
use crate::tables;

/// Waiting clients, and the queues each of them waits on.
const WAITING: usize = 5_000;
const QUEUES: usize = 100;

/// Memory per waiting client, and the server's time for a push that wakes one.
pub(crate) fn table(binary: &Binary) {
    let title = format!("{}: {WAITING} waiting clients", binary.name);
    let mut table = tables::table(
        &title,
        &[
            "",
            "bytes per client",
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
        let mut bench = Bench::start(&Options::new(binary).module().set("maxclients", &["6000"]));
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
        while bench.con.info("clients", "blocked_clients") != WAITING as i64 {
            thread::sleep(Duration::from_millis(50));
        }
        let bytes = (memory(&mut bench.con) - before) / WAITING as f64;
        let mut cost = |queue: &dyn Fn(usize) -> String| {
            let pushes = 200;
            let before = cpu(&mut bench.con);
            for push in 0..pushes {
                bench.con.must(&format!("LPUSH {} job", queue(push)));
            }
            (cpu(&mut bench.con) - before) * 1e6 / pushes as f64
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
    con.info("memory", "used_memory") as f64
}

fn keys(queues: usize) -> String {
    (0..queues)
        .map(|queue| format!(" queue:{queue} queue:{queue}|mine"))
        .collect()
}
