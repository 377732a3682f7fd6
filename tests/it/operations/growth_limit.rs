//! `wurk.growth-limit`: how it is set, and what it refuses.

use tempfile::TempDir;
use wurk_testkit::{Binary, Options};

use super::info::info;
use crate::support::inspect::digest;

pub fn refuses_writes_past_the_limit(binary: &Binary) {
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
    // A runaway client is stopped at 110 % of maxmemory.
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
        assert!(added < 10_000, "it is never refused");
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
    // The commands that let the server shrink still work.
    assert_eq!(
        con.must("WURK.CLAIM ps id q p i 1 60").to_string(),
        r#"[(integer) 1, "d"]"#
    );
    assert_eq!(
        con.must("WURK.BCLAIM ps id q p i 1 60 1").to_string(),
        r#"[(integer) 1, "c"]"#
    );
    assert_eq!(con.must("WURK.REQUEUE p q d").integer(), Some(1));
    // The queue is drained, and no job is lost.
    let mut drained = 0;
    while !con.must("WURK.CLAIM ps id q p i 1 60").is_nil() {
        drained += 1;
    }
    assert_eq!(drained, 3, "b, a, and the requeued d");
    assert_eq!(
        con.say("LRANGE p 0 -1").to_string(),
        r#"["a", "b", "d", "c"]"#
    );
    // The limit can be set at run time.
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

pub fn refuses_bad_arguments(binary: &Binary) {
    for (arguments, expected) in [
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
            "its arguments are 'growth-limit <percent>', 'rescue-limit <percent>' and 'rescue-users <name> ...', found \"growth-limit\"",
        ),
        (
            &["growth-limit", "1", "rescue-limit", "-1"],
            "rescue-limit takes a percentage from 0 to 100000, found \"-1\"",
        ),
        (
            &["loud", "yes"],
            "its arguments are 'growth-limit <percent>', 'rescue-limit <percent>' and 'rescue-users <name> ...', found \"loud yes\"",
        ),
        (
            &["growth-limit", "1", "2"],
            "its arguments are 'growth-limit <percent>', 'rescue-limit <percent>' and 'rescue-users <name> ...', found \"growth-limit 1 2\"",
        ),
    ] {
        let folder = TempDir::new().expect("a folder");
        let log = Options::new(binary)
            .module_with(arguments)
            .try_start(folder)
            .expect_err("a bad argument");
        assert!(
            log.contains(&format!("not loaded: {expected}")),
            "{arguments:?}: {log}"
        );
    }
    // MODULE LOADEX sets it too, and its CONFIG overrides its ARGS.
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
