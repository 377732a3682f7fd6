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

/// A job of this number.
pub fn job(number: usize) -> Vec<u8> {
    format!("job-{number}").into_bytes()
}

pub fn queues(worker: usize) -> [Queue; 2] {
    ["q1", "q2"].map(|queue| Queue::new(queue, format!("{queue}:{worker}")))
}

/// What the workers know of the jobs.
#[derive(Default)]
struct Ledger {
    /// Acknowledged, and told so.
    done: HashSet<Vec<u8>>,
    /// Being acknowledged: where the reply is lost, it may have been.
    tried: HashSet<Vec<u8>>,
}

/// Claims, and then finishes, gives back or puts aside, until the server dies.
/// A job that this has said is done was acknowledged by the server.
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
        let gone = "nobody else takes it";
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

/// Fifty kills in a row over one folder, at maxmemory, every other start without
/// the module: an acknowledged job is gone, every other is in one place.
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
                    // Ends with the server; what it was told by then counts.
                    let _ = client
                        .get_connection()
                        .and_then(|mut con| work(&mut con, wurk, worker, ledger));
                });
            }
            // At a random moment, behind some jobs that were done.
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
        let mut standing = members(&mut con, "ZRANGE retry 0 -1");
        for public in ["q1", "q2"] {
            standing.extend(members(&mut con, &format!("LRANGE {public} 0 -1")));
            for worker in 0..WORKERS {
                let private = format!("{public}:{worker}");
                let flying = members(&mut con, &format!("LRANGE {private} 0 -1"));
                // A job that was put aside and not yet acknowledged stands in
                // both places for that moment; its reaper makes it one.
                for job in flying {
                    if con.call(&[b"ZSCORE".as_slice(), b"retry", &job]).is_nil() {
                        standing.push(job.clone());
                    }
                    con.call(&[b"LREM".as_slice(), private.as_bytes(), b"1", &job]);
                    if con.call(&[b"ZSCORE".as_slice(), b"retry", &job]).is_nil() {
                        con.call(&[b"RPUSH".as_slice(), public.as_bytes(), &job]);
                    }
                }
            }
        }
        let Ledger { done, tried } = &mut *ledger.lock().expect("a ledger");
        let places: HashSet<_> = standing.iter().cloned().collect();
        assert_eq!(
            places.len(),
            standing.len(),
            "kill {kill}: a job in two places"
        );
        // A reply is lost at most once for each worker and kill: that job was
        // acknowledged, or stands where it stood.
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
