//! `WURK.BCLAIM` wakes, ends and refuses timeouts as `BLMOVE` does.

use std::time::{Duration, Instant};

use wurk_testkit::{Binary, Reply, Resp};

use crate::support::inspect::blocked;
use crate::support::waiter::{BLMOVE, WAIT, Waiter, start};

/// Every way to add to a list wakes one if it wakes the other.
pub fn wakes_as_blmove_does(binary: &Binary) {
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
            // When the server replies to this, it has served the clients that it wakes.
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

/// A timeout, `CLIENT UNBLOCK` and a change of role end both with the same reply.
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

/// An invalid timeout is refused with the error of `BLMOVE`, and nothing is written.
pub fn refuses_timeouts_as_blmove_does(binary: &Binary) {
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
        // 7.0 takes infinity for a negative number.
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
    // Valid timeouts in other notations.
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
