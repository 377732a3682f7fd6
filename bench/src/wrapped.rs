//! What a connection that rescues its commands costs: while nothing is refused, and on a
//! full server.

use std::time::Instant;

use redis::{Cmd, ConnectionLike, Pipeline};
use wurk_client::Rescuer;
use wurk_testkit::{Binary, Options};

use crate::cost::median;
use crate::{count, tables};

/// Calls in one turn; turns alternate.
const CALLS: usize = 500;
const TURNS: usize = 12;

enum Call {
    Command(Cmd),
    Pipeline(Pipeline),
}

impl Call {
    fn over(&self, con: &mut impl ConnectionLike) {
        match self {
            Self::Command(command) => command.exec(con).expect("a reply"),
            Self::Pipeline(pipeline) => pipeline.exec(con).expect("replies"),
        }
    }
}

fn calls() -> [(&'static str, Call); 4] {
    let mut several = redis::pipe();
    for number in 0..10 {
        several.set(format!("key-{number}"), "value");
    }
    let mut transaction = redis::pipe();
    transaction
        .atomic()
        .set("key", "value")
        .set("other", "value");
    [
        ("GET", Call::Command(redis::cmd("GET").arg("key").take())),
        (
            "SET",
            Call::Command(redis::cmd("SET").arg(&["key", "value"]).take()),
        ),
        ("10 SET in a pipeline", Call::Pipeline(several)),
        ("2 SET in MULTI", Call::Pipeline(transaction)),
    ]
}

/// Microseconds and allocations of a call.
fn measure(call: &Call, con: &mut impl ConnectionLike) -> (f64, f64) {
    let asked = count::allocations();
    let began = Instant::now();
    for _ in 0..CALLS {
        call.over(con);
    }
    let time = began.elapsed().as_secs_f64() * 1e6;
    let asks = (count::allocations() - asked) as f64;
    (time / CALLS as f64, asks / CALLS as f64)
}

pub(crate) fn table(binary: &Binary, rounds: usize) {
    let server = Options::new(binary).start();
    let mut operator = server.connect();
    let client = redis::Client::open(server.url()).expect("an address");
    let open = || client.get_connection().expect("a connection");
    let wrap = || Rescuer::with_limit(0).wrap(open());
    // One that has met a full server takes it for full for a second.
    let (mut plain, mut wrapped, mut refused) = (open(), wrap(), wrap());
    let calls = calls();
    // Three ways: as it is, wrapped, wrapped on a full server.
    let mut times = vec![[const { Vec::new() }; 3]; calls.len()];
    let mut asks = times.clone();
    for _ in 0..rounds * TURNS {
        for (at, (_, call)) in calls.iter().enumerate() {
            operator.must("CONFIG SET maxmemory 0");
            let room = [measure(call, &mut plain), measure(call, &mut wrapped)];
            operator.must("CONFIG SET maxmemory 1");
            let full = measure(call, &mut refused);
            for (way, (time, asked)) in room.into_iter().chain([full]).enumerate() {
                times[at][way].push(time);
                asks[at][way].push(asked);
            }
        }
    }
    let title = format!(
        "{}: a connection that rescues its commands, microseconds from call to reply, median \
         of {} turns of {CALLS} calls",
        binary.name,
        rounds * TURNS
    );
    let head: Vec<_> = [""]
        .into_iter()
        .chain(calls.iter().map(|(name, _)| *name))
        .collect();
    let mut table = tables::table(&title, &head);
    let mut row = |name: &str, cell: &mut dyn FnMut(usize) -> f64| {
        let cells = (0..calls.len()).map(|at| format!("{:.2}", cell(at)));
        table.add_row([name.to_owned()].into_iter().chain(cells));
    };
    let mut time = |at: usize, way: usize| median(&mut times[at][way]);
    row("as it is", &mut |at| time(at, 0));
    row("wrapped", &mut |at| time(at, 1));
    row("wrapped / as it is", &mut |at| time(at, 1) / time(at, 0));
    row("full, rescued", &mut |at| time(at, 2));
    row("full, rescued / as it is with room", &mut |at| {
        time(at, 2) / time(at, 0)
    });
    row("allocations as it is", &mut |at| median(&mut asks[at][0]));
    row("allocations wrapped", &mut |at| median(&mut asks[at][1]));
    println!("{table}");
}
