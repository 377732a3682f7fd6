//! A server that is killed again and again while workers claim, requeue and acknowledge.

use std::collections::HashSet;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use redis::{Client, Connection, RedisResult};
use wurk_client::{Queue, Wurk};
use wurk_testkit::{Binary, Options};

use crate::support::caller::heartbeat;
use crate::support::inspect::members;
use crate::support::wait::wait_until;

const KILLS: u32 = 50;

const JOBS: usize = 3_000;

const WORKERS: usize = 3;

/// The job with this number.
pub fn job(number: usize) -> Vec<u8> {
    format!("job-{number}").into_bytes()
}

pub fn queues(worker: usize) -> [Queue; 2] {
    ["q1", "q2"].map(|queue| Queue::new(queue, format!("{queue}:{worker}")))
}

/// What the workers know about the jobs.
#[derive(Default)]
struct Ledger {
    /// Acknowledged, with a reply.
    done: HashSet<Vec<u8>>,
    /// Sent to be acknowledged: if the reply is lost, it may have been.
    tried: HashSet<Vec<u8>>,
}

/// Claims jobs, and acknowledges them, requeues them or adds them to `retry`, until the
/// server dies. The server has acknowledged every job in `done`.
fn work(
    con: &mut Connection,
    wurk: &Wurk,
    worker: usize,
    ledger: &Mutex<Ledger>,
) -> RedisResult<()> {
    let (identity, queues) = (format!("id{worker}"), queues(worker));
    let heartbeat = heartbeat(b"ps", identity.as_bytes());
    let mut random = fastrand::Rng::new();
    loop {
        let Some(claimed) = wurk.claim(con, &heartbeat, &queues)? else {
            return Ok(());
        };
        let gone = "no other process takes it";
        match random.u8(..6) {
            0 => {
                let back = wurk.requeue(con, &claimed)?;
                assert!(back, "{gone}");
            }
            1 => {
                wurk.zadd(con, b"retry", 1.0, &claimed.job)?;
                assert!(wurk.acknowledge(con, &claimed)?, "{gone}");
            }
            _ => {
                let with = || ledger.lock().expect("a ledger");
                with().tried.insert(claimed.job.clone());
                assert!(wurk.acknowledge(con, &claimed)?, "{gone}");
                let mut ledger = with();
                ledger.tried.remove(&claimed.job);
                assert!(ledger.done.insert(claimed.job), "a job done twice");
            }
        }
    }
}

/// A full server is killed fifty times, and every other start is without the module: an
/// acknowledged job is gone, and each other job is in one place.
pub fn fifty_kills_lose_no_job(binary: &Binary) {
    let options = Options::new(binary)
        .set("appendonly", &["yes"])
        .set("appendfsync", &["always"]);
    let mut server = options.clone().module().start();
    let mut con = server.connect();
    for number in 0..JOBS {
        con.call(&[
            b"LPUSH".as_slice(),
            [b"q1", b"q2"][number % 2],
            &job(number),
        ]);
    }
    let ledger = Mutex::new(Ledger::default());
    for kill in 0..KILLS {
        server.connect().must("CONFIG SET maxmemory 1");
        let client = Client::open(server.url()).expect("an address");
        let wurk = Wurk::new();
        let stopped = thread::scope(|scope| {
            for worker in 0..WORKERS {
                let (client, wurk, ledger) = (&client, &wurk, &ledger);
                scope.spawn(move || {
                    // Ends with the server; the replies that have arrived count.
                    let _ = client
                        .get_connection()
                        .and_then(|mut con| work(&mut con, wurk, worker, ledger));
                });
            }
            // At a random moment, after some jobs were done.
            let done = || ledger.lock().expect("a ledger").done.len();
            let some = done() + fastrand::usize(1..15);
            wait_until("some jobs are done", || done() >= some);
            thread::sleep(Duration::from_micros(fastrand::u64(..5_000)));
            server.kill()
        });
        server = if kill % 2 == 0 {
            options.start_over(stopped)
        } else {
            options.clone().module().start_over(stopped)
        };
        let mut con = server.connect();
        let mut remaining = members(&mut con, "ZRANGE retry 0 -1");
        for public in ["q1", "q2"] {
            remaining.extend(members(&mut con, &format!("LRANGE {public} 0 -1")));
            for worker in 0..WORKERS {
                let private = format!("{public}:{worker}");
                let in_flight = members(&mut con, &format!("LRANGE {private} 0 -1"));
                // A job that was added to `retry` and not yet acknowledged is in both
                // places; the reaper leaves it in one.
                for job in in_flight {
                    if con.call(&[b"ZSCORE".as_slice(), b"retry", &job]).is_nil() {
                        remaining.push(job.clone());
                    }
                    con.call(&[b"LREM".as_slice(), private.as_bytes(), b"1", &job]);
                    if con.call(&[b"ZSCORE".as_slice(), b"retry", &job]).is_nil() {
                        con.call(&[b"RPUSH".as_slice(), public.as_bytes(), &job]);
                    }
                }
            }
        }
        let Ledger { done, tried } = &mut *ledger.lock().expect("a ledger");
        let places: HashSet<_> = remaining.iter().cloned().collect();
        assert_eq!(
            places.len(),
            remaining.len(),
            "kill {kill}: a job in two places"
        );
        // Each kill loses at most one reply per worker: that job was acknowledged, or
        // is still in its list.
        assert!(tried.len() <= WORKERS, "kill {kill}: {tried:?}");
        done.extend(tried.drain().filter(|job| !places.contains(job)));
        let known = |job: &Vec<u8>| places.contains(job) || done.contains(job);
        let lost: Vec<_> = (0..JOBS).map(job).filter(|job| !known(job)).collect();
        assert!(lost.is_empty(), "kill {kill}: lost {lost:?}");
        let back: Vec<_> = places.intersection(done).collect();
        assert!(
            back.is_empty(),
            "kill {kill}: acknowledged, and here again: {back:?}"
        );
    }
}
