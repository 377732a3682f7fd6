//! What the client costs beyond the same bytes sent with the `redis` crate alone.

use std::time::Instant;

use redis::Connection;
use wurk_client::{Heartbeat, Queue, Wurk};
use wurk_testkit::{Binary, Options};

use crate::cost::{Bench, Workload, median};
use crate::{count, tables};

/// Calls in one turn; turns alternate between the redis crate and the client.
const CALLS: usize = 250;
const TURNS: usize = 12;
const NAME: &str = "WURK.CLAIM";

pub(crate) fn table(binary: &Binary, rounds: usize) {
    let mut bench = Bench::start(&Options::new(binary).module());
    let client = redis::Client::open(bench.server.url()).expect("an address");
    let mut con = client.get_connection().expect("a connection");
    let title = format!(
        "{}: microseconds from call to job on one connection, median of {} rounds",
        binary.name,
        rounds * TURNS
    );
    let mut table = tables::table(&title, &["", "1 queue", "10 queues", "100 queues"]);
    let (mut hand, mut ours) = (Vec::new(), Vec::new());
    let (mut asked_by_hand, mut asked_by_us) = (Vec::new(), Vec::new());
    for queues in [1, 10, 100] {
        let workload = Workload::claim(queues, 0, 200);
        let (mut by_hand, mut by_client) = (Vec::new(), Vec::new());
        let (mut asks_by_hand, mut asks_by_client) = (Vec::new(), Vec::new());
        for _ in 0..rounds * TURNS {
            bench.refill(&workload, 2 * CALLS);
            let (time, asks) = measure(|| claim_by_hand(&mut con, &workload));
            by_hand.push(time);
            asks_by_hand.push(asks);
            let (time, asks) = by_the_client(&mut con, &workload);
            by_client.push(time);
            asks_by_client.push(asks);
        }
        hand.push(median(&mut by_hand));
        ours.push(median(&mut by_client));
        asked_by_hand.push(median(&mut asks_by_hand));
        asked_by_us.push(median(&mut asks_by_client));
    }
    let row = |name: &str, values: &[f64]| {
        [name.to_owned()]
            .into_iter()
            .chain(values.iter().map(|value| format!("{value:.2}")))
            .collect::<Vec<_>>()
    };
    table.add_row(row("by hand", &hand));
    table.add_row(row("by the client", &ours));
    let ratios: Vec<_> = ours
        .iter()
        .zip(&hand)
        .map(|(ours, hand)| ours / hand)
        .collect();
    table.add_row(row("client / by hand", &ratios));
    table.add_row(row("allocations by hand", &asked_by_hand));
    table.add_row(row("allocations by the client", &asked_by_us));
    println!("{table}");
}

/// Microseconds and allocations of one call.
fn measure(mut call: impl FnMut()) -> (f64, f64) {
    let asked = count::allocations();
    let began = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    let time = began.elapsed().as_secs_f64() * 1e6;
    let asks = (count::allocations() - asked) as f64;
    (time / CALLS as f64, asks / CALLS as f64)
}

fn claim_by_hand(con: &mut Connection, workload: &Workload) {
    // With a buffer of the final size, as the client allocates it.
    let args = || workload.keys.iter().chain(&workload.args);
    let bytes = args().map(Vec::len).sum::<usize>() + NAME.len();
    let mut command = redis::Cmd::with_capacity(args().count() + 1, bytes);
    command.arg(NAME);
    for arg in args() {
        command.arg(arg);
    }
    let claimed: Option<(usize, Vec<u8>)> = command.query(con).expect("a claim");
    assert!(claimed.is_some());
}

fn by_the_client(con: &mut Connection, workload: &Workload) -> (f64, f64) {
    let wurk = Wurk::new();
    let (pairs, _) = workload.keys[2..].as_chunks();
    let queues: Vec<_> = pairs
        .iter()
        .map(|[public, private]| Queue::new(public.clone(), private.clone()))
        .collect();
    let heartbeat = Heartbeat::new(&workload.keys[0], &workload.keys[1])
        .with_info(&workload.args[0])
        .with_beat(&workload.args[1]);
    measure(|| {
        let claimed = wurk.claim(con, &heartbeat, &queues).expect("a claim");
        assert!(claimed.is_some());
    })
}
