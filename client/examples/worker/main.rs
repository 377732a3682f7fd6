//! A worker that loses no job: several threads, weighted queues, retries with
//! back-off, jobs requeued at SIGTERM, and a reaper for processes that died.
//!
//! It claims, requeues and promotes by the client, which waits on all queues at once.
//! The rest are plain commands, with the client as the fallback on a full server. A job
//! is JSON with `jid` and `queue`; working on it appends its `jid` to a file. Jobs are
//! done at least once: if a worker is killed between working and acknowledging, the
//! reaper brings its job back.
//!
//! ```sh
//! cargo run --example worker -- --queue mail=3 --queue bulk=1 --done done.txt
//! ```
//!
//! | module | what is in it |
//! | --- | --- |
//! | `work` | claims and works on one job after another; schedules the retry of one that fails |
//! | `maintenance` | every second: the heartbeat, then the next two |
//! | `reaper` | brings back the jobs of dead processes, and gives up on those that kill them |
//! | `scheduler` | promotes jobs whose retry is due |
//! | `job` | the JSON of a job |
//! | `arguments` | the command line |

mod arguments;
mod job;
mod maintenance;
mod reaper;
mod scheduler;
mod work;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use redis::{Client, Connection, RedisResult};
use wurk_client::{Claimed, Heartbeat, Info, Process, Queue, Wurk};

use arguments::Arguments;

/// The set of all processes.
const PROCESSES: &[u8] = b"processes";
/// The sorted set of jobs that wait for a retry.
const RETRY: &[u8] = b"retry";
/// The sorted set of jobs that nobody tries again, for people to look at.
const DEAD: &[u8] = b"dead";

/// What all threads share.
struct Shared {
    arguments: Arguments,
    client: Client,
    wurk: Wurk,
    process: Process,
    info: String,
    stop: Arc<AtomicBool>,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let client = Client::open(arguments.url.as_str()).map_err(io::Error::other)?;
    let process = Process::current();
    let queues: Vec<_> = arguments
        .queues
        .iter()
        .map(|queue| (queue.name.as_str(), queue.weight))
        .collect();
    let info = Info::new()
        .with_concurrency(arguments.threads)
        .with_queues(&queues)
        .to_json(&process);
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let shared = Shared {
        arguments,
        client,
        wurk: Wurk::new(),
        process,
        info,
        stop,
    };
    thread::scope(|scope| {
        for index in 0..shared.arguments.threads {
            let shared = &shared;
            scope.spawn(move || shared.until_stopped(|con| shared.work(con, index)));
        }
        scope.spawn(|| shared.until_stopped(|con| shared.maintenance_loop(con)));
    });
    if let Err(error) = shared.deregister() {
        eprintln!("{}: {error}", shared.process);
    }
    Ok(())
}

impl Shared {
    /// Runs `part` until the process shuts down; after an error again, with a new
    /// connection.
    fn until_stopped(&self, part: impl Fn(&mut Connection) -> RedisResult<()>) {
        while !self.stop.load(Relaxed) {
            let result = self
                .client
                .get_connection()
                .and_then(|mut con| part(&mut con));
            if let Err(error) = result {
                eprintln!("{}: {error}", self.process);
                self.pause(Duration::from_millis(200));
            }
        }
    }

    /// Removes the process from the set, so that no reaper has to. If a job could not
    /// be requeued the process stays in the set, to be reaped.
    fn deregister(&self) -> RedisResult<()> {
        let mut con = self.client.get_connection()?;
        let identity = self.process.identity();
        if !reaper::lists(&mut con, identity.as_bytes(), b"*")?.is_empty() {
            return Ok(());
        }
        redis::pipe()
            .del(&identity)
            .srem(PROCESSES, &identity)
            .exec(&mut con)
    }

    /// Sleeps, at most until the process shuts down.
    fn pause(&self, pause: Duration) {
        let mut left = pause;
        while !self.stop.load(Relaxed) && !left.is_zero() {
            let part = left.min(Duration::from_millis(20));
            thread::sleep(part);
            left -= part;
        }
    }

    fn heartbeat<'a>(&'a self, identity: &'a str) -> Heartbeat<'a> {
        Heartbeat::new(PROCESSES, identity.as_bytes())
            .with_info(self.info.as_bytes())
            .with_ttl(Duration::from_secs(self.arguments.ttl))
    }

    /// A queue, and a thread's private list of it.
    fn queue(&self, public: impl Into<Vec<u8>>, index: usize) -> Queue {
        let public = public.into();
        let private = self.process.private_list(&public, index);
        Queue::new(public, private)
    }

    /// Adds a job to a sorted set. Call it before the job leaves its private list.
    fn zadd(&self, con: &mut Connection, set: &[u8], score: f64, job: &str) -> RedisResult<()> {
        let zadd = redis::cmd("ZADD").arg(set).arg(score).arg(job).take();
        self.wurk.query_or(con, &zadd, |wurk, con| {
            wurk.zadd(con, set, score, job.as_bytes())
        })?;
        Ok(())
    }
}

/// The jobs in a private list, the one that was claimed last first.
fn in_flight<'q>(con: &mut Connection, queue: &'q Queue) -> RedisResult<Vec<Claimed<'q>>> {
    let jobs: Vec<Vec<u8>> = redis::cmd("LRANGE")
        .arg(&queue.private)
        .arg(0)
        .arg(-1)
        .query(con)?;
    let jobs = jobs.into_iter();
    Ok(jobs.map(|job| Claimed::new(queue, job)).collect())
}

fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}
