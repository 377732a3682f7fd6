//! `BLMOVE` and `BRPOPLPUSH` of a rescued user, beside a plain client's.

use std::time::{Duration, Instant};

use wurk_testkit::{Binary, Options, Reply, Resp, Server};

use super::side::{self, Client, has_filter};
use crate::support::inspect::blocked;
use crate::support::wait::{in_step, wait_until};
use crate::support::waiter::Waiter;

const WAITS: [&str; 2] = ["BLMOVE q p RIGHT LEFT", "BRPOPLPUSH q p"];

/// A full server with a rescued worker, and one that is never full.
fn both(binary: &Binary) -> [(Server, Resp, bool); 2] {
    let (server, con) = side::full(binary);
    let plain = Options::new(binary).start();
    let mut plain_con = plain.connect();
    side::add_user(&mut plain_con, side::WORKER, "~* &* +@all");
    [(server, con, true), (plain, plain_con, false)]
}

/// A client that is blocked by `line`, in RESP2 or RESP3.
fn wait(binary: &Binary, server: &Server, con: &mut Resp, rescued: bool, line: &str) -> Waiter {
    wait_on(binary, server.connect(), con, rescued, line)
}

fn wait_on(binary: &Binary, own: Resp, con: &mut Resp, rescued: bool, line: &str) -> Waiter {
    let client = Client::login(binary, own, side::WORKER);
    let line = if rescued && !has_filter(binary) {
        format!("WURK.RESCUE {line}")
    } else {
        line.to_owned()
    };
    Waiter::start_on(client.con, con, &line)
}

fn push(con: &mut Resp, full: bool, line: &str) {
    con.must("CONFIG SET maxmemory 0");
    con.must("MULTI");
    con.must(line);
    if full {
        con.must("CONFIG SET maxmemory 1");
    }
    con.must("EXEC");
}

/// What may put something into a list, or end a wait: the reply, its type, and what
/// is left are those of a plain client.
pub fn end_as_without_the_module(binary: &Binary) {
    let pushes: &[&[&str]] = &[
        &["LPUSH q a"],
        &["RPUSH q a b"],
        &["RPUSH x a", "RENAME x q"],
        &["RPUSH x a", "LMOVE x q LEFT LEFT"],
        &["RPUSH x 2 1", "SORT x STORE q"],
        &["SET q x", "DEL q", "RPUSH q a"],
        &["ZADD q 1 x", "DEL q", "RPUSH q a"],
        &["SET p x", "RPUSH q a"],
        &["REPLICAOF 127.0.0.1 1"],
        &["UNBLOCK"],
        &["UNBLOCK ERROR"],
        &["TIMEOUT"],
    ];
    for command in WAITS {
        for lines in pushes {
            for version in [2, 3] {
                let shown = both(binary).map(|(server, mut con, rescued)| {
                    let mut own = if version == 3 {
                        server.connect3()
                    } else {
                        server.connect()
                    };
                    let id = own.must("CLIENT ID").integer().expect("an id");
                    let timeout = if lines[0] == "TIMEOUT" { "0.05" } else { "30" };
                    let line = format!("{command} {timeout}");
                    let began = Instant::now();
                    let waiter = wait_on(binary, own, &mut con, rescued, &line);
                    for line in *lines {
                        match line.strip_prefix("UNBLOCK") {
                            Some(how) => drop(con.must(&format!("CLIENT UNBLOCK {id}{how}"))),
                            None if *line == "TIMEOUT" => {}
                            None if line.starts_with("REPLICAOF") => drop(con.must(line)),
                            None => push(&mut con, rescued, line),
                        }
                    }
                    let reply = waiter.reply();
                    assert!(lines[0] != "TIMEOUT" || began.elapsed() >= Duration::from_millis(50));
                    con.must("CONFIG SET maxmemory 0");
                    let left = ["q", "p"].map(|key| {
                        let kind = con.say(&format!("TYPE {key}")).to_string();
                        format!("{kind} {}", con.say(&format!("LRANGE {key} 0 -1")))
                    });
                    (format!("{reply:?}"), left)
                });
                assert_eq!(shown[0], shown[1], "{command}, {lines:?}, RESP{version}");
            }
        }
    }
}

/// A wait that began before the server was full, and one that began after.
pub fn are_served_at_maxmemory(binary: &Binary) {
    for full_before in [false, true] {
        for command in WAITS {
            let (server, mut con) = side::full(binary);
            if !full_before {
                con.must("CONFIG SET maxmemory 0");
            }
            let waiter = wait(binary, &server, &mut con, true, &format!("{command} 30"));
            push(&mut con, true, "RPUSH q a");
            let reply = waiter.reply().to_string();
            assert_eq!(reply, r#""a""#, "{command}, full before: {full_before}");
            assert_eq!(con.say("LRANGE p 0 -1").to_string(), r#"["a"]"#);
            assert_eq!(con.info("wurk", "wurk_waiting_clients"), 0);
        }
    }
    // Of a user who is not named any more: the server's own OOM, and no job moves.
    let (server, mut con) = side::full(binary);
    con.must("CONFIG SET maxmemory 0");
    let waiter = wait(binary, &server, &mut con, true, "BLMOVE q p RIGHT LEFT 30");
    con.call(&["CONFIG", "SET", "wurk.rescue-users", ""]);
    push(&mut con, true, "RPUSH q a");
    assert!(
        waiter
            .reply()
            .to_string()
            .starts_with("OOM command not allowed")
    );
    assert_eq!(con.say("LRANGE q 0 -1").to_string(), r#"["a"]"#);
}

/// First come, first served, with plain clients among them.
pub fn are_served_in_order(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    con.must("CONFIG SET maxmemory 0");
    let waiters: Vec<_> = (0..6)
        .map(|number| {
            let rescued = binary.version >= (7, 2, 0) && number % 2 == 0;
            let line = format!("BLMOVE q p{number} RIGHT LEFT 30");
            if rescued {
                wait(binary, &server, &mut con, true, &line)
            } else {
                Waiter::start(&server, &mut con, &line)
            }
        })
        .collect();
    con.must("RPUSH q f e d c b a");
    wait_until("all are served", || blocked(&mut con) == 0);
    let replies: Vec<_> = waiters
        .into_iter()
        .map(|waiter| waiter.reply().to_string())
        .collect();
    let jobs = ["a", "b", "c", "d", "e", "f"].map(|job| format!("\"{job}\""));
    assert_eq!(replies, jobs);
}

/// Inside MULTI there is nothing at once, as for a plain client.
pub fn do_not_in_multi(binary: &Binary) {
    for command in WAITS {
        let shown = both(binary).map(|(server, mut con, rescued)| {
            if !side::queues_when_full(binary) {
                con.must("CONFIG SET maxmemory 0");
            }
            let mut client = Client::login(binary, server.connect(), side::WORKER);
            client.con.must("MULTI");
            let line = format!("{command} 30");
            let queued = if rescued {
                client.say(&line)
            } else {
                client.con.say(&line)
            };
            let replies: Reply = client.con.must("EXEC");
            format!("{queued:?} {replies:?}")
        });
        assert_eq!(shown[0], shown[1], "{command}");
    }
}

/// A replica that becomes read-only while a client waits: the push of its primary
/// wakes the client, which is refused as a native one is from 7.2 on.
pub fn are_refused_on_a_replica(binary: &Binary) {
    let primary = Options::new(binary).primary().start();
    let replica = side::options(binary)
        .replica_of(primary.port)
        .set("replica-read-only", &["no"])
        .start();
    let (mut here, mut there) = (primary.connect(), replica.connect());
    in_step(&mut there);
    side::add_user(&mut there, side::WORKER, "~* &* +@all");
    for command in WAITS {
        there.must("CONFIG SET replica-read-only no");
        let waiter = wait(binary, &replica, &mut there, true, &format!("{command} 30"));
        there.must("CONFIG SET replica-read-only yes");
        here.must("RPUSH q a");
        let reply = waiter.reply().to_string();
        assert!(reply.starts_with("READONLY "), "{command}: {reply}");
        assert_eq!(there.say("LRANGE q 0 -1").to_string(), r#"["a"]"#);
        here.must("DEL q");
        wait_until("it has been replicated", || {
            there.say("EXISTS q").integer() == Some(0)
        });
    }
}
