//! A replica that minds its own maxmemory, and what the doctor says on either side.

use std::process::Command;

use wurk_testkit::{Binary, Options};

use crate::doctor::findings::diagnose;
use crate::support::inspect::digest;
use crate::support::wait::{in_step, wait_until};

pub fn diverges_when_full_unless_it_ignores_maxmemory(binary: &Binary) {
    let limit = |options: Options| {
        options
            .primary()
            .set("maxmemory", &["100mb"])
            .set("maxmemory-policy", &["noeviction"])
    };
    let primary = limit(Options::new(binary).module_if_supported()).start();
    let replica = limit(Options::new(binary)).replica_of(primary.port).start();
    let [mut here, mut there] = [&primary, &replica].map(|server| server.connect());
    in_step(&mut there);
    let [at_primary, at_replica] =
        [&primary, &replica].map(|server| format!("redis://127.0.0.1:{}/", server.port));
    here.must("RPUSH q a b c");

    // By default a full replica applies everything.
    there.must("CONFIG SET maxmemory 1");
    here.must("LMOVE q p RIGHT LEFT");
    here.must("WAIT 1 20000");
    assert_eq!(digest(&mut here), digest(&mut there));
    let (_, find) = diagnose(&at_replica, &[]);
    assert_eq!(find("replication"), "warn: a replica");
    assert_eq!(find("divergence"), "none");
    let (status, find) = diagnose(&at_primary, &[]);
    assert_eq!(
        (find("replication").as_str(), status),
        ("fine: a primary, replicas: 1", 0)
    );

    // With a limit of its own: reported before it is full,
    there.must("CONFIG SET maxmemory 100mb");
    there.must("CONFIG SET replica-ignore-maxmemory no");
    let found = "warn: a replica, replica-ignore-maxmemory no,";
    let (_, find) = diagnose(&at_replica, &[]);
    assert_eq!(find("replication"), format!("{found} not full yet"));
    // and when it is full: it drops the move silently.
    there.must("CONFIG SET maxmemory 1");
    let (_, find) = diagnose(&at_replica, &[]);
    assert_eq!(find("replication"), format!("{found} and full"));
    assert_eq!(find("divergence"), "none");
    here.must("LMOVE q p RIGHT LEFT");
    here.must("WAIT 1 20000");
    wait_until("it has dropped the move", || {
        there.info("stats", "unexpected_error_replies") == 1
    });
    assert_ne!(digest(&mut here), digest(&mut there), "it diverges");
    assert_eq!(there.must("LLEN q").integer(), Some(2));
    assert_eq!(here.must("LLEN q").integer(), Some(1));
    assert!(
        there
            .say("INFO replication")
            .to_string()
            .contains("master_link_status:up")
    );
    let (_, find) = diagnose(&at_replica, &[]);
    assert!(
        find("divergence").starts_with("warn: 1 commands from its primary"),
        "{}",
        find("divergence")
    );

    // On the primary, its own setting is reported.
    here.must("CONFIG SET replica-ignore-maxmemory no");
    let (status, find) = diagnose(&at_primary, &[]);
    assert_eq!(
        (find("replication").as_str(), status),
        (
            "warn: a primary, replicas: 1, replica-ignore-maxmemory no",
            1
        )
    );
}

/// The output buffers of a replica that does not read are memory in use, but do not count
/// towards maxmemory.
pub fn output_buffers_do_not_fill_the_primary(binary: &Binary) {
    let primary = Options::new(binary)
        .primary()
        .set("maxmemory", &["1gb"])
        .set("maxmemory-policy", &["noeviction"])
        .start();
    let replica = Options::new(binary).replica_of(primary.port).start();
    in_step(&mut replica.connect());
    let signal = |name: &str| {
        let pid = replica.id().to_string();
        let done = Command::new("kill").args([name, &pid]).status();
        assert!(done.expect("kill").success());
    };
    signal("-STOP");
    let mut con = primary.connect();
    let value = "x".repeat(1 << 20);
    for _ in 0..50 {
        con.call(&["SET", "big", &value]);
    }
    let apart = con.info("memory", "mem_not_counted_for_evict");
    assert!(apart > 20_000_000, "{apart}");
    let limit = con.info("memory", "used_memory") - apart / 2;
    con.must(&format!("CONFIG SET maxmemory {limit}"));
    con.must("RPUSH q a");
    let (status, find) = diagnose(&format!("redis://127.0.0.1:{}/", primary.port), &[]);
    signal("-CONT");
    let memory = find("memory");
    assert!(memory.starts_with("fine: ") && status == 0, "{memory}");
}
