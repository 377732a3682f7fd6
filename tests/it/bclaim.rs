use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wurk_testkit::{Binary, Options, Reply, Resp, Server, aof};

use crate::cases::CASES;
use crate::door::{alike, digest};
use crate::stream::{in_step, wait_until};

pub const WAIT: &str = "WURK.BCLAIM ps id q0 p0 q p i 1.5 60 30";
pub const BLMOVE: &str = "BLMOVE q p RIGHT LEFT 30";

/// A client that waits. Its reply, or the error of its connection.
pub struct Waiter(JoinHandle<std::io::Result<Reply>>);

impl Waiter {
    /// Sends `line` and is blocked by the server when this returns.
    pub fn start(server: &Server, con: &mut Resp, line: &str) -> Self {
        Self::start_on(server.connect(), con, line)
    }

    pub fn start_on(mut own: Resp, con: &mut Resp, line: &str) -> Self {
        let before = blocked(con);
        own.send(&line.split(' ').collect::<Vec<_>>())
            .expect("a server");
        wait_until("the client waits", || blocked(con) == before + 1);
        Self(thread::spawn(move || own.read()))
    }

    pub fn reply(self) -> Reply {
        self.0.join().expect("a reply").expect("a connection")
    }
}

pub fn blocked(con: &mut Resp) -> i64 {
    con.info("clients", "blocked_clients")
}

pub fn start(binary: &Binary) -> (Server, Resp) {
    let server = Options::new(binary).module().start();
    let con = server.connect();
    (server, con)
}

/// Where a job is there, it is `WURK.CLAIM` to the letter.
pub fn with_a_job_is_a_claim(binary: &Binary) {
    let (_server, mut con) = start(binary);
    for case in CASES
        .iter()
        .filter(|case| case.call.starts_with("claim ") && !case.reply.contains("wrong number"))
    {
        let mut shown = Vec::new();
        for (name, more) in [("WURK.CLAIM", ""), ("WURK.BCLAIM", " 0.001")] {
            con.must("FLUSHALL");
            for line in case.given {
                con.must(line);
            }
            let call = case.call.replacen("claim", name, 1).replace(" | ", " ") + more;
            shown.push((alike(&con.say(&call)).to_string(), digest(&mut con)));
        }
        assert_eq!(shown[0], shown[1], "{}", case.shows);
    }
    for line in [
        "WURK.BCLAIM",
        "WURK.BCLAIM ps id q p i 1 60",
        "WURK.BCLAIM ps id q p q2 i 1 60 0",
    ] {
        let error = con.say(line).to_string();
        assert_eq!(
            error,
            "ERR wrong number of arguments for 'wurk.bclaim' command"
        );
    }
}

/// Whatever may put something into a list, and whether that wakes.
pub fn wakes_where_blmove_would(binary: &Binary) {
    let (server, mut con) = start(binary);
    let script = |body: &'static str| ["EVAL", body, "0"];
    let pushes = script("return redis.call('RPUSH','q','a')");
    let pushes_and_pops = script("redis.call('RPUSH','q','a') return redis.call('RPOP','q')");
    let library = "#!lua name=push\nredis.register_function('push', function() return redis.call('RPUSH','q','a') end)";
    con.call(&["FUNCTION", "LOAD", library]);
    let dump = {
        con.must("RPUSH x a");
        let dump = con.must("DUMP x");
        dump.bytes().expect("a dump").to_vec()
    };
    let lines: &[&[&str]] = &[
        &["LPUSH q a"],
        &["RPUSH q a"],
        &["MULTI", "RPUSH q a b", "EXEC"],
        &["MULTI", "RPUSH q a", "RPOP q", "EXEC"],
        &["MULTI", "RPUSH q a", "DEL q", "RPUSH q b", "EXEC"],
        &["RPUSH x a", "LMOVE x q LEFT LEFT"],
        &["RPUSH x a", "RENAME x q"],
        &["RPUSH x a", "COPY x q"],
        &["RPUSH x 2 1", "SORT x STORE q"],
        &["RPUSH x 2 1", "MOVE x 1"],
        &["SELECT 1", "RPUSH q a", "SELECT 0", "SWAPDB 0 1"],
        &["RPUSH x a", "WURK.REQUEUE x q a"],
        &["RPUSH x a", "WURK.CLAIM ps other x q i 1 60"],
        &["SET q a"],
        &["SADD q a"],
        &["SET q a", "DEL q", "RPUSH q a"],
        &["RPUSHX q a"],
        &["RPUSH x a", "RPOPLPUSH x q"],
        &["RPUSH x a", "RENAMENX x q"],
        &["LINSERT q BEFORE a b", "RPUSH q a"],
        &["FCALL push 0"],
        &["pushes"],
        &["pushes and pops"],
        &["restore"],
        &[],
    ];
    for given in lines {
        let mut shown = Vec::new();
        for wait in [BLMOVE, WAIT] {
            con.must("FLUSHALL");
            let waiter = Waiter::start(&server, &mut con, wait);
            for line in *given {
                match *line {
                    "pushes" => con.call(&pushes),
                    "pushes and pops" => con.call(&pushes_and_pops),
                    "restore" => con.call(&[b"RESTORE".as_slice(), b"q", b"0", &dump]),
                    line => con.say(line),
                };
            }
            con.must("PING");
            // By the time the server answers that, it has woken whom it wakes.
            let woken = blocked(&mut con) == 0;
            if !woken {
                con.must("DEL q");
                con.must("RPUSH q last");
            }
            let reply = waiter.reply();
            let job = match &reply {
                Reply::Array(items) => items[1].clone(),
                _ => reply,
            };
            shown.push((woken, job, con.say("TYPE q"), con.say("LRANGE p 0 -1")));
        }
        assert_eq!(shown[0], shown[1], "{given:?}: BLMOVE, and WURK.BCLAIM");
    }
}

/// The end of a wait is that of `BLMOVE`.
pub fn ends_as_blmove_does(binary: &Binary) {
    for version in [2, 3] {
        let (server, mut con) = start(binary);
        let connect = || {
            if version == 3 {
                server.connect3()
            } else {
                server.connect()
            }
        };
        let ends: [fn(&mut Resp, i64); 4] = [
            |_, _| (),
            |con, id| drop(con.must(&format!("CLIENT UNBLOCK {id}"))),
            |con, id| drop(con.must(&format!("CLIENT UNBLOCK {id} ERROR"))),
            |con, _| drop(con.must("REPLICAOF 127.0.0.1 1")),
        ];
        for (number, end) in ends.iter().enumerate() {
            let mut shown = Vec::new();
            for wait in [BLMOVE, WAIT] {
                con.must("REPLICAOF NO ONE");
                let mut own = connect();
                let id = own.must("CLIENT ID").integer().expect("an id");
                let wait = if number == 0 {
                    format!("{} 0.05", wait.trim_end_matches(" 30"))
                } else {
                    wait.to_owned()
                };
                let began = Instant::now();
                let reply = if number == 0 {
                    own.say(&wait)
                } else {
                    let waiter = Waiter::start_on(own, &mut con, &wait);
                    end(&mut con, id);
                    waiter.reply()
                };
                assert!(
                    number > 0 || began.elapsed() >= Duration::from_millis(50),
                    "it has waited"
                );
                shown.push(format!("{reply:?}"));
            }
            assert_eq!(
                shown[0], shown[1],
                "RESP{version}, end {number}: BLMOVE, and WURK.BCLAIM"
            );
        }
    }
}

/// Time-outs that are none, as `BLMOVE` says; then nothing has been written.
pub fn refuses_a_timeout_as_blmove_does(binary: &Binary) {
    let (_server, mut con) = start(binary);
    for timeout in [
        "x",
        "",
        "nan",
        "-1",
        "-0.5",
        "1e400",
        "1e5000",
        "inf",
        "9223372036854775807",
        "0x",
        " 1",
        "1 ",
    ] {
        let ours = con.call(&["WURK.BCLAIM", "ps", "id", "q", "p", "i", "1", "60", timeout]);
        let theirs = con.call(&["BLMOVE", "q", "p", "RIGHT", "LEFT", timeout]);
        // 7.0 takes what is past all numbers for less than nothing.
        let infinite = matches!(timeout, "inf" | "1e400" | "9223372036854775807")
            && binary.version < (7, 2, 0);
        let expected = if infinite {
            Reply::Error("ERR timeout is out of range".into())
        } else {
            theirs
        };
        assert_eq!(ours, expected, "{timeout:?}");
        assert_eq!(con.say("EXISTS ps id").integer(), Some(0), "{timeout:?}");
    }
    // What is one, however it is written.
    for timeout in ["0x1p-6", "0x.01", "1e-3", ".001"] {
        let ours = con.call(&["WURK.BCLAIM", "ps", "id", "q", "p", "i", "1", "60", timeout]);
        let theirs = con.call(&["BLMOVE", "q", "p", "RIGHT", "LEFT", timeout]);
        assert_eq!(
            ours.is_nil(),
            theirs.is_nil(),
            "{timeout:?}: {ours}, and {theirs}"
        );
    }
}

pub fn waits_in_no_transaction_and_no_script(binary: &Binary) {
    let (_server, mut con) = start(binary);
    con.must("MULTI");
    con.must(WAIT);
    assert_eq!(con.must("EXEC").to_string(), "[nil]");
    let call = WAIT
        .split(' ')
        .map(|word| format!("'{word}'"))
        .collect::<Vec<_>>()
        .join(",");
    let reply = con.call(&["EVAL", &format!("return redis.call({call})"), "0"]);
    assert!(reply.is_nil(), "{reply}");
    assert_eq!(
        con.say("HGET id beat").to_string(),
        r#""1.5""#,
        "the heartbeat is written all the same"
    );
    con.must("RPUSH q a");
    con.must("MULTI");
    con.must(WAIT);
    assert_eq!(con.must("EXEC").to_string(), r#"[[(integer) 2, "a"]]"#);
}

/// First come, first served; as many as there are jobs; in the order of the lists.
pub fn serves_in_order(binary: &Binary) {
    let (server, mut con) = start(binary);
    let waiters: Vec<_> = (0..5)
        .map(|number| {
            Waiter::start(
                &server,
                &mut con,
                &format!("WURK.BCLAIM ps id{number} q0 p0 q p i 1 60 30"),
            )
        })
        .collect();
    con.must("RPUSH q a b c");
    wait_until("three are served", || blocked(&mut con) == 2);
    // From the tail, in the order in which they came.
    let replies: Vec<_> = waiters
        .into_iter()
        .enumerate()
        .map(|(number, waiter)| {
            if number == 3 {
                con.must("RPUSH q0 d");
            }
            if number == 4 {
                con.must("LPUSH q0 e");
            }
            waiter.reply().to_string()
        })
        .collect();
    let expected = [
        r#"[(integer) 2, "c"]"#,
        r#"[(integer) 2, "b"]"#,
        r#"[(integer) 2, "a"]"#,
        r#"[(integer) 1, "d"]"#,
        r#"[(integer) 1, "e"]"#,
    ];
    assert_eq!(replies, expected);

    // Both lists are filled in one moment: the first list is the first.
    let waiter = Waiter::start(&server, &mut con, WAIT);
    con.must("MULTI");
    con.must("RPUSH q later");
    con.must("RPUSH q0 first");
    con.must("EXEC");
    assert_eq!(waiter.reply().to_string(), r#"[(integer) 1, "first"]"#);
    assert_eq!(con.say("LRANGE q 0 -1").to_string(), r#"["later"]"#);
}

/// Full, too, where `BLMOVE` from 7.2 on answers OOM.
pub fn is_woken_at_maxmemory(binary: &Binary) {
    let (server, mut con) = start(binary);
    con.must("RPUSH x a b");
    let waiters = [0, 1].map(|_| Waiter::start(&server, &mut con, WAIT));
    con.must("CONFIG SET maxmemory 1");
    con.must("WURK.REQUEUE x q a");
    con.must("WURK.CLAIM ps other x q i 1 60");
    let replies = waiters.map(|waiter| waiter.reply().to_string());
    assert_eq!(replies, [r#"[(integer) 2, "a"]"#, r#"[(integer) 2, "b"]"#]);
    assert_eq!(con.say("LRANGE p 0 -1").to_string(), r#"["b", "a"]"#);
    con.must("CONFIG SET maxmemory 0");
    let waiter = Waiter::start(&server, &mut con, BLMOVE);
    con.must("CONFIG SET maxmemory 1");
    con.must("WURK.REQUEUE p q a");
    let reply = waiter.reply().to_string();
    if binary.version < (7, 2, 0) {
        assert_eq!(reply, r#""a""#);
    } else {
        assert!(reply.starts_with("OOM "), "{reply}");
    }
}

/// A heartbeat at the call, and one on waking by the server's clock; and what
/// went wrong since.
pub fn looks_again_on_waking(binary: &Binary) {
    let (server, mut con) = start(binary);
    let waiter = Waiter::start(&server, &mut con, WAIT);
    assert_eq!(con.say("HGET id beat").to_string(), r#""1.5""#);
    con.must("DEL id ps");
    con.must("RPUSH q a");
    waiter.reply();
    assert_eq!(
        con.say("HGET id info").to_string(),
        r#""i""#,
        "it had lapsed"
    );
    assert_eq!(con.say("SMEMBERS ps").to_string(), r#"["id"]"#);
    let beat = con.say("HGET id beat");
    let beat = String::from_utf8_lossy(beat.bytes().expect("a beat")).into_owned();
    let now = con.say("TIME").items()[0].integer().expect("seconds") as f64;
    assert!(
        (beat.parse::<f64>().expect("seconds") - now).abs() < 5.0,
        "{beat}"
    );
    assert_eq!(
        beat.split_once('.').expect("a fraction").1.len(),
        6,
        "{beat}"
    );

    // What the job needs has become something else: refused, and no job moves.
    for (line, key) in [("SET id x", "id"), ("SET ps x", "ps"), ("SET p x", "p")] {
        con.must("FLUSHALL");
        let waiter = Waiter::start(&server, &mut con, WAIT);
        con.must("DEL id ps");
        con.must(line);
        con.must("RPUSH q a");
        let reply = waiter.reply();
        assert!(
            reply.to_string().starts_with("WRONGTYPE "),
            "{line}: {reply}"
        );
        assert_eq!(con.say("LRANGE q 0 -1").to_string(), r#"["a"]"#, "{line}");
        assert_eq!(
            con.say(&format!("GET {key}")).to_string(),
            r#""x""#,
            "{line}"
        );
    }
    // Something of another type alone wakes nobody.
    con.must("FLUSHALL");
    let waiter = Waiter::start(&server, &mut con, WAIT);
    con.must("SET q x");
    assert_eq!(blocked(&mut con), 1);
    con.must("DEL q");
    con.must("RPUSH q a");
    assert_eq!(waiter.reply().to_string(), r#"[(integer) 2, "a"]"#);
}

/// Who has gone takes no job along, and the others get it.
pub fn a_client_that_has_gone_takes_nothing(binary: &Binary) {
    let (server, mut con) = start(binary);
    for _ in 0..20 {
        let mut gone = server.connect();
        gone.send(&WAIT.split(' ').collect::<Vec<_>>())
            .expect("a server");
        wait_until("it waits", || blocked(&mut con) == 1);
        let waiter = Waiter::start(&server, &mut con, "WURK.BCLAIM ps id2 q p2 i 1 60 30");
        drop(gone);
        wait_until("it has gone", || blocked(&mut con) == 1);
        con.must("RPUSH q a");
        assert_eq!(waiter.reply().to_string(), r#"[(integer) 1, "a"]"#);
    }
    assert_eq!(con.say("LLEN p2").integer(), Some(20));
    assert_eq!(con.say("EXISTS q p").integer(), Some(0));
}

/// Plain commands only, behind the push that woke it, also on a replica.
pub fn streams_plain_commands(binary: &Binary) {
    let options = Options::new(binary)
        .set("appendonly", &["yes"])
        .set("appendfsync", &["always"]);
    let server = options
        .clone()
        .module()
        .port()
        .set("repl-diskless-sync-delay", &["0"])
        .start();
    let replica = Options::new(binary)
        .set("replicaof", &["127.0.0.1", &server.port.to_string()])
        .start();
    let (mut con, mut there) = (server.connect(), replica.connect());
    in_step(&mut there);
    let waiter = Waiter::start(&server, &mut con, WAIT);
    con.must("RPUSH q a");
    waiter.reply();
    let timed_out = con.must("WURK.BCLAIM ps id q p i 2.5 60 0.01");
    assert!(timed_out.is_nil());
    // Of a process whose hash has lapsed while it waited, all or nothing.
    let waiter = Waiter::start(&server, &mut con, WAIT);
    con.must("DEL id ps");
    con.must("RPUSH q b");
    waiter.reply();
    let before = digest(&mut con);
    wait_until("the replica holds the same", || {
        digest(&mut there) == before
    });
    let stopped = server.kill();
    let all: Vec<_> = aof::commands(stopped.folder())
        .iter()
        .map(|command| String::from_utf8_lossy(&command[0]).to_uppercase())
        .collect();
    // On 7.0 what is called for a woken client stands before the transaction.
    let end: &[&str] = if binary.version < (7, 2, 0) {
        &["SADD", "MULTI"]
    } else {
        &["MULTI", "SADD"]
    };
    let end = [
        &["DEL", "RPUSH"],
        end,
        &["HSET", "HSET", "PEXPIREAT", "LMOVE", "EXEC"],
    ]
    .concat();
    assert_eq!(all[all.len() - end.len()..], end);
    let names: Vec<_> = aof::commands(stopped.folder())
        .iter()
        .map(|command| String::from_utf8_lossy(&command[0]).to_uppercase())
        .filter(|name| !["MULTI", "EXEC", "SELECT"].contains(&name.as_str()))
        .collect();
    let expected = [
        "HSET",
        "SADD",
        "HSET",
        "PEXPIREAT",
        "RPUSH",
        "HSET",
        "PEXPIREAT",
        "LMOVE",
        "HSET",
        "PEXPIREAT",
        "HSET",
        "PEXPIREAT",
        "DEL",
        "RPUSH",
        "SADD",
        "HSET",
        "HSET",
        "PEXPIREAT",
        "LMOVE",
    ];
    assert_eq!(names, expected);
    let server = options.start_over(stopped);
    assert_eq!(
        digest(&mut server.connect()),
        before,
        "a restart without the module"
    );
}

/// Killed in the middle, eight times: a job stands in one list.
pub fn killed_in_the_middle_leaves_a_job_in_one_list(binary: &Binary) {
    let options = Options::new(binary)
        .module()
        .set("appendonly", &["yes"])
        .set("appendfsync", &["always"]);
    let mut server = options.start();
    let mut pushed = 0;
    for round in 0..8 {
        let workers: Vec<_> = (0..4)
            .map(|number| {
                let mut con = server.connect();
                thread::spawn(move || {
                    let line = format!("WURK.BCLAIM ps id{number} q0 p0 q p{number} i 1 60 0");
                    let words: Vec<_> = line.split(' ').collect();
                    while con
                        .try_call(&words)
                        .is_ok_and(|reply| !reply.items().is_empty())
                    {}
                })
            })
            .collect();
        let mut con = server.connect();
        let until = Instant::now() + Duration::from_millis(20 + 7 * round);
        while Instant::now() < until {
            con.must(&format!("LPUSH q job-{pushed}"));
            pushed += 1;
        }
        let stopped = server.kill();
        workers
            .into_iter()
            .for_each(|worker| worker.join().expect("a worker"));
        server = options.start_over(stopped);
    }
    let mut con = server.connect();
    let mut jobs: Vec<String> = Vec::new();
    for list in ["q", "p0", "p1", "p2", "p3"] {
        jobs.extend(
            con.say(&format!("LRANGE {list} 0 -1"))
                .items()
                .iter()
                .map(ToString::to_string),
        );
    }
    jobs.sort();
    let mut expected: Vec<_> = (0..pushed).map(|job| format!("\"job-{job}\"")).collect();
    expected.sort();
    assert_eq!(jobs, expected, "every job that was acknowledged, once");
}
