//! Plain workers, which know nothing of wurk: stuck on a full server, until an
//! operator names their user.

use std::collections::HashSet;

use fastrand::Rng;
use indicatif::ProgressBar;
use redis::{Client, Connection, RedisResult};
use wurk_client::{Queue, is_oom};
use wurk_testkit::{Binary, Server, jobs};

use crate::drain::{self, RETRY, Worked, now};
use crate::{fill, ledger, progress};

/// What the operator types.
const SETTING: [&str; 4] = ["CONFIG", "SET", "wurk.rescue-users", "worker"];

/// Whether the server tells a module whose command it is.
pub(crate) fn is_possible(binary: &Binary) -> bool {
    binary.version >= (7, 2, 0)
}

/// A hundredth of `maxmemory` past it is more than the buffers of a server that lets
/// nobody through.
const SLACK: u64 = 100;

/// Fills the server as a producer, and drains it by plain workers. Returns `false` if
/// a job is lost or done twice, the workers were not stuck before, or a producer was let
/// through.
pub(crate) fn show(
    server: &Server,
    con: &mut Connection,
    queues: &[Queue],
    workers: usize,
) -> RedisResult<bool> {
    println!("\nplain workers, which know nothing of wurk");
    redis::cmd("FLUSHALL").exec(con)?;
    for user in ["producer", "worker"] {
        redis::cmd("ACL")
            .arg(&["SETUSER", user, "on", ">secret", "~*", "+@all"])
            .exec(con)?;
    }
    let login = |user: &str| Client::open(format!("{}?user={user}&pass=secret", server.url()));
    let mut producer = login("producer")?.get_connection()?;
    let (mut pushed, _) = fill::until_refused(server, &mut producer, queues)?;
    let worker = login("worker")?;
    let bar = ProgressBar::hidden();
    let stuck = match work(worker.get_connection()?, queues, 0, &bar) {
        Err(oom) if is_oom(&oom) => true,
        Err(error) => return Err(error),
        Ok(_) => false,
    };
    if stuck {
        println!("stuck    workers stop with that error, and nothing frees memory");
    }

    redis::cmd(SETTING[0]).arg(&SETTING[1..]).exec(con)?;
    println!("named    {}", SETTING.join(" "));
    let refused = is_refused(&mut producer, con, &queues[0], &mut pushed)?;
    if refused {
        println!("refused  producers, still");
    } else {
        println!("failed   producers are let through too");
    }
    let worked = drain::in_threads(workers, "plain workers", pushed.len(), |number, bar| {
        work(worker.get_connection()?, queues, number, bar)
    })?;
    let retried = worked.iter().any(|worked| worked.retried > 0);
    Ok(ledger::settle(con, queues, &pushed, worked)? && stuck && refused && retried)
}

/// Pushes jobs until the server refuses: true, or has grown past `maxmemory`: false.
/// It may have a little room before, since it frees buffers in the background.
fn is_refused(
    producer: &mut Connection,
    con: &mut Connection,
    queue: &Queue,
    pushed: &mut HashSet<Vec<u8>>,
) -> RedisResult<bool> {
    let most = progress::memory(con, "maxmemory")?;
    let mut random = Rng::new();
    loop {
        let job = jobs::job(&mut random, "more");
        let push = redis::cmd("LPUSH")
            .arg(&queue.public)
            .arg(&job)
            .exec(producer);
        match push {
            Err(oom) if is_oom(&oom) => return Ok(true),
            Err(error) => return Err(error),
            Ok(()) => drop(pushed.insert(job)),
        }
        if progress::memory(con, "used_memory")? > most + most / SLACK {
            return Ok(false);
        }
    }
}

/// Runs one worker until every queue is empty, by plain commands: of twenty jobs one
/// fails and is scheduled for a retry.
fn work(
    mut con: Connection,
    queues: &[Queue],
    number: usize,
    bar: &ProgressBar,
) -> RedisResult<Worked> {
    let mut random = Rng::with_seed(number as u64);
    let mut worked = Worked::default();
    for queue in queues {
        let private = [&queue.private, number.to_string().as_bytes()].concat();
        loop {
            let job: Option<Vec<u8>> = redis::cmd("LMOVE")
                .arg(&queue.public)
                .arg(&private)
                .arg(&["RIGHT", "LEFT"])
                .query(&mut con)?;
            let Some(job) = job else { break };
            let fails = random.u8(..20) == 0;
            if fails {
                redis::cmd("ZADD")
                    .arg(RETRY)
                    .arg(now() + 30.0)
                    .arg(&job)
                    .exec(&mut con)?;
            }
            redis::cmd("LREM")
                .arg(&private)
                .arg(1)
                .arg(&job)
                .exec(&mut con)?;
            if fails {
                worked.retried += 1;
            } else {
                worked.done.push(job);
            }
            bar.inc(1);
            if number == 0 && worked.done.len() % 256 == 0 {
                bar.set_message(progress::bytes(progress::memory(&mut con, "used_memory")?));
            }
        }
    }
    Ok(worked)
}
