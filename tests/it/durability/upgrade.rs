//! A new version of the module, first on a replica that then takes over, since a
//! module cannot be unloaded.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{fs, thread};

use redis::{Client, RedisResult};
use tempfile::TempDir;
use wurk_client::{Claimed, Heartbeat, Queue, Wurk};
use wurk_testkit::{Binary, Options, binary};

use crate::support::caller::heartbeat;
use crate::support::inspect::{calls, digest};
use crate::support::wait::{in_step, wait_until};

const JOBS: usize = 2_000;

/// The server that the workers use, and what they have done.
struct Work {
    port: AtomicU16,
    done: AtomicUsize,
    over: AtomicBool,
}

pub fn by_failover_to_a_newer_replica(binary: &Binary) {
    let folder = TempDir::with_prefix("wurk-").expect("a folder");
    let newer = folder.path().join("wurk.so");
    fs::copy(binary::module(), &newer).expect("a copy of the module");
    let newer = Options::new(binary)
        .primary()
        .set("loadmodule", &[&newer.to_string_lossy()]);
    let older = Options::new(binary).module().primary();
    let replica_of = |port: u16| newer.clone().replica_of(port);

    let primary = older.start();
    let mut here = primary.connect();
    for number in 0..JOBS {
        here.must(&format!("LPUSH q job-{number}"));
    }
    let replica = replica_of(primary.port).start();
    let mut there = replica.connect();
    in_step(&mut there);
    for con in [&mut here, &mut there] {
        con.must("CONFIG SET maxmemory 1");
    }

    let work = Work {
        port: AtomicU16::new(primary.port),
        done: AtomicUsize::new(0),
        over: AtomicBool::new(false),
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let workers = [0, 1, 2].map(|number| {
            let work = &work;
            scope.spawn(move || work.until_over(number))
        });
        let over = Over(&work.over);
        wait_until("the workers have begun", || {
            work.done.load(Relaxed) > JOBS / 8
        });
        wait_until("the replica has taken over", || {
            // Refused while a failover runs; one that was aborted is started again.
            here.say(&format!("FAILOVER TO 127.0.0.1 {}", replica.port));
            there.say("ROLE").to_string().starts_with(r#"["master""#)
        });
        let before = work.done.load(Relaxed);
        assert!(before < JOBS, "the queue is empty too soon");
        work.port.store(replica.port, Relaxed);
        wait_until("the workers have finished", || {
            work.done.load(Relaxed) == JOBS
        });
        drop(over);
        let done = workers.map(|worker| worker.join().expect("a worker"));
        done.into_iter().flatten().collect()
    });
    done.sort();
    let mut expected: Vec<_> = (0..JOBS).map(|number| format!("job-{number}")).collect();
    expected.sort();
    assert_eq!(done, expected, "every job, once");
    assert!(calls(&mut there, "wurk.bclaim") > 0, "by the new module");

    // The old primary is started again with the new module and its data.
    let stopped = primary.stop();
    let again = replica_of(replica.port).start_over(stopped);
    let mut again = again.connect();
    in_step(&mut again);
    let expected = digest(&mut there);
    wait_until("both hold the same", || digest(&mut again) == expected);
}

/// Ends the work when it is dropped, also if the test fails.
struct Over<'w>(&'w AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl Work {
    fn until_over(&self, number: usize) -> Vec<String> {
        let wurk = Wurk::new();
        let identity = format!("id{number}");
        let heartbeat = heartbeat(b"ps", identity.as_bytes());
        let queues = [Queue::new("q", format!("q:p{number}"))];
        let mut done = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.over.load(Relaxed) {
            assert!(Instant::now() < deadline, "{} done", done.len());
            // Ends when the server refuses: it is a replica now.
            let _ = self.on_one_server(&wurk, &heartbeat, &queues, &mut done);
            thread::sleep(Duration::from_millis(5));
        }
        done
    }

    fn on_one_server(
        &self,
        wurk: &Wurk,
        heartbeat: &Heartbeat,
        queues: &[Queue],
        done: &mut Vec<String>,
    ) -> RedisResult<()> {
        let url = format!("redis://127.0.0.1:{}/", self.port.load(Relaxed));
        let mut con = Client::open(url)?.get_connection()?;
        // Jobs that were claimed before the failover are in the private list.
        for queue in queues {
            let left: Vec<Vec<u8>> = redis::cmd("LRANGE")
                .arg(&queue.private)
                .arg(0)
                .arg(-1)
                .query(&mut con)?;
            for job in left {
                wurk.requeue(&mut con, &Claimed::new(queue, job.as_slice()))?;
            }
        }
        let wait = Duration::from_millis(100);
        while !self.over.load(Relaxed) {
            let claimed = wurk.claim_timeout(&mut con, heartbeat, queues, wait)?;
            let Some(claimed) = claimed else { continue };
            if wurk.acknowledge(&mut con, &claimed)? {
                done.push(String::from_utf8_lossy(&claimed.job).into_owned());
                self.done.fetch_add(1, Relaxed);
            }
        }
        Ok(())
    }
}
