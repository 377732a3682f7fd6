//! The example worker, killed or stopped and started again.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use wurk_testkit::{Binary, Options, Resp};

use crate::support::example_worker::{
    JOBS, Worker, done, full_server, held, in_flight, jobs_by_jid,
};
use crate::support::wait::wait_until;

pub fn killed_loses_no_job(binary: &Binary) {
    let (server, mut con, pushed) = full_server(binary);
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("done");
    let mut some_failed = false;
    // It is killed with SIGKILL three times, with jobs in flight.
    for part in 1..=3 {
        let mut worker = Worker::start(&server, &file, &["--work", "1", "--fail-one-in", "20"]);
        wait_until("a part of the jobs is done", || {
            done(&file).len() > part * JOBS / 5
        });
        worker.0.kill().expect("a kill");
        worker.0.wait().expect("an end");
        let found: HashSet<_> = jobs_by_jid(&mut con)
            .into_iter()
            .chain(done(&file))
            .collect();
        assert_eq!(
            found, pushed,
            "after kill {part} every job is done or in a key"
        );
        some_failed |= con.say("ZCARD retry").integer() > Some(0);
    }
    // The last worker also finishes the jobs of the killed ones, and the retries.
    let mut worker = Worker::start(&server, &file, &[]);
    wait_until("all jobs are done", || jobs_by_jid(&mut con).is_empty());
    worker.terminate();
    let done = done(&file);
    // At least once: each kill repeats at most one job per thread.
    let twice = done.len() - pushed.len();
    assert!(twice <= 3 * 4, "{twice} jobs twice");
    assert_eq!(done.into_iter().collect::<HashSet<_>>(), pushed);
    assert!(some_failed);
}

pub fn stopped_requeues_its_jobs(binary: &Binary) {
    let (server, mut con, pushed) = full_server(binary);
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("done");
    let mut worker = Worker::start(&server, &file, &["--work", "60000"]);
    wait_until("each thread has a job", || in_flight(&mut con) == 4);
    // The jobs of a live worker are not requeued, however long they take.
    let mut other = Worker::start(&server, &file, &["--work", "60000", "--threads", "1"]);
    let both_are_known = |con: &mut Resp| con.say("SCARD processes").integer() == Some(2);
    wait_until("both are known", || both_are_known(&mut con));
    wait_until("each thread of both has a job", || in_flight(&mut con) == 5);
    let before = held(&mut con);
    thread::sleep(Duration::from_millis(6_500));
    assert!(both_are_known(&mut con), "both are known to be alive");
    assert_eq!(held(&mut con), before);
    assert!(done(&file).is_empty());
    let remaining_now = jobs_by_jid(&mut con).len();
    assert_eq!(remaining_now, JOBS);
    worker.terminate();
    other.terminate();
    assert_eq!(in_flight(&mut con), 0, "requeued");
    assert_eq!(
        jobs_by_jid(&mut con).into_iter().collect::<HashSet<_>>(),
        pushed
    );
    assert_eq!(
        con.say("EXISTS processes").integer(),
        Some(0),
        "and the process is gone"
    );
}

/// If a worker cannot requeue its jobs when it stops, the next one does.
pub fn stopped_without_permission_leaves_its_jobs_to_the_reaper(binary: &Binary) {
    let (server, mut con, pushed) = full_server(binary);
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("done");
    let mut worker = Worker::start(&server, &file, &["--work", "60000"]);
    wait_until("each thread has a job", || in_flight(&mut con) == 4);
    let permission = if binary.loads_modules() {
        "wurk.requeue"
    } else {
        "eval"
    };
    con.must(&format!("ACL SETUSER default -{permission}"));
    worker.terminate();
    assert_eq!(in_flight(&mut con), 4, "not requeued");
    con.must(&format!("ACL SETUSER default +{permission}"));
    let mut worker = Worker::start(&server, &file, &[]);
    wait_until("all is done", || done(&file).len() >= JOBS);
    worker.terminate();
    assert_eq!(done(&file).into_iter().collect::<HashSet<_>>(), pushed);
    assert_eq!(
        con.say("EXISTS processes").integer(),
        Some(0),
        "and the process is gone"
    );
}

/// A job that is not JSON is kept as it is, and a job without a queue is retried in the
/// queue that it came from.
pub fn keeps_unreadable_jobs(binary: &Binary) {
    let server = Options::new(binary).module_if_supported().start();
    let mut con = server.connect();
    con.call(&[
        "RPUSH",
        "queue:bu|lk",
        "not json",
        "[1,2]",
        r#"{"jid":"1"}"#,
    ]);
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("done");
    let mut worker = Worker::start(&server, &file, &["--fail-one-in", "1"]);
    wait_until("it has been retried", || {
        let retry = con.say("ZRANGE retry 0 -1").to_string();
        retry.contains(r#"\"retry_count\":2"#)
    });
    worker.terminate();
    let mut kept: Vec<_> = ["LRANGE queue:bu|lk 0 -1", "ZRANGE retry 0 -1"]
        .iter()
        .flat_map(|line| {
            let jobs = con.say(line);
            jobs.items()
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        })
        .collect();
    kept.sort();
    assert_eq!(kept.len(), 3, "{kept:?}");
    assert!(kept.contains(&r#""not json""#.to_owned()), "{kept:?}");
    assert!(kept.contains(&r#""[1,2]""#.to_owned()), "{kept:?}");
    assert!(done(&file).is_empty());
}
