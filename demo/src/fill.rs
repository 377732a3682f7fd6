//! Pushes jobs until the server refuses.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use indicatif::ProgressBar;
use redis::{Connection, ErrorKind, RedisError, RedisResult};
use wurk_client::{Claimed, Queue, Wurk, is_oom};
use wurk_testkit::libraries::memory;
use wurk_testkit::{Server, jobs};

use crate::progress;

/// How often a server may get room again in the background before it stays full: its
/// clients' buffers are freed within seconds, once.
pub(crate) const ROUNDS: usize = 500;

/// What a server that never stays full is given up with.
pub(crate) fn never_full() -> RedisError {
    (ErrorKind::Client, "the server does not stay full").into()
}

/// Pushes jobs until a worker's `LMOVE` is refused. Returns the jobs, and that error,
/// which the worker passes to the client.
pub(crate) fn until_refused(
    server: &Server,
    con: &mut Connection,
    queues: &[Queue],
) -> RedisResult<(HashSet<Vec<u8>>, RedisError)> {
    let mut others = server.connect();
    let most = progress::memory(con, "maxmemory")?;
    let bar = progress::bar(
        most,
        "filling  {wide_bar} {bytes} of {total_bytes}, {msg} jobs",
    );
    let mut random = Rng::new();
    let mut pushed = HashSet::new();
    // In batches while they fit, then one by one.
    push(con, queues, &mut random, 24, &mut pushed, &bar)?;
    let mut refused = None;
    for _ in 0..ROUNDS {
        push(con, queues, &mut random, 1, &mut pushed, &bar)?;
        // An LMOVE is shorter than a job, and may still have room; other keys take that.
        memory::fill(&mut others);
        refused = claim_plainly(con, &queues[0])?;
        if refused.is_some() {
            break;
        }
        // The server frees client buffers in the background.
        thread::sleep(Duration::from_millis(20));
    }
    let refused = refused.ok_or_else(never_full)?;
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

#[cfg(test)]
mod tests {
    use wurk_testkit::{Binary, Options};

    use super::*;

    /// An `LMOVE` of some lengths fits where no job does.
    #[test]
    fn ends_wherever_the_last_byte_falls() {
        let binary = Binary::all().into_iter().next();
        let server = Options::new(&binary.expect("a server")).start();
        let client = redis::Client::open(server.url()).expect("an address");
        let mut con = client.get_connection().expect("a connection");
        let mut admin = server.connect();
        for (number, length) in (0..600).step_by(20).enumerate() {
            admin.must("CONFIG SET maxmemory 0");
            admin.must("FLUSHALL");
            let limit = admin.info("memory", "used_memory") + 400_000 + length;
            admin.must(&format!("CONFIG SET maxmemory {limit}"));
            let queue = Queue::new("q", "p".repeat(number));
            let (pushed, refused) = until_refused(&server, &mut con, &[queue]).expect("full");
            assert!(is_oom(&refused) && pushed.len() > 100, "{}", pushed.len());
        }
    }
}
