//! Empty jobs per second of one worker on one connection: a job in two round trips, in
//! one, and ten at a time; beside the workers of queue libraries.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use redis::Connection;
use wurk_client::{Claimed, Heartbeat, Queue, Wurk};
use wurk_testkit::libraries::{Library, Stage};
use wurk_testkit::{Binary, Options};

use crate::cost::median;
use crate::tables::table;

/// Jobs in one measurement.
const JOBS: usize = 10_000;

/// How a worker makes its round trips.
#[derive(Clone, Copy)]
enum Way {
    Two,
    One,
    Ten,
}

const WAYS: [(&str, Way); 3] = [
    ("claim, acknowledge", Way::Two),
    ("acknowledge_and_claim", Way::One),
    ("acknowledge_and_claim, 10 at a time", Way::Ten),
];

const LIBRARIES: [&str; 2] = ["bullmq", "rusty-sidekiq"];

/// Measures each way in each round, and prints the medians.
pub(crate) fn table_of_rates(binary: &Binary, rounds: usize) {
    let mut rates = vec![Vec::new(); WAYS.len() + LIBRARIES.len()];
    for _ in 0..rounds {
        for (at, (_, way)) in WAYS.iter().enumerate() {
            rates[at].push(own(binary, *way));
        }
        for (at, name) in LIBRARIES.iter().enumerate() {
            let library = Library::by_name(name).filter(|library| library.is_installed());
            rates[WAYS.len() + at].extend(library.map(|library| of_library(binary, library)));
        }
    }
    let title = format!(
        "{}: empty jobs per second of one worker on one connection, one at a time where not \
         said otherwise, median of {rounds} rounds of {JOBS}",
        binary.name
    );
    let mut table = table(&title, &["", "jobs/s", "to the first"]);
    let names = WAYS.iter().map(|(name, _)| *name).chain(LIBRARIES);
    let medians: Vec<_> = rates.iter_mut().map(|rates| median(rates)).collect();
    for (name, rate) in names.zip(&medians) {
        table.add_row([
            name.to_owned(),
            format!("{rate:.0}"),
            format!("{:.2}", rate / medians[0]),
        ]);
    }
    println!("{table}");
}

/// The rate of a worker by the client, which notes each job in a file as the libraries'
/// jobs do.
fn own(binary: &Binary, way: Way) -> f64 {
    let server = Options::new(binary).module().port().start();
    let client =
        redis::Client::open(format!("redis://127.0.0.1:{}/", server.port)).expect("an address");
    let mut con = client.get_connection().expect("a connection");
    let job = "j".repeat(500);
    for number in 0..JOBS {
        let push = redis::cmd("LPUSH")
            .arg("q")
            .arg(format!("{number}{job}"))
            .take();
        push.exec(&mut con).expect("a push");
    }
    let mut done = tempfile();
    let began = Instant::now();
    let count = work(&mut con, way, &mut done);
    assert_eq!(count, JOBS);
    JOBS as f64 / began.elapsed().as_secs_f64()
}

fn tempfile() -> File {
    let path = std::env::temp_dir().join(format!("wurk-bench-{}", std::process::id()));
    let file = File::create(&path).expect("a file");
    std::fs::remove_file(path).expect("the file");
    file
}

/// Works until the queue is empty.
fn work(con: &mut Connection, way: Way, done: &mut File) -> usize {
    let wurk = Wurk::new();
    let queues = [Queue::new("q", "q|host|1|f00|0")];
    let heartbeat = Heartbeat::new(b"processes", b"host:1:f00");
    let mut count = 0;
    let mut run = |job: &Claimed<'_>| {
        count += 1;
        let line = [&job.job[..8], b"\n"].concat();
        done.write_all(&line).expect("a line");
    };
    if let Way::Two = way {
        while let Some(job) = wurk.claim(con, &heartbeat, &queues).expect("a claim") {
            run(&job);
            wurk.acknowledge(con, &job).expect("an acknowledgement");
        }
        return count;
    }
    let together = if let Way::Ten = way { 10 } else { 1 };
    let mut jobs = Vec::new();
    loop {
        let turn = wurk.acknowledge_and_claim(con, &jobs, &heartbeat, &queues, together);
        jobs = turn.expect("a turn").claimed;
        if jobs.is_empty() {
            return count;
        }
        jobs.iter().for_each(&mut run);
    }
}

/// The rate of a library's worker, from its first job on.
fn of_library(binary: &Binary, library: &'static Library) -> f64 {
    let mut stage = Stage::new(library, Options::new(binary));
    stage.produce(Some(JOBS));
    let _workers = stage.start_workers(&[("CONCURRENCY", "1")]);
    let patience = Duration::from_secs(60);
    assert!(stage.wait_until_done(1, patience, |_| ()), "no job done");
    let (began, first) = (Instant::now(), stage.folder.done().len());
    // A twentieth fails at its first run, and waits.
    let most = JOBS - JOBS / 10;
    assert!(stage.wait_until_done(most, patience, |_| ()), "jobs left");
    (stage.folder.done().len() - first) as f64 / began.elapsed().as_secs_f64()
}
