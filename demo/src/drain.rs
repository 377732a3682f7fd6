//! Workers drain the queues, by the client.

use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use indicatif::ProgressBar;
use redis::{Client, Connection, RedisError, RedisResult};
use wurk_client::{Heartbeat, Queue, Wurk};

use crate::progress;

/// The sorted set of failed jobs that will be retried.
pub(crate) const RETRY: &str = "retry";

/// What a worker has done.
#[derive(Default)]
pub(crate) struct Worked {
    /// The jobs it finished.
    pub(crate) done: Vec<Vec<u8>>,
    /// How many it scheduled for a retry.
    pub(crate) retried: usize,
    /// How many it requeued.
    pub(crate) requeued: usize,
}

/// Drains all queues with `workers` workers.
pub(crate) fn with_workers(
    client: &Client,
    queues: &[Queue],
    refused: &RedisError,
    workers: usize,
    jobs: usize,
) -> RedisResult<Vec<Worked>> {
    let wurk = Wurk::new();
    in_threads(workers, "workers", jobs, |number, bar| {
        work(
            client.get_connection()?,
            &wurk,
            queues,
            refused,
            number,
            bar,
        )
    })
}

/// Runs `work` in a thread for each worker, which it gets the number of and the bar for
/// all `jobs`. `kind` is what the workers are called when they are done.
pub(crate) fn in_threads(
    workers: usize,
    kind: &str,
    jobs: usize,
    work: impl Fn(usize, &ProgressBar) -> RedisResult<Worked> + Sync,
) -> RedisResult<Vec<Worked>> {
    let bar = progress::bar(
        jobs as u64,
        "draining {wide_bar} {human_pos} of {human_len} jobs, {msg} used",
    );
    let began = Instant::now();
    let worked: RedisResult<Vec<_>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|number| {
                let (work, bar) = (&work, &bar);
                scope.spawn(move || work(number, bar))
            })
            .collect();
        let joined = workers.into_iter().map(|worker| {
            let result = worker.join();
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect()
    });
    bar.finish_and_clear();
    let worked = worked?;
    let seconds = began.elapsed().as_secs_f64();
    println!("drained  by {workers} {kind} in {seconds:.1} s");
    Ok(worked)
}

/// Runs one worker: claims until every queue is empty. Of twenty jobs one fails and
/// is scheduled for a retry, one is requeued as at a shutdown, the others are done.
fn work(
    mut con: Connection,
    wurk: &Wurk,
    queues: &[Queue],
    refused: &RedisError,
    number: usize,
    bar: &ProgressBar,
) -> RedisResult<Worked> {
    let mut random = Rng::with_seed(number as u64);
    let identity = format!("demo:{}:f00:{number}", std::process::id());
    let queues = of_worker(queues, number);
    let heartbeat =
        Heartbeat::new(b"processes", identity.as_bytes()).with_info(b"{\"tag\":\"demo\"}");
    let wurk = wurk.or_else_oom(refused.clone());
    let mut worked = Worked::default();
    loop {
        let Some(claimed) = wurk.claim(&mut con, &heartbeat, &queues)? else {
            return Ok(worked);
        };
        match random.u8(..20) {
            0 => {
                wurk.zadd(&mut con, RETRY.as_bytes(), now() + 30.0, &claimed.job)?;
                wurk.acknowledge(&mut con, &claimed)?;
                worked.retried += 1;
            }
            1 => {
                wurk.requeue(&mut con, &claimed)?;
                worked.requeued += 1;
                continue;
            }
            _ => {
                wurk.acknowledge(&mut con, &claimed)?;
                worked.done.push(claimed.job);
            }
        }
        bar.inc(1);
        if number == 0 && worked.done.len() % 256 == 0 {
            bar.set_message(progress::bytes(progress::memory(&mut con, "used_memory")?));
        }
    }
}

/// The queues with private lists of one worker's own, although they share a process.
pub(crate) fn of_worker(queues: &[Queue], number: usize) -> Vec<Queue> {
    let queues = queues.iter().map(|queue| {
        let private = [&queue.private, number.to_string().as_bytes()].concat();
        Queue::new(queue.public.clone(), private)
    });
    queues.collect()
}

pub(crate) fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}
