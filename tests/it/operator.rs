use std::collections::HashMap;

use tempfile::TempDir;
use wurk_testkit::{Binary, Options, Resp};

use crate::door::digest;
use crate::stream::wait_until;

/// `INFO wurk`, as numbers.
fn info(con: &mut Resp) -> HashMap<String, i64> {
    let info = con.say("INFO wurk");
    let info = String::from_utf8_lossy(info.bytes().expect("text")).into_owned();
    assert!(info.contains("# wurk_stats"), "{info}");
    let lines = info.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(name, value)| (name.to_owned(), value.parse().expect("a number")))
        .collect()
}

pub fn info_counts_what_was_done(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let mut con = server.connect();
    let expect = |con: &mut Resp, fields: &[(&str, i64)]| {
        let info = info(con);
        for (field, value) in fields {
            assert_eq!(info.get(*field), Some(value), "{field} of {info:?}");
        }
    };
    let fields = [
        "claims",
        "claims_empty",
        "requeues",
        "requeues_missed",
        "locks",
        "locks_held",
        "zadds",
        "calls_at_maxmemory",
        "growth_refused",
        "waiting_clients",
        "bytes_past_maxmemory",
        "bytes_past_maxmemory_peak",
    ];
    expect(
        &mut con,
        &fields
            .map(|field| format!("wurk_{field}"))
            .iter()
            .map(|field| (field.as_str(), 0))
            .collect::<Vec<_>>(),
    );
    con.must("RPUSH q a b c d");
    con.must("WURK.CLAIM ps id q p i 1 60");
    con.must("WURK.CLAIM ps id none p i 1 60");
    con.must("WURK.BCLAIM ps id q p i 1 60 1");
    con.must("WURK.BCLAIM ps id none p i 1 60 0.001");
    con.must("WURK.REQUEUE p q c");
    con.must("WURK.REQUEUE p q nothing");
    con.must("WURK.LOCK l 60000");
    con.must("WURK.LOCK l 60000");
    con.must("WURK.LOCK l 60000");
    con.must("WURK.ZADD z 1 a");
    con.must("WURK.ZADD z 2 a");
    con.say("WURK.ZADD z late a");
    con.say("WURK.CLAIM ps id q p i 1 0");
    let done = [
        ("wurk_claims", 2),
        ("wurk_claims_empty", 2),
        ("wurk_requeues", 1),
        ("wurk_requeues_missed", 1),
        ("wurk_locks", 1),
        ("wurk_locks_held", 2),
        ("wurk_zadds", 2),
        ("wurk_calls_at_maxmemory", 0),
        ("wurk_bytes_past_maxmemory_peak", 0),
    ];
    expect(&mut con, &done);
    // Full: by a little, then by a lot less.
    con.must("CONFIG SET maxmemory 500000");
    con.must("WURK.CLAIM ps id q p i 1 60");
    con.must("WURK.ZADD z 3 a");
    let full = info(&mut con);
    assert_eq!(full["wurk_calls_at_maxmemory"], 2);
    let used = con.info("memory", "used_memory");
    for field in [
        "wurk_bytes_past_maxmemory",
        "wurk_bytes_past_maxmemory_peak",
    ] {
        // Buffers of clients come and go between two questions.
        assert!(
            (full[field] - (used - 500_000)).abs() < 200_000,
            "{field}: {} of {used}",
            full[field]
        );
    }
    con.must("CONFIG SET maxmemory 0");
    let peak = info(&mut con);
    assert_eq!(peak["wurk_bytes_past_maxmemory"], 0);
    assert_eq!(
        peak["wurk_bytes_past_maxmemory_peak"],
        full["wurk_bytes_past_maxmemory_peak"]
    );
    waiting_clients_are_counted(&mut con, &|| server.connect());
    // Everything else is where it was: no other section has changed its name.
    assert!(
        con.say("INFO everything")
            .to_string()
            .contains("wurk_claims:")
    );
}

/// However a wait ends, it ends.
fn waiting_clients_are_counted(con: &mut Resp, connect: &dyn Fn() -> Resp) {
    let mut waits = |count: i64| {
        wait_until("the count is right", || {
            info(con)["wurk_waiting_clients"] == count
        })
    };
    let wait = |timeout: &str| {
        let mut own = connect();
        let id = own.must("CLIENT ID").integer().expect("an id");
        own.send(
            &format!("WURK.BCLAIM ps id w p i 1 60 {timeout}")
                .split(' ')
                .collect::<Vec<_>>(),
        )
        .expect("a server");
        (own, id)
    };
    let (served, _) = wait("0");
    let (unblocked, id) = wait("0");
    let (gone, _) = wait("0");
    waits(3);
    drop(gone);
    waits(2);
    let mut other = connect();
    other.must(&format!("CLIENT UNBLOCK {id} ERROR"));
    waits(1);
    other.must("RPUSH w job");
    waits(0);
    let (mut timed_out, _) = wait("0.05");
    assert!(timed_out.read().expect("a reply").is_nil());
    waits(0);
    drop((served, unblocked));
}

pub fn a_brake_holds_what_grows(binary: &Binary) {
    let server = Options::new(binary)
        .module_with(&["growth-limit", "10"])
        .start();
    let mut con = server.connect();
    assert_eq!(
        con.say("CONFIG GET wurk.growth-limit").to_string(),
        r#"["wurk.growth-limit", "10"]"#
    );
    con.must("RPUSH q a b c d");
    con.must("SADD ps x");
    // A runaway client, on a full server, stops at 110 % of it.
    let limit = 4 << 20;
    con.must(&format!("CONFIG SET maxmemory {limit}"));
    let member = "m".repeat(2_000);
    let mut added = 0;
    let refused = loop {
        let reply = con.call(&["WURK.ZADD", "z", "1", &format!("{added}-{member}")]);
        match reply.error() {
            Some(error) => break error.to_owned(),
            None => added += 1,
        }
        assert!(added < 10_000, "nothing stops it");
    };
    assert_eq!(
        refused,
        "OOM command not allowed when used memory > 'maxmemory' + 'wurk.growth-limit' percent."
    );
    let used = con.info("memory", "used_memory");
    assert!(
        used > limit * 108 / 100 && used < limit * 112 / 100,
        "{used} of {limit}"
    );
    let before = digest(&mut con);
    assert_eq!(con.say("WURK.LOCK l 1000").error(), Some(refused.as_str()));
    assert_eq!(digest(&mut con), before, "nothing is written");
    assert!(info(&mut con)["wurk_growth_refused"] >= 2);
    // What lets it shrink goes on.
    assert_eq!(
        con.must("WURK.CLAIM ps id q p i 1 60").to_string(),
        r#"[(integer) 1, "d"]"#
    );
    assert_eq!(
        con.must("WURK.BCLAIM ps id q p i 1 60 1").to_string(),
        r#"[(integer) 1, "c"]"#
    );
    assert_eq!(con.must("WURK.REQUEUE p q d").integer(), Some(1));
    // And to its end, with nothing lost.
    let mut drained = 0;
    while !con.must("WURK.CLAIM ps id q p i 1 60").is_nil() {
        drained += 1;
    }
    assert_eq!(drained, 3, "b, a, and the d that was given back");
    assert_eq!(
        con.say("LRANGE p 0 -1").to_string(),
        r#"["a", "b", "d", "c"]"#
    );
    // At run time, too.
    con.must("CONFIG SET wurk.growth-limit 0");
    con.must("WURK.LOCK l 1000");
    con.must("CONFIG SET wurk.growth-limit 1");
    assert!(con.say("WURK.ZADD z 1 more").error().is_some());
    con.must("CONFIG SET maxmemory 0");
    con.must("WURK.ZADD z 1 more");
    for bad in ["-1", "ten", "100001", ""] {
        let reply = con.call(&["CONFIG", "SET", "wurk.growth-limit", bad]);
        assert!(reply.error().is_some(), "{bad:?}: {reply}");
        assert_eq!(
            con.say("CONFIG GET wurk.growth-limit").items()[1].to_string(),
            r#""1""#
        );
    }
}

pub fn a_bad_argument_is_refused(binary: &Binary) {
    for (arguments, says) in [
        (
            &["growth-limit", "ten"][..],
            "growth-limit takes a percentage from 0 to 100000, found \"ten\"",
        ),
        (
            &["growth-limit", "-1"],
            "growth-limit takes a percentage from 0 to 100000, found \"-1\"",
        ),
        (
            &["growth-limit"],
            "its one argument is 'growth-limit <percent>', found \"growth-limit\"",
        ),
        (
            &["loud", "yes"],
            "its one argument is 'growth-limit <percent>', found \"loud yes\"",
        ),
        (
            &["growth-limit", "1", "2"],
            "its one argument is 'growth-limit <percent>', found \"growth-limit 1 2\"",
        ),
    ] {
        let folder = TempDir::new().expect("a folder");
        let log = Options::new(binary)
            .module_with(arguments)
            .try_start(folder)
            .expect_err("a bad argument");
        assert!(
            log.contains(&format!("not loaded: {says}")),
            "{arguments:?}: {log}"
        );
    }
    // By the server's own configuration, and by MODULE LOADEX, which comes last.
    let server = Options::new(binary)
        .set("enable-module-command", &["yes"])
        .start();
    let mut con = server.connect();
    let module = wurk_testkit::binary::module().display().to_string();
    let refused = con.say(&format!(
        "MODULE LOADEX {module} CONFIG wurk.growth-limit ten"
    ));
    assert!(refused.error().is_some(), "{refused}");
    con.must(&format!(
        "MODULE LOADEX {module} CONFIG wurk.growth-limit 25 ARGS growth-limit 5"
    ));
    assert_eq!(
        con.say("CONFIG GET wurk.growth-limit").items()[1].to_string(),
        r#""25""#
    );
    con.must("WURK.LOCK l 1000");
}

/// What was done stands in the report of a crash.
pub fn a_crash_report_tells_too(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let mut con = server.connect();
    con.must("RPUSH q job");
    con.must("WURK.CLAIM ps id q p i 1 60");
    con.send(&["DEBUG", "SEGFAULT"]).expect("a server");
    con.read().expect_err("no reply");
    wait_until("the report is written", || {
        server.log().contains("wurk_claims:1")
    });
}
