//! A full server is drained, and every job is accounted for.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use fastrand::Rng;
use wurk_client::{Claimed, Heartbeat, Queue, Wurk, is_oom};
use wurk_testkit::{Binary, Options, Resp, jobs};

use crate::support::inspect::members;

/// How many bytes of jobs the server may hold.
const JOB_BYTES: i64 = 8 << 20;

/// The plain commands of a worker, all of which a full server refuses.
const PLAIN: [&str; 8] = [
    "LMOVE queue:0 private:0 RIGHT LEFT",
    "BLMOVE queue:0 private:0 RIGHT LEFT 1",
    "RPUSH queue:0 j",
    "ZADD retry 1 j",
    "SET lock 1 NX PX 1000",
    "HSET id beat 1",
    "SADD processes id",
    "EVAL return(redis.call('LMOVE',KEYS[1],KEYS[2],'RIGHT','LEFT')) 2 queue:0 private:0",
];

pub fn by_module(binary: &Binary) {
    drain(
        &Options::new(binary).module(),
        "cmdstat_wurk.claim:",
        "cmdstat_eval:",
    );
}

pub fn by_script(binary: &Binary) {
    drain(
        &Options::new(binary),
        "cmdstat_eval:",
        "cmdstat_wurk.claim:",
    );
}

pub fn by_legacy_script(binary: &Binary) {
    drain(
        &Options::new(binary),
        "cmdstat_zremrangebyrank:",
        "cmdstat_wurk.claim:",
    );
}

/// What happened to the jobs.
#[derive(Default)]
struct Ledger {
    pushed: HashSet<Vec<u8>>,
    done: HashSet<Vec<u8>>,
    requeued: HashMap<Vec<u8>, u32>,
}

fn drain(options: &Options, used: &str, unused: &str) {
    let server = options.start();
    let mut con = server.connect();
    let mut random = Rng::with_seed(7);
    let queues: Vec<_> = (0..3)
        .map(|i| Queue::new(format!("queue:{i}"), format!("private:{i}")))
        .collect();
    let mut ledger = fill(&mut con, &mut random, &queues);
    let began = con.info("memory", "used_memory");
    for line in PLAIN {
        let reply = con.say(line);
        assert!(
            reply.error().is_some_and(|error| error.contains("OOM ")),
            "{line}: {reply}"
        );
    }

    con.must("CONFIG RESETSTAT");
    let client = redis::Client::open(server.url()).expect("an address");
    let mut worker = client.get_connection().expect("a connection");
    let wurk = Wurk::new();
    let oom = redis::cmd("LMOVE")
        .arg(&["queue:0", "private:0", "RIGHT", "LEFT"])
        .exec(&mut worker);
    let oom = oom.expect_err("a full server refuses");
    assert!(is_oom(&oom), "{oom}");
    let heartbeat = Heartbeat::new(b"processes", b"host:1:f00").with_beat(b"1700000000.5");
    // Some jobs stay in flight, as if their process had died.
    let in_flight = 10;
    let mut claims = 0;
    while let Some(Claimed { queue, job, .. }) = wurk
        .or_else_oom(oom.clone())
        .claim(&mut worker, &heartbeat, &queues)
        .expect("a claim")
    {
        claims += 1;
        assert!(ledger.pushed.contains(&job), "a job that nobody pushed");
        if claims <= in_flight {
            continue;
        }
        match random.usize(..10) {
            0 => {
                let added = wurk
                    .or_else_oom(oom.clone())
                    .zadd(&mut worker, b"retry", 1.5, &job)
                    .expect("a retry");
                assert!(added, "a job twice in retry");
                acknowledge(&mut con, queue, &job);
            }
            1 if *ledger.requeued.entry(job.clone()).or_default() < 3 => {
                *ledger.requeued.entry(job.clone()).or_default() += 1;
                let back = wurk
                    .or_else_oom(oom.clone())
                    .requeue(&mut worker, &Claimed::new(queue, job.as_slice()));
                assert!(back.expect("a requeue"), "a job that was not in flight");
            }
            _ => {
                acknowledge(&mut con, queue, &job);
                assert!(ledger.done.insert(job), "a job done twice");
            }
        }
    }
    assert!(
        wurk.try_lock(&mut worker, b"lock", Duration::from_secs(1))
            .expect("a lock")
    );

    let mut found = ledger.done.clone();
    let retry = members(&mut con, "ZRANGE retry 0 -1");
    let mut flying = Vec::new();
    for queue in &queues {
        assert_eq!(
            members(&mut con, &format!("LRANGE {} 0 -1", text(&queue.public))),
            [] as [Vec<u8>; 0]
        );
        flying.extend(members(
            &mut con,
            &format!("LRANGE {} 0 -1", text(&queue.private)),
        ));
    }
    assert_eq!(flying.len(), in_flight);
    assert_eq!(
        ledger.done.len() + retry.len() + flying.len(),
        ledger.pushed.len(),
        "every job, and none twice"
    );
    found.extend(retry);
    found.extend(flying);
    assert!(found == ledger.pushed, "the very jobs that were pushed");
    assert!(
        con.info("memory", "used_memory") < began - JOB_BYTES / 2,
        "memory is freed"
    );
    con.must("CONFIG SET maxmemory 0");
    assert_eq!(
        con.say("HGET host:1:f00 beat").to_string(),
        r#""1700000000.5""#
    );
    let stats = con.say("INFO commandstats").to_string();
    assert!(stats.contains(used), "{used} was not used");
    assert!(!stats.contains(unused), "{unused} was used");
    ledger.pushed.clear();
}

/// Pushes jobs until the server refuses them.
fn fill(con: &mut Resp, random: &mut Rng, queues: &[Queue]) -> Ledger {
    let mut ledger = Ledger::default();
    con.must("CONFIG SET maxmemory-policy noeviction");
    let limit = con.info("memory", "used_memory") + JOB_BYTES;
    con.must(&format!("CONFIG SET maxmemory {limit}"));
    let mut refused = 0;
    while refused < 3 {
        let queue = &queues[random.usize(..queues.len())].public;
        let job = jobs::job(random, &text(queue));
        match con.call(&[b"LPUSH".as_slice(), queue, &job]).error() {
            None => {
                assert!(ledger.pushed.insert(job), "a unique job");
                assert!(ledger.pushed.len() < 1_000_000, "the server is never full");
            }
            Some(error) => {
                assert!(error.starts_with("OOM "), "{error}");
                refused += 1;
            }
        }
    }
    assert!(
        ledger.pushed.len() > 3_000,
        "only {} jobs fit",
        ledger.pushed.len()
    );
    // A few bytes may still be free; this takes them.
    let used = con.info("memory", "used_memory");
    con.must(&format!("CONFIG SET maxmemory {}", used - JOB_BYTES / 2));
    ledger
}

fn acknowledge(con: &mut Resp, queue: &Queue, job: &[u8]) {
    let reply = con.call(&[b"LREM".as_slice(), &queue.private, b"1", job]);
    assert_eq!(reply.integer(), Some(1), "a job that was not in flight");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
