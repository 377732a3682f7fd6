//! A full server with a library's jobs, and how full it stays.

use std::env;
use std::time::Duration;

use wurk_testkit::libraries::memory::{self, Pressure};
use wurk_testkit::libraries::programs::Program;
use wurk_testkit::libraries::stage::WORKER;
use wurk_testkit::libraries::{Account, Library, Stage};
use wurk_testkit::{Binary, Options, Resp};

use crate::support::wait::wait_until;

/// How long a library may do nothing before it stands still: longer than Sidekiq takes
/// to retry, which adds up to ten seconds to any delay, and looks every few seconds.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The memory of [`MAXMEMORY`] that jobs may take.
const ROOM: i64 = 1_000_000;

/// The server's limit. Clients' buffers must be small beside it, and beside the part of
/// it that is the rescue limit.
const MAXMEMORY: &str = "48mb";

/// How the workers find the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// They start when it is full.
    Cold,
    /// They have started before, and hold their first jobs until it is full.
    Warm,
}

/// Whether another client takes what gets free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    Yes,
    No,
}

/// A full server and running workers. They end in this order.
pub struct Scene {
    pub workers: Vec<Program>,
    _pressure: Option<Pressure>,
    pub stage: Stage,
    /// How often the server had refused a command before the workers could go on.
    pub refused: u64,
}

/// Whether thousands of jobs are enqueued, in all of the server's memory.
pub fn is_full_size() -> bool {
    env::var("WURK_LIBRARIES").is_ok_and(|size| size == "full")
}

/// A server without the module.
pub fn without(binary: &Binary) -> Options {
    Options::new(binary)
        .set("maxmemory", &[MAXMEMORY])
        .set("maxmemory-policy", &["noeviction"])
}

/// A server that rescues the workers: up to the limit that the library needs, or, where
/// that is measured, without one.
pub fn with(binary: &Binary, library: &Library) -> Options {
    let limit = if is_full_size() {
        0
    } else {
        library.rescue_limit
    };
    let limit = limit.to_string();
    without(binary).module_with(&["rescue-users", WORKER, "rescue-limit", &limit])
}

/// Starts a server, fills it with jobs until the producer is refused, and starts the
/// workers, before or after that. It stays full.
pub fn full(
    library: &'static Library,
    options: Options,
    start: Start,
    pressed: Pressed,
    variables: &[(&str, &str)],
) -> Scene {
    fill(Stage::new(library, options), start, pressed, variables)
}

/// As [`full`], on a stage that is set.
pub fn fill(mut stage: Stage, start: Start, pressed: Pressed, variables: &[(&str, &str)]) -> Scene {
    let mut workers = Vec::new();
    if start == Start::Warm {
        stage.folder.close_gate();
        workers = stage.start_workers(variables);
        stage.produce(Some(20));
        wait_until("a worker holds a job", || !stage.folder.held().is_empty());
    }
    let mut jobs = 5_000;
    if !is_full_size() {
        memory::leave(&mut stage.con, ROOM);
        jobs = 150;
    }
    let mut producer = stage.start_producer(None);
    wait_until("the server has taken jobs", || {
        stage.folder.accepted().len() >= jobs || producer.has_ended()
    });
    memory::fill(&mut stage.con);
    producer.wait();
    let refused = stage.folder.refused();
    assert!(!refused.is_empty(), "the producer ended without an error");
    assert!(
        refusals(&mut stage.con) > 0,
        "the producer ended by {refused}"
    );
    memory::fill(&mut stage.con); // Until the smallest key is refused.
    let pressure = keep_full(&mut stage, pressed);
    let refused = refusals(&mut stage.con);
    if start == Start::Warm {
        stage.folder.open_gate();
    } else {
        workers = stage.start_workers(variables);
    }
    Scene {
        workers,
        _pressure: pressure,
        stage,
        refused,
    }
}

/// Keeps the server full although jobs are done: by a lower limit, or by another client
/// that takes every byte that gets free.
fn keep_full(stage: &mut Stage, pressed: Pressed) -> Option<Pressure> {
    if pressed == Pressed::Yes {
        return Some(Pressure::start(stage.as_producer()));
    }
    if !is_full_size() {
        memory::hold_full(&mut stage.con, ROOM + ROOM / 2);
    }
    None
}

/// How often the server has refused a command because it is full.
pub fn refusals(con: &mut Resp) -> u64 {
    let stats = con.say("INFO errorstats").to_string();
    let count = stats.split("errorstat_OOM:count=").nth(1);
    let digits = count.map(|count| count.chars().take_while(char::is_ascii_digit));
    digits.map_or(0, |digits| {
        digits.collect::<String>().parse().expect("a number")
    })
}

/// Prints a row of what is measured in a full run, from which docs/libraries.md is made.
/// In others the limit is lowered, and how far it is passed says nothing.
pub fn report(stage: &mut Stage, how: &str, account: &Account) {
    if !is_full_size() {
        return;
    }
    let counters = stage.con.say("INFO wurk").to_string();
    let peak = counters.split("wurk_bytes_past_maxmemory_peak:").nth(1);
    let peak = peak.and_then(|rest| rest.split('\\').next()).unwrap_or("");
    let server = &stage.servers[0].binary;
    println!(
        "measured {} {server} {how} accepted {} done {} lost {} left {} twice {} past {peak}",
        stage.library.name,
        account.accepted,
        account.done,
        account.lost,
        account.left,
        account.twice,
    );
}
