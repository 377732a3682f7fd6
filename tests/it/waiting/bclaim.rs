//! `WURK.BCLAIM`: claims, waits, and serves its clients in order.

use wurk_testkit::Binary;

use crate::commands::contract_cases::CASES;
use crate::support::backend::normalize;
use crate::support::inspect::{blocked, digest};
use crate::support::wait::wait_until;
use crate::support::waiter::{BLMOVE, WAIT, Waiter, start};

/// If a job is there, replies and data are those of `WURK.CLAIM`.
pub fn replies_as_claim_if_a_job_is_there(binary: &Binary) {
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
            shown.push((normalize(&con.say(&call)).to_string(), digest(&mut con)));
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

pub fn never_waits_in_multi_or_scripts(binary: &Binary) {
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
        "the heartbeat is written anyway"
    );
    con.must("RPUSH q a");
    con.must("MULTI");
    con.must(WAIT);
    assert_eq!(con.must("EXEC").to_string(), r#"[[(integer) 2, "a"]]"#);
}

/// Clients are served FIFO, as many as there are jobs, and lists in their order.
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
    // Jobs are taken from the tail, by the clients in FIFO order.
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

    // If one transaction fills both lists, the first list is served first.
    let waiter = Waiter::start(&server, &mut con, WAIT);
    con.must("MULTI");
    con.must("RPUSH q later");
    con.must("RPUSH q0 first");
    con.must("EXEC");
    assert_eq!(waiter.reply().to_string(), r#"[(integer) 1, "first"]"#);
    assert_eq!(con.say("LRANGE q 0 -1").to_string(), r#"["later"]"#);
}

/// A full server serves it, and from 7.2 on replies OOM to `BLMOVE`.
pub fn wakes_at_maxmemory(binary: &Binary) {
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

/// On waking it writes the heartbeat by the server's clock, and checks its keys again.
pub fn checks_again_on_waking(binary: &Binary) {
    let (server, mut con) = start(binary);
    let waiter = Waiter::start(&server, &mut con, WAIT);
    assert_eq!(con.say("HGET id beat").to_string(), r#""1.5""#);
    con.must("DEL id ps");
    con.must("RPUSH q a");
    waiter.reply();
    assert_eq!(
        con.say("HGET id info").to_string(),
        r#""i""#,
        "the hash is written again"
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

    // If a key has another type now, the call is refused and no job moves.
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
    // A key of another type does not wake the client.
    con.must("FLUSHALL");
    let waiter = Waiter::start(&server, &mut con, WAIT);
    con.must("SET q x");
    assert_eq!(blocked(&mut con), 1);
    con.must("DEL q");
    con.must("RPUSH q a");
    assert_eq!(waiter.reply().to_string(), r#"[(integer) 2, "a"]"#);
}

/// A client that has disconnected takes no job, and the next one gets it.
pub fn disconnected_clients_take_no_job(binary: &Binary) {
    let (server, mut con) = start(binary);
    for _ in 0..20 {
        let mut gone = server.connect();
        gone.send(&WAIT.split(' ').collect::<Vec<_>>())
            .expect("a server");
        wait_until("it waits", || blocked(&mut con) == 1);
        let waiter = Waiter::start(&server, &mut con, "WURK.BCLAIM ps id2 q p2 i 1 60 30");
        drop(gone);
        wait_until("it has disconnected", || blocked(&mut con) == 1);
        con.must("RPUSH q a");
        assert_eq!(waiter.reply().to_string(), r#"[(integer) 1, "a"]"#);
    }
    assert_eq!(con.say("LLEN p2").integer(), Some(20));
    assert_eq!(con.say("EXISTS q p").integer(), Some(0));
}
