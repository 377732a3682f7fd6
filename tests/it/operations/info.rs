//! `INFO wurk`, in the reply and in crash reports.

use std::collections::HashMap;

use wurk_testkit::{Binary, Options, Resp};

use crate::support::wait::wait_until;

/// The numbers in `INFO wurk`.
pub fn info(con: &mut Resp) -> HashMap<String, i64> {
    let info = con.say("INFO wurk");
    let info = String::from_utf8_lossy(info.bytes().expect("text")).into_owned();
    assert!(info.contains("# wurk_stats"), "{info}");
    let lines = info.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(name, value)| (name.to_owned(), value.parse().expect("a number")))
        .collect()
}

pub fn counts_calls(binary: &Binary) {
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
        "promotions",
        "promotions_missed",
        "beats",
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
    con.must("WURK.PROMOTE z q a");
    con.must("WURK.PROMOTE z q a");
    con.must("WURK.BEAT ps id i 1 60");
    con.say("WURK.PROMOTE q z a");
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
        ("wurk_promotions", 1),
        ("wurk_promotions_missed", 1),
        ("wurk_beats", 1),
        ("wurk_calls_at_maxmemory", 0),
        ("wurk_bytes_past_maxmemory_peak", 0),
    ];
    expect(&mut con, &done);
    // The server is full.
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
        // The buffers of clients change between two calls.
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
    // The section is part of `INFO everything`.
    assert!(
        con.say("INFO everything")
            .to_string()
            .contains("wurk_claims:")
    );
}

/// Every end of a wait reduces the number of waiting clients.
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

/// A crash report contains the counters.
pub fn is_in_crash_reports(binary: &Binary) {
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
