//! Pushes jobs until the server refuses.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use indicatif::ProgressBar;
use redis::{Connection, RedisError, RedisResult};
use wurk_client::{Claimed, Queue, Wurk, is_oom};
use wurk_testkit::jobs;

use crate::progress;

/// Pushes jobs until a worker's `LMOVE` is refused. Returns the jobs, and that error,
/// which the worker passes to the client.
pub(crate) fn until_refused(
    con: &mut Connection,
    queues: &[Queue],
) -> RedisResult<(HashSet<Vec<u8>>, RedisError)> {
    let most = progress::memory(con, "maxmemory")?;
    let bar = progress::bar(
        most,
        "filling  {wide_bar} {bytes} of {total_bytes}, {msg} jobs",
    );
    let mut random = Rng::new();
    let mut pushed = HashSet::new();
    let refused = loop {
        // In batches while they fit, then one by one.
        for batch in [24, 1] {
            push(con, queues, &mut random, batch, &mut pushed, &bar)?;
        }
        if let Some(refused) = claim_plainly(con, &queues[0])? {
            break refused;
        }
        // The server frees client buffers in the background.
        thread::sleep(Duration::from_millis(20));
    };
    bar.finish_and_clear();
    println!(
        "filled   {} jobs, {} of {} used",
        progress::grouped(pushed.len()),
        progress::bytes(progress::memory(con, "used_memory")?),
        progress::bytes(most),
    );
    println!(
        "refused  LMOVE: {} {}",
        refused.code().unwrap_or(""),
        refused.detail().unwrap_or("")
    );
    Ok((pushed, refused))
}

/// Pushes `batch` jobs at a time until the server refuses.
fn push(
    con: &mut Connection,
    queues: &[Queue],
    random: &mut Rng,
    batch: usize,
    pushed: &mut HashSet<Vec<u8>>,
    bar: &ProgressBar,
) -> RedisResult<()> {
    loop {
        let queue = &queues[random.usize(..queues.len())].public;
        let name = String::from_utf8_lossy(queue);
        let jobs: Vec<_> = (0..batch).map(|_| jobs::job(random, &name)).collect();
        match redis::cmd("LPUSH").arg(queue).arg(&jobs).exec(con) {
            Ok(()) => pushed.extend(jobs),
            Err(error) if is_oom(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
        if pushed.len() % 1_000 < batch {
            bar.set_message(progress::grouped(pushed.len()));
            bar.set_position(progress::memory(con, "used_memory")?);
        }
    }
}

/// Claims by plain `LMOVE`. Returns the error of a full server. `None` if it worked:
/// then the job is requeued, by the client, since the server may be full by now.
fn claim_plainly(con: &mut Connection, queue: &Queue) -> RedisResult<Option<RedisError>> {
    let claim = redis::cmd("LMOVE")
        .arg(&[&queue.public, &queue.private])
        .arg(&["RIGHT", "LEFT"])
        .query::<Option<Vec<u8>>>(con);
    match claim {
        Err(error) if is_oom(&error) => return Ok(Some(error)),
        Err(error) => return Err(error),
        Ok(None) => {}
        Ok(Some(job)) => {
            Wurk::new().requeue(con, &Claimed::new(queue, job))?;
        }
    }
    Ok(None)
}
