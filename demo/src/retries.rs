//! A server at a standstill: all of its memory is jobs whose retry is due.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use indicatif::ProgressBar;
use redis::{Client, Connection, RedisResult};
use serde_json::Value;
use wurk_client::{Heartbeat, Promotion, Queue, Wurk, is_oom};
use wurk_testkit::libraries::memory;
use wurk_testkit::{Server, jobs};

use crate::drain::{self, RETRY, Worked, now};
use crate::{fill, ledger, progress};

/// How many due jobs are read at a time.
const BATCH: usize = 100;

/// Fills `retry` until the server refuses, and drains it. Returns `false` if a job is
/// lost or done twice, or anything is left.
pub(crate) fn show(
    server: &Server,
    client: &Client,
    con: &mut Connection,
    queues: &[Queue],
    workers: usize,
) -> RedisResult<bool> {
    println!("\na server whose jobs have all failed, and wait in retry");
    redis::cmd("FLUSHALL").exec(con)?;
    let pushed = fill(server, con, queues)?;
    println!("stuck    queues are empty, and an LPUSH from retry is refused");
    let wurk = Wurk::new();
    let worked = drain::in_threads(workers, "workers", pushed.len(), |number, bar| {
        work(client.get_connection()?, &wurk, queues, number, bar)
    })?;
    let done: usize = worked.iter().map(|worked| worked.done.len()).sum();
    let all = done == pushed.len();
    Ok(ledger::settle(con, queues, &pushed, worked)? && all)
}

/// Adds jobs that are due to `retry` until the server refuses to push any.
fn fill(server: &Server, con: &mut Connection, queues: &[Queue]) -> RedisResult<HashSet<Vec<u8>>> {
    let mut others = server.connect();
    let most = progress::memory(con, "maxmemory")?;
    let bar = progress::bar(most, "filling  {wide_bar} {bytes} of {total_bytes}");
    let mut random = Rng::new();
    let mut pushed = HashSet::new();
    for _ in 0..fill::ROUNDS {
        add(con, queues, &mut random, &mut pushed, &bar)?;
        // The server frees client buffers in the background.
        thread::sleep(Duration::from_millis(20));
        // A push may be shorter than a job here; other keys take what is left.
        memory::fill(&mut others);
        if !accepts_a_push(con, &queues[0].public)? {
            bar.finish_and_clear();
            println!("filled   {} jobs", progress::grouped(pushed.len()));
            return Ok(pushed);
        }
    }
    Err(fill::never_full())
}

/// Adds jobs until the server refuses.
fn add(
    con: &mut Connection,
    queues: &[Queue],
    random: &mut Rng,
    pushed: &mut HashSet<Vec<u8>>,
    bar: &ProgressBar,
) -> RedisResult<()> {
    loop {
        let queue = &queues[random.usize(..queues.len())].public;
        let job = jobs::job(random, &String::from_utf8_lossy(queue));
        match redis::cmd("ZADD").arg(RETRY).arg(1).arg(&job).exec(con) {
            Ok(()) => drop(pushed.insert(job)),
            Err(oom) if is_oom(&oom) => return Ok(()),
            Err(error) => return Err(error),
        }
        if pushed.len().is_multiple_of(1_000) {
            bar.set_position(progress::memory(con, "used_memory")?);
        }
    }
}

/// Whether a scheduler could push a job to its queue. Leaves none there.
fn accepts_a_push(con: &mut Connection, queue: &[u8]) -> RedisResult<bool> {
    match redis::cmd("LPUSH").arg(queue).arg("job").exec(con) {
        Err(oom) if is_oom(&oom) => Ok(false),
        Err(error) => Err(error),
        Ok(()) => redis::cmd("LPOP").arg(queue).exec(con).map(|()| true),
    }
}

/// Runs one worker, which promotes what is due when it finds no job in a queue, until
/// there is nothing of either.
fn work(
    mut con: Connection,
    wurk: &Wurk,
    queues: &[Queue],
    number: usize,
    bar: &ProgressBar,
) -> RedisResult<Worked> {
    let identity = format!("demo:{}:f00:{number}", std::process::id());
    let queues = drain::of_worker(queues, number);
    let heartbeat =
        Heartbeat::new(b"processes", identity.as_bytes()).with_info(b"{\"tag\":\"demo\"}");
    let mut worked = Worked::default();
    loop {
        while let Some(claimed) = wurk.claim(&mut con, &heartbeat, &queues)? {
            wurk.acknowledge(&mut con, &claimed)?;
            worked.done.push(claimed.job);
            bar.inc(1);
        }
        if number == 0 {
            bar.set_message(progress::bytes(progress::memory(&mut con, "used_memory")?));
        }
        let due: Vec<Vec<u8>> = redis::cmd("ZRANGEBYSCORE")
            .arg(RETRY)
            .arg("-inf")
            .arg(now())
            .arg(&["LIMIT", "0"])
            .arg(BATCH)
            .query(&mut con)?;
        if due.is_empty() {
            return Ok(worked);
        }
        for job in due {
            let parsed: Value = serde_json::from_slice(&job).unwrap_or_default();
            let public = parsed["queue"].as_str().unwrap_or("queue:default");
            wurk.promote(
                &mut con,
                &Promotion::new(RETRY.as_bytes(), public.as_bytes(), &job),
            )?;
        }
    }
}
