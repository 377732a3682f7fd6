use std::thread;
use std::time::{Duration, Instant};

use redis::{Client, Connection, RedisError, RedisResult};
use wurk_client::{Claimed, Heartbeat, Queue, Wurk};
use wurk_testkit::{Binary, Options, Resp, Server};

use crate::door::digest;

/// A full server with a job in `q`, and a connection of the `redis` crate.
pub fn full_server(options: &Options) -> (Server, Resp, Connection) {
    let server = options.start();
    let mut con = server.connect();
    con.must("RPUSH q a b c d e");
    con.must("CONFIG SET maxmemory 1");
    let client = Client::open(server.url()).expect("an address");
    let worker = client.get_connection().expect("a connection");
    con.must("CONFIG RESETSTAT"); // An older server does not know all that a client says as it connects.
    (server, con, worker)
}

/// A connection of the `redis` crate as a user whose password is `secret`.
pub fn as_user(server: &Server, name: &str) -> Connection {
    let mut con = Client::open(server.url())
        .and_then(|client| client.get_connection())
        .expect("a connection");
    redis::cmd("AUTH")
        .arg(name)
        .arg("secret")
        .exec(&mut con)
        .expect("a user");
    con
}

pub fn queues() -> [Queue; 1] {
    [Queue::new("q", "q:p")]
}

/// The heartbeat of the tests' process.
pub const HEARTBEAT: Heartbeat<'static> = heartbeat(b"ps", b"id");

/// The same of another process.
pub const fn heartbeat<'a>(processes: &'a [u8], identity: &'a [u8]) -> Heartbeat<'a> {
    Heartbeat::new(processes, identity)
        .with_info(b"i")
        .with_beat(b"1.5")
        .with_ttl(Duration::from_millis(59_001))
}

fn claim<'q>(
    wurk: &Wurk,
    con: &mut Connection,
    queues: &'q [Queue],
    oom: Option<RedisError>,
) -> RedisResult<Option<Claimed<'q>>> {
    match oom {
        Some(oom) => wurk.or_else_oom(oom).claim(con, &HEARTBEAT, queues),
        None => wurk.claim(con, &HEARTBEAT, queues),
    }
}

/// The error that a worker comes with.
pub fn own_error() -> RedisError {
    redis::make_extension_error(
        "OOM".into(),
        Some("command not allowed, says the worker's own".into()),
    )
}

pub fn calls(con: &mut Resp, command: &str) -> u64 {
    let stats = con.say("INFO commandstats").to_string();
    let Some((_, stats)) = stats.split_once(&format!("cmdstat_{command}:calls=")) else {
        return 0;
    };
    stats
        .split(',')
        .next()
        .and_then(|calls| calls.parse().ok())
        .expect("a number")
}

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

pub fn the_module_is_taken_first(binary: &Binary) {
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

pub fn the_script_is_taken_next(binary: &Binary) {
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
        "asked once, remembered"
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
        "each command by itself"
    );
}

pub fn behind_a_write_before_7(binary: &Binary) {
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
        "the write in front leaves a lock as it is"
    );
    assert!(
        wurk.or_else_oom(own_error())
            .zadd(&mut worker, b"z", 1.5, b"m")
            .expect("a member")
    );
}

pub fn the_callers_own_error_comes_back(binary: &Binary) {
    let no_scripts = "-@scripting";
    let no_writes_inside = "-hset -rpush -set -zadd";
    let no_write_in_front = "-zremrangebyrank";
    let users = [no_scripts, no_writes_inside, no_write_in_front];
    let (server, mut con, _) = full_server(&Options::new(binary));
    con.must("CONFIG SET maxmemory 0");
    con.must("RPUSH q:p flying");
    con.must("CONFIG SET maxmemory 1");
    let before = digest(&mut con);
    // The write in front is what servers before 7.0 need.
    for rights in users
        .iter()
        .take(if binary.loads_modules() { 2 } else { 3 })
    {
        con.must(&format!(
            "ACL SETUSER limited reset on >secret ~* +@all {rights}"
        ));
        let mut worker = as_user(&server, "limited");
        let (wurk, queues) = (Wurk::new(), queues());
        for _ in 0..2 {
            let own = || Some(own_error());
            let errors = [
                claim(&wurk, &mut worker, &queues, own()).map(|_| ()),
                wurk.or_else_oom(own_error())
                    .requeue(
                        &mut worker,
                        &Claimed::new(&Queue::new(b"q", b"q:p"), b"flying"),
                    )
                    .map(|_| ()),
                wurk.or_else_oom(own_error())
                    .try_lock(&mut worker, b"l", Duration::from_secs(60))
                    .map(|_| ()),
                wurk.or_else_oom(own_error())
                    .zadd(&mut worker, b"z", 1.0, b"m")
                    .map(|_| ()),
            ];
            assert_eq!(
                errors,
                [(); 4].map(|()| Err(own_error())),
                "{rights}: the very one"
            );
        }
        let error = claim(&wurk, &mut worker, &queues, None).expect_err("no road");
        assert_ne!(error, own_error());
        if *rights == no_scripts {
            assert_eq!(
                error.code(),
                Some("NOPERM"),
                "{error}: the server's own, where the caller brought none"
            );
        }
    }
    assert_eq!(digest(&mut con), before, "nothing has changed");
}

pub fn an_answer_is_an_answer(binary: &Binary) {
    let doors = [Options::new(binary), Options::new(binary).module()];
    for options in doors
        .iter()
        .take(if binary.loads_modules() { 2 } else { 1 })
    {
        let (server, mut con, mut worker) = full_server(options);
        con.must("CONFIG SET maxmemory 0");
        con.must("SET z x");
        con.must("SET q:p x");
        con.must("CONFIG SET maxmemory 1");
        let (wurk, queues) = (Wurk::new(), queues());
        let error = claim(&wurk, &mut worker, &queues, Some(own_error())).expect_err("no list");
        assert_eq!(error.code(), Some("WRONGTYPE"), "{error}");
        let error = wurk
            .or_else_oom(own_error())
            .zadd(&mut worker, b"z", 1.0, b"m")
            .expect_err("no set");
        assert_eq!(error.code(), Some("WRONGTYPE"), "{error}");
        let error = wurk
            .or_else_oom(own_error())
            .try_lock(&mut worker, b"l", Duration::ZERO)
            .expect_err("no time");
        assert!(
            error
                .detail()
                .is_some_and(|text| text.contains("invalid expire time")),
            "{error}"
        );
        con.must("ACL SETUSER stranger on >secret ~other +@all");
        let mut worker = as_user(&server, "stranger");
        let error = wurk
            .or_else_oom(own_error())
            .zadd(&mut worker, b"z", 1.0, b"m")
            .expect_err("no right");
        assert_eq!(
            error.code(),
            Some("NOPERM"),
            "{error}: a key out of reach is no reason to try further"
        );
        if wurk_is_loaded(&mut con) {
            con.must("ACL SETUSER stranger ~* -wurk.zadd");
            let error = wurk
                .or_else_oom(own_error())
                .zadd(&mut worker, b"other", 1.0, b"m")
                .expect_err("no right");
            assert_eq!(
                error.code(),
                Some("NOPERM"),
                "{error}: nor is a command that is closed"
            );
        }
        assert_eq!(con.say("LLEN q").integer(), Some(5));
    }
}

fn wurk_is_loaded(con: &mut Resp) -> bool {
    !con.say("COMMAND INFO wurk.zadd").items()[0].is_nil()
}

/// The module comes while a worker calls, and goes by scripts until then: its
/// commands are taken within a minute, and no call is lost.
pub fn a_module_that_is_loaded_later_is_noticed(binary: &Binary) {
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
            "by scripts still, after a minute"
        );
        thread::sleep(Duration::from_secs(1));
    }
    assert!(calls(&mut con, "eval") > 0);
}
