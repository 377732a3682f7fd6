//! Jobs whose retry is due, promoted by the example worker on a full server.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use wurk_testkit::{Binary, Options, Resp};

use crate::support::example_worker::{Worker, done, jobs_by_jid};
use crate::support::inspect::members;
use crate::support::wait::wait_until;

const JOBS: usize = 10_000;

/// What the memory of the server at a standstill holds.
const RETRIES: usize = 3_000;

const POLLERS: usize = 3;

pub fn by_module(binary: &Binary) {
    several_pollers(&Options::new(binary).module(), 0);
    several_pollers(&Options::new(binary).module(), 4);
    ends_a_standstill(&Options::new(binary).module());
}

pub fn by_script(binary: &Binary) {
    several_pollers(&Options::new(binary), 0);
    several_pollers(&Options::new(binary), 4);
    ends_a_standstill(&Options::new(binary));
}

/// Adds jobs that are due to `retry`, and fills the server.
fn fill(con: &mut Resp, queue: &str, jobs: usize) -> HashSet<Vec<u8>> {
    let jobs: Vec<_> = (0..jobs)
        .map(|number| format!(r#"{{"jid":"{number}","queue":"{queue}"}}"#))
        .collect();
    for batch in jobs.chunks(500) {
        let mut zadd = vec!["ZADD", "retry"];
        zadd.extend(batch.iter().flat_map(|job| ["1", job]));
        con.call(&zadd);
    }
    con.must("CONFIG SET maxmemory 1");
    jobs.into_iter().map(String::into_bytes).collect()
}

/// Several pollers promote each job once, however often one of them is killed.
fn several_pollers(options: &Options, kills: usize) {
    let server = options.start();
    let mut con = server.connect();
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("done");
    let poller = || Worker::start_on(&server, &file, &["idle"], &["--threads", "1"]);
    let mut pollers: Vec<_> = (0..POLLERS).map(|_| poller()).collect();
    wait_until("all of them run", || {
        con.say("SCARD processes").integer() == Some(POLLERS as i64)
    });
    let jobs = fill(&mut con, "mail", JOBS);
    let mut in_the_middle = 0;
    for kill in 1..=kills {
        // In the first half: this thread may have to wait for a loaded machine.
        let most = (JOBS - kill * JOBS / (2 * kills)) as i64;
        wait_until("some are promoted", || {
            con.say("ZCARD retry").integer() < Some(most)
        });
        thread::sleep(Duration::from_micros(fastrand::u64(..5_000)));
        // Dropping one kills it.
        pollers.remove(0);
        // In this order: a job that moves in between is in both.
        let mut found = members(&mut con, "ZRANGE retry 0 -1");
        in_the_middle += usize::from(!found.is_empty());
        found.extend(members(&mut con, "LRANGE queue:mail 0 -1"));
        let found: HashSet<_> = found.into_iter().collect();
        assert!(found == jobs, "kill {kill}: {} jobs", found.len());
        pollers.push(poller());
    }
    assert!(in_the_middle > 0 || kills == 0, "each kill came too late");
    wait_until("all are promoted", || {
        con.say("EXISTS retry").integer() == Some(0)
    });
    drop(pollers);
    let promoted = members(&mut con, "LRANGE queue:mail 0 -1");
    assert_eq!(promoted.len(), JOBS, "each once");
    let promoted: HashSet<_> = promoted.into_iter().collect();
    assert!(promoted == jobs, "the very jobs that were added");
}

/// A server whose memory is all due retries drains to nothing.
fn ends_a_standstill(options: &Options) {
    let server = options.start();
    let mut con = server.connect();
    fill(&mut con, "mail", RETRIES);
    let refused = con.say("LPUSH queue:mail job");
    assert!(refused.error().is_some_and(|error| error.contains("OOM ")));
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("done");
    let mut worker = Worker::start(&server, &file, &[]);
    wait_until("all is done", || done(&file).len() >= RETRIES);
    worker.terminate();
    let done = done(&file);
    assert_eq!(done.len(), RETRIES, "each once");
    assert_eq!(done.into_iter().collect::<HashSet<_>>().len(), RETRIES);
    assert_eq!(jobs_by_jid(&mut con), [] as [String; 0]);
}
