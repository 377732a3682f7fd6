//! A full server with a library's jobs, and how full it stays.

use std::env;
use std::time::Duration;

use wurk_testkit::libraries::memory::{self, Pressure};
use wurk_testkit::libraries::programs::Program;
use wurk_testkit::libraries::stage::WORKER;
use wurk_testkit::libraries::{Library, Stage};
use wurk_testkit::{Binary, Options};

use crate::support::wait::wait_until;

/// How long a library may do nothing before it stands still: longer than Sidekiq takes
/// to retry, which adds up to ten seconds to any delay, and looks every few seconds.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The memory of [`MAXMEMORY`] that jobs may take at most, and how many there are at
/// least; in a full run they take all of it.
const ROOM: i64 = 1_000_000;
const JOBS: usize = 150;

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

/// Whether every job that the server can hold is enqueued, in place of a few hundred.
pub fn is_full_size() -> bool {
    env::var("WURK_LIBRARIES").is_ok_and(|size| size == "full")
}

/// A server without the module.
pub fn without(binary: &Binary) -> Options {
    Options::new(binary)
        .set("maxmemory", &[MAXMEMORY])
        .set("maxmemory-policy", &["noeviction"])
}

/// A server that rescues the workers.
pub fn with(binary: &Binary, library: &Library) -> Options {
    let limit = library.rescue_limit.to_string();
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
    let mut stage = Stage::new(library, options);
    let mut workers = Vec::new();
    if start == Start::Warm {
        stage.folder.close_gate();
        workers = stage.start_workers(variables);
        stage.produce(Some(20));
        wait_until("a worker holds a job", || !stage.folder.held().is_empty());
    }
    if is_full_size() {
        stage.produce(None);
    } else {
        memory::leave(&mut stage.con, ROOM);
        let mut producer = stage.start_producer(None);
        wait_until("the server has taken jobs", || {
            stage.folder.accepted().len() >= JOBS || producer.has_ended()
        });
        memory::fill(&mut stage.con);
        producer.wait();
    }
    let refused = stage.folder.refused();
    assert!(!refused.is_empty(), "the producer ended without an error");
    assert!(refusals(&mut stage) > 0, "the producer ended by {refused}");
    memory::fill(&mut stage.con); // Until the smallest key is refused.
    let pressure = keep_full(&mut stage, pressed);
    let refused = refusals(&mut stage);
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
pub fn refusals(stage: &mut Stage) -> u64 {
    let stats = stage.con.say("INFO errorstats").to_string();
    let count = stats.split("errorstat_OOM:count=").nth(1);
    let digits = count.map(|count| count.chars().take_while(char::is_ascii_digit));
    digits.map_or(0, |digits| {
        digits.collect::<String>().parse().expect("a number")
    })
}
