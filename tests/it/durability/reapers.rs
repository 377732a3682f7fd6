//! Two processes that requeue the same jobs at once.

use std::collections::HashSet;
use std::thread;

use redis::Client;
use wurk_client::{Claimed, Queue, Wurk};
use wurk_testkit::{Binary, Options};

use super::kills::job;
use crate::support::inspect::members;

const JOBS: usize = 3_000;

/// Each job of a dead process is requeued once.
pub fn two_requeue_each_job_once(binary: &Binary) {
    let server = Options::new(binary).module_if_supported().start();
    let mut con = server.connect();
    for number in 0..JOBS {
        con.call(&[b"LPUSH".as_slice(), b"q1:dead", &job(number)]);
    }
    con.must("CONFIG SET maxmemory 1");
    let client = Client::open(server.url()).expect("an address");
    let wurk = Wurk::new();
    let back: usize = thread::scope(|scope| {
        let reap = || {
            let mut con = client.get_connection().expect("a connection");
            let jobs: Vec<Vec<u8>> = redis::cmd("LRANGE")
                .arg(&["q1:dead", "0", "-1"])
                .query(&mut con)
                .expect("jobs");
            jobs.iter()
                .filter(|job| {
                    wurk.requeue(
                        &mut con,
                        &Claimed::new(&Queue::new(b"q1", b"q1:dead"), job.as_slice()),
                    )
                    .expect("a requeue")
                })
                .count()
        };
        let reapers = [(); 3].map(|()| scope.spawn(reap));
        reapers
            .into_iter()
            .map(|reaper| reaper.join().expect("a reaper"))
            .sum()
    });
    assert_eq!(back, JOBS, "each was requeued by one of them");
    let jobs: HashSet<_> = members(&mut con, "LRANGE q1 0 -1").into_iter().collect();
    assert_eq!(
        (jobs.len(), con.say("LLEN q1").integer()),
        (JOBS, Some(JOBS as i64))
    );
}
