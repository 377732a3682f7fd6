//! A server that is killed while clients wait.

use std::thread;
use std::time::{Duration, Instant};

use wurk_testkit::{Binary, Options};

/// The server is killed eight times while jobs arrive: each job is in one list.
pub fn leave_each_job_in_one_list(binary: &Binary) {
    let options = Options::new(binary)
        .module()
        .set("appendonly", &["yes"])
        .set("appendfsync", &["always"]);
    let mut server = options.start();
    let mut pushed = 0;
    for round in 0..8 {
        let workers: Vec<_> = (0..4)
            .map(|number| {
                let mut con = server.connect();
                thread::spawn(move || {
                    let line = format!("WURK.BCLAIM ps id{number} q0 p0 q p{number} i 1 60 0");
                    let words: Vec<_> = line.split(' ').collect();
                    while con
                        .try_call(&words)
                        .is_ok_and(|reply| !reply.items().is_empty())
                    {}
                })
            })
            .collect();
        let mut con = server.connect();
        let until = Instant::now() + Duration::from_millis(20 + 7 * round);
        while Instant::now() < until {
            con.must(&format!("LPUSH q job-{pushed}"));
            pushed += 1;
        }
        let stopped = server.kill();
        workers
            .into_iter()
            .for_each(|worker| worker.join().expect("a worker"));
        server = options.start_over(stopped);
    }
    let mut con = server.connect();
    let mut jobs: Vec<String> = Vec::new();
    for list in ["q", "p0", "p1", "p2", "p3"] {
        jobs.extend(
            con.say(&format!("LRANGE {list} 0 -1"))
                .items()
                .iter()
                .map(ToString::to_string),
        );
    }
    jobs.sort();
    let mut expected: Vec<_> = (0..pushed).map(|job| format!("\"job-{job}\"")).collect();
    expected.sort();
    assert_eq!(jobs, expected, "every job that was acknowledged, once");
}
