//! A worker that loses no job: several threads, weighted queues, retries with
//! back-off, jobs requeued at SIGTERM, and a reaper for processes that died.
//!
//! It claims and requeues by the client, which waits on all queues at once. The rest
//! are plain commands, with the client as the fallback on a full server. A job is
//! JSON with `jid` and `queue`; working on it appends its `jid` to a file. Jobs are
//! done at least once: if a worker is killed between working and acknowledging, the
//! reaper requeues its job.
//!
//! ```sh
//! cargo run --example worker -- --queue mail=3 --queue bulk=1 --done done.txt
//! ```

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use redis::{Client, Connection, RedisResult};
use serde_json::Value;
use wurk_client::{Claimed, Heartbeat, Info, Process, Queue, Wurk, is_oom};

const PROCESSES: &[u8] = b"processes";
const RETRY: &[u8] = b"retry";
const REAPER: &[u8] = b"reaper";

/// A worker that loses no job.
#[derive(Parser)]
struct Arguments {
    /// The server
    #[arg(long, default_value = "redis://127.0.0.1/")]
    url: String,
    /// A queue and its weight
    #[arg(long = "queue", value_name = "NAME=WEIGHT", required = true)]
    queues: Vec<Weighted>,
    /// Jobs worked on at once
    #[arg(long, default_value_t = 4)]
    threads: usize,
    /// The file to append a job's jid to when it is done
    #[arg(long)]
    done: PathBuf,
    /// How long a job takes, in milliseconds
    #[arg(long, default_value_t = 0)]
    work: u64,
    /// One in this many jobs fails; 0 for none
    #[arg(long, default_value_t = 0)]
    fail_one_in: u32,
    /// Seconds without a heartbeat after which a process counts as dead
    #[arg(long, default_value_t = 60)]
    ttl: u64,
}

#[derive(Clone)]
struct Weighted {
    name: String,
    weight: u32,
}

impl FromStr for Weighted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, weight) = text.split_once('=').unwrap_or((text, "1"));
        let weight = weight
            .parse()
            .map_err(|_| format!("{weight} is not a weight"))?;
        Ok(Self {
            name: name.to_owned(),
            weight,
        })
    }
}

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
        let lists: Vec<_> = (0..self.arguments.threads)
            .flat_map(|index| self.queues(index))
            .map(|queue| queue.private)
            .collect();
        let holding: usize = redis::cmd("EXISTS").arg(lists).query(&mut con)?;
        if holding > 0 {
            return Ok(());
        }
        let identity = self.process.identity();
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

    /// Claims and works on one job after another.
    fn work(&self, con: &mut Connection, index: usize) -> RedisResult<()> {
        let mut done = File::options()
            .create(true)
            .append(true)
            .open(&self.arguments.done)?;
        let queues = self.queues(index);
        let identity = self.process.identity();
        // Jobs that this thread claimed on an earlier connection and did not finish.
        for queue in &queues {
            self.requeue_all(con, queue)?;
        }
        let heartbeat = self.heartbeat(&identity);
        let timeout = Duration::from_secs(2);
        while !self.stop.load(Relaxed) {
            let queues = self.by_weight(&queues);
            let claimed = self.wurk.claim_timeout(con, &heartbeat, &queues, timeout)?;
            let Some(claimed) = claimed else {
                continue;
            };
            self.pause(Duration::from_millis(self.arguments.work));
            if self.stop.load(Relaxed) {
                self.wurk.requeue(con, &claimed)?;
            } else {
                self.finish(con, &mut done, &claimed)?;
            }
        }
        Ok(())
    }

    /// Does the job, or schedules its retry if it fails, and acknowledges it last, so
    /// that it is never lost.
    fn finish(
        &self,
        con: &mut Connection,
        done: &mut File,
        claimed: &Claimed<'_>,
    ) -> RedisResult<()> {
        let Claimed { queue, job, .. } = claimed;
        let fails =
            self.arguments.fail_one_in > 0 && fastrand::u32(..self.arguments.fail_one_in) == 0;
        if fails {
            let Some((again, at)) = retry(job, &queue.public) else {
                // Not a JSON object: retries cannot be counted in it, and equal jobs
                // would be one member of the sorted set.
                self.pause(Duration::from_secs(1));
                self.wurk.requeue(con, claimed)?;
                return Ok(());
            };
            let zadd = redis::cmd("ZADD").arg(RETRY).arg(at).arg(&again).take();
            self.wurk.query_or(con, &zadd, |wurk, con| {
                wurk.zadd(con, RETRY, at, again.as_bytes())
            })?;
        } else {
            let parsed: Value = serde_json::from_slice(job).unwrap_or_default();
            // One write: other threads append to the file too.
            let line = format!("{}\n", parsed["jid"].as_str().unwrap_or("no jid"));
            done.write_all(line.as_bytes())?;
        }
        self.wurk.acknowledge(con, claimed)?;
        Ok(())
    }

    /// Every second writes the heartbeat, pushes due retries and requeues the jobs of
    /// dead processes.
    fn maintenance_loop(&self, con: &mut Connection) -> RedisResult<()> {
        let identity = self.process.identity();
        // A claim writes the heartbeat even if it finds no job: from a list that nobody
        // pushes to, it writes nothing else.
        let nothing = [self.queue("", usize::MAX)];
        let second = Duration::from_secs(1);
        let lock = redis::cmd("SET")
            .arg(REAPER)
            .arg(1)
            .arg(&["NX", "PX", "1000"])
            .take();
        while !self.stop.load(Relaxed) {
            let plain = redis::pipe()
                .hset(&identity, "info", &self.info)
                .hset(&identity, "beat", now())
                .expire(&identity, i64::try_from(self.arguments.ttl).unwrap_or(60))
                .sadd(PROCESSES, &identity)
                .exec(con);
            match plain {
                Err(oom) if is_oom(&oom) => {
                    let wurk = self.wurk.or_else_oom(oom);
                    wurk.claim(con, &self.heartbeat(&identity), &nothing)?;
                }
                plain => plain?,
            }
            let locked = self
                .wurk
                .query_or(con, &lock, |wurk, con| wurk.try_lock(con, REAPER, second))?;
            if locked {
                self.promote(con)?;
                self.reap(con)?;
            }
            self.pause(second);
        }
        Ok(())
    }

    /// Pushes the jobs whose retry is due. On a full server they stay in the set.
    fn promote(&self, con: &mut Connection) -> RedisResult<()> {
        let due: Vec<Vec<u8>> = redis::cmd("ZRANGEBYSCORE")
            .arg(RETRY)
            .arg("-inf")
            .arg(now())
            .query(con)?;
        for job in due {
            let parsed: Value = serde_json::from_slice(&job).unwrap_or_default();
            let name = parsed["queue"].as_str().unwrap_or("default");
            let name = name.strip_prefix("queue:").unwrap_or(name);
            match redis::cmd("LPUSH")
                .arg(format!("queue:{name}"))
                .arg(&job)
                .exec(con)
            {
                Err(error) if is_oom(&error) => return Ok(()),
                result => result?,
            }
            redis::cmd("ZREM").arg(RETRY).arg(&job).exec(con)?;
        }
        Ok(())
    }

    /// Requeues the jobs of processes whose heartbeat has expired.
    fn reap(&self, con: &mut Connection) -> RedisResult<()> {
        let processes: Vec<Vec<u8>> = redis::cmd("SMEMBERS").arg(PROCESSES).query(con)?;
        for dead in processes {
            if redis::cmd("EXISTS").arg(&dead).query(con)? {
                continue;
            }
            let lists: Vec<Vec<u8>> = redis::cmd("KEYS").arg(lists_of(&dead)).query(con)?;
            for private in lists {
                let public = public_of(&private).to_vec();
                self.requeue_all(con, &Queue::new(public, private))?;
            }
            redis::cmd("SREM").arg(PROCESSES).arg(&dead).exec(con)?;
        }
        Ok(())
    }

    /// Requeues a whole private list, starting with the job that was claimed last.
    fn requeue_all(&self, con: &mut Connection, queue: &Queue) -> RedisResult<()> {
        let jobs: Vec<Vec<u8>> = redis::cmd("LRANGE")
            .arg(&queue.private)
            .arg(0)
            .arg(-1)
            .query(con)?;
        for job in jobs {
            self.wurk.requeue(con, &Claimed::new(queue, job))?;
        }
        Ok(())
    }

    /// The queues, each with a thread's private list.
    fn queues(&self, index: usize) -> Vec<Queue> {
        let queues = self.arguments.queues.iter();
        queues.map(|queue| self.queue(&queue.name, index)).collect()
    }

    fn queue(&self, name: &str, index: usize) -> Queue {
        let public = format!("queue:{name}");
        let private = self.process.private_list(public.as_bytes(), index);
        Queue::new(public, private)
    }

    /// Shuffles the queues by their weights.
    fn by_weight(&self, queues: &[Queue]) -> Vec<Queue> {
        let mut left: Vec<_> = queues
            .iter()
            .zip(
                self.arguments
                    .queues
                    .iter()
                    .map(|queue| queue.weight.max(1)),
            )
            .collect();
        let mut order = Vec::with_capacity(queues.len());
        while !left.is_empty() {
            let total: u32 = left.iter().map(|(_, weight)| weight).sum();
            let mut drawn = fastrand::u32(..total);
            let at = left.iter().position(|(_, weight)| {
                let hit = drawn < *weight;
                drawn = drawn.saturating_sub(*weight);
                hit
            });
            order.push(left.remove(at.unwrap_or(0)).0.clone());
        }
        order
    }
}

/// The job with its retry count raised, and when the retry is due: later each time.
/// `None` if the job is not a JSON object.
fn retry(job: &[u8], public: &[u8]) -> Option<(String, f64)> {
    let Ok(Value::Object(mut job)) = serde_json::from_slice(job) else {
        return None;
    };
    let count = job.get("retry_count").and_then(Value::as_u64).unwrap_or(0) + 1;
    job.insert("retry_count".into(), count.into());
    let public = String::from_utf8_lossy(public);
    job.entry("queue").or_insert_with(|| public.into());
    let job = Value::Object(job).to_string();
    Some((job, now() + (count * count) as f64))
}

/// The pattern of a process's private lists, `<public>|<host>|<pid>|<nonce>|<index>`,
/// from its identity, `<host>:<pid>:<nonce>`.
fn lists_of(identity: &[u8]) -> Vec<u8> {
    let mut pattern = b"queue:*|".to_vec();
    for byte in identity {
        match byte {
            b':' => pattern.push(b'|'),
            b'*' | b'?' | b'[' | b']' | b'\\' => pattern.extend([b'\\', *byte]),
            _ => pattern.push(*byte),
        }
    }
    pattern.extend(b"|*");
    pattern
}

/// The queue of a private list. The queue's name may contain the separator too.
fn public_of(private: &[u8]) -> &[u8] {
    let public = private.rsplitn(5, |byte| *byte == b'|').nth(4);
    public.unwrap_or(private)
}

fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}
