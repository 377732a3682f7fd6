//! Plain workers, which know nothing of wurk: stuck on a full server, until an
//! operator names their user.

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

/// Fills the server as a producer, and drains it by plain workers. Returns `false` if
/// a job is lost or done twice, or the workers were not stuck before.
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
    let (mut pushed, _) = fill::until_refused(&mut producer, queues)?;
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
    // One more job for as long as the server is full: producers stay refused.
    let job = jobs::job(&mut Rng::new(), "more");
    let push = redis::cmd("LPUSH")
        .arg(&queues[0].public)
        .arg(&job)
        .exec(&mut producer);
    match push {
        Err(oom) if is_oom(&oom) => println!("refused  producers, still"),
        Err(error) => return Err(error),
        Ok(()) => drop(pushed.insert(job)),
    }
    let worked = drain::in_threads(workers, "plain workers", pushed.len(), |number, bar| {
        work(worker.get_connection()?, queues, number, bar)
    })?;
    let retried = worked.iter().any(|worked| worked.retried > 0);
    Ok(ledger::settle(con, queues, &pushed, worked)? && stuck && retried)
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
