//! The client uses the first strategy that its server has.

use std::thread;
use std::time::{Duration, Instant};

use wurk_client::{Claimed, Queue, Wurk};
use wurk_testkit::{Binary, Options, Resp};

use crate::support::caller::{claim, own_error, queues};
use crate::support::full_server::full_server;
use crate::support::inspect::calls;

fn unknown(con: &mut Resp) -> u64 {
    let stats = con.say("INFO errorstats").to_string();
    let Some((_, stats)) = stats.split_once("errorstat_ERR:count=") else {
        return 0;
    };
    stats
        .split(['\\', ',', '"'])
        .next()
        .and_then(|count| count.parse().ok())
        .expect("a number")
}

pub fn uses_the_module_first(binary: &Binary) {
    let (_server, mut con, mut worker) = full_server(&Options::new(binary).module());
    let (wurk, queues) = (Wurk::new(), queues());
    let claimed = claim(&wurk, &mut worker, &queues, Some(own_error()))
        .expect("a claim")
        .expect("a job");
    assert_eq!(
        (claimed.queue, claimed.job.as_slice()),
        (&queues[0], b"e".as_slice())
    );
    assert_eq!(
        con.say("TTL id").integer(),
        Some(60),
        "whole seconds, rounded up"
    );
    assert!(
        wurk.requeue(&mut worker, &Claimed::new(&Queue::new(b"q", b"q:p"), b"e"))
            .expect("a requeue")
    );
    assert!(
        !wurk
            .requeue(&mut worker, &Claimed::new(&Queue::new(b"q", b"q:p"), b"e"))
            .expect("a requeue")
    );
    assert!(
        wurk.try_lock(&mut worker, b"l", Duration::from_micros(59_000_001))
            .expect("a lock")
    );
    assert!(
        !wurk
            .try_lock(&mut worker, b"l", Duration::from_secs(1))
            .expect("a lock")
    );
    assert!(wurk.zadd(&mut worker, b"z", 1.5, b"m").expect("a member"));
    assert!(!wurk.zadd(&mut worker, b"z", 2.5, b"m").expect("a member"));
    assert_eq!(con.say("ZSCORE z m").to_string(), r#""2.5""#);
    let commands = [
        "wurk.claim",
        "wurk.requeue",
        "wurk.lock",
        "wurk.zadd",
        "eval",
    ];
    assert_eq!(
        commands.map(|command| calls(&mut con, command)),
        [1, 2, 2, 2, 0]
    );
    assert_eq!(
        claim(&wurk, &mut worker, &[], None).expect("no queues"),
        None
    );
    assert_eq!(
        calls(&mut con, "wurk.claim"),
        1,
        "without queues nothing is sent"
    );
}

pub fn uses_the_script_without_the_module(binary: &Binary) {
    let (_server, mut con, mut worker) = full_server(&Options::new(binary));
    let (wurk, queues) = (Wurk::new(), queues());
    for job in [b"e", b"d", b"c"] {
        let claimed = claim(&wurk, &mut worker, &queues, Some(own_error()))
            .expect("a claim")
            .expect("a job");
        assert_eq!(claimed.job, job);
    }
    assert_eq!(
        (calls(&mut con, "eval"), unknown(&mut con)),
        (3, 1),
        "tried once, then remembered"
    );
    assert!(
        wurk.requeue(&mut worker, &Claimed::new(&Queue::new(b"q", b"q:p"), b"c"))
            .expect("a requeue")
    );
    assert!(
        wurk.try_lock(&mut worker, b"l", Duration::from_secs(60))
            .expect("a lock")
    );
    assert!(wurk.zadd(&mut worker, b"z", 1.5, b"m").expect("a member"));
    assert_eq!(
        (calls(&mut con, "eval"), unknown(&mut con)),
        (6, 4),
        "each command is tried once"
    );
}

pub fn uses_the_legacy_script_before_7_0(binary: &Binary) {
    for effects in ["yes", "no"] {
        by_every_call(&Options::new(binary).set("lua-replicate-commands", &[effects]));
    }
}

fn by_every_call(options: &Options) {
    let (_server, mut con, mut worker) = full_server(options);
    let (wurk, queues) = (Wurk::new(), queues());
    for job in [b"e", b"d"] {
        let claimed = claim(&wurk, &mut worker, &queues, Some(own_error()))
            .expect("a claim")
            .expect("a job");
        assert_eq!(claimed.job, job);
    }
    assert_eq!(
        con.say("HGETALL id").to_string(),
        r#"["info", "i", "beat", "1.5"]"#
    );
    assert!(
        wurk.or_else_oom(own_error())
            .requeue(&mut worker, &Claimed::new(&Queue::new(b"q", b"q:p"), b"d"))
            .expect("a requeue")
    );
    assert_eq!(con.say("LRANGE q -1 -1").to_string(), r#"["d"]"#);
    assert!(
        wurk.or_else_oom(own_error())
            .try_lock(&mut worker, b"l", Duration::from_secs(60))
            .expect("a lock")
    );
    assert!(
        !wurk
            .or_else_oom(own_error())
            .try_lock(&mut worker, b"l", Duration::from_secs(60))
            .expect("a lock")
    );
    assert_eq!(
        con.say("TTL l").integer(),
        Some(60),
        "the first write does not change a lock"
    );
    assert!(
        wurk.or_else_oom(own_error())
            .zadd(&mut worker, b"z", 1.5, b"m")
            .expect("a member")
    );
}

/// The module is loaded while a worker calls scripts: within a minute the client uses its
/// commands, and no call is lost.
pub fn notices_a_module_loaded_later(binary: &Binary) {
    let options = Options::new(binary).set("enable-module-command", &["yes"]);
    let (_server, mut con, mut worker) = full_server(&options);
    let wurk = Wurk::new();
    let mut add = |score: u32| {
        wurk.or_else_oom(own_error())
            .zadd(&mut worker, b"z", score.into(), b"m")
            .expect("a score")
    };
    assert!(add(0));
    let module = wurk_testkit::binary::module().display().to_string();
    con.must(&format!("MODULE LOAD {module}"));
    let began = Instant::now();
    for score in 1.. {
        assert!(!add(score), "its score is updated");
        assert_eq!(con.say("ZSCORE z m").to_string(), format!("\"{score}\""));
        if calls(&mut con, "wurk.zadd") > 0 {
            break;
        }
        assert!(
            began.elapsed() < Duration::from_secs(65),
            "still by scripts after a minute"
        );
        thread::sleep(Duration::from_secs(1));
    }
    assert!(calls(&mut con, "eval") > 0);
}
