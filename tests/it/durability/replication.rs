//! Chains of replicas, and replicas that load the module.

use wurk_testkit::{Binary, Options, Resp, Server};

use crate::support::inspect::digest;
use crate::support::wait::{in_step, wait_until};

/// One call of each command, each of which writes something.
pub const CALLS: [&str; 7] = [
    "WURK.CLAIM ps id none none:p q q:p info 1.5 600",
    "WURK.BCLAIM ps id none none:p q q:p info 1.5 600 1",
    "WURK.REQUEUE x q c",
    "WURK.LOCK l 600000",
    "WURK.ZADD z 1 m",
    "WURK.PROMOTE due q m",
    "WURK.BEAT ps other info 1.5 600",
];

pub fn replica_of(binary: &Binary, primary: &Server) -> Options {
    Options::new(binary).primary().replica_of(primary.port)
}

/// Only the head of the chain loads the module. The middle is disconnected twice, and
/// resynchronizes partially and then fully.
pub fn chained_replicas_hold_the_same_data(binary: &Binary) {
    let head = Options::new(binary).module().primary().start();
    let middle = replica_of(binary, &head).start();
    let tail = replica_of(binary, &middle).start();
    let [mut a, mut b, mut c] = [&head, &middle, &tail].map(Server::connect);
    in_step(&mut b);
    in_step(&mut c);
    let use_all = |con: &mut Resp| {
        con.must("RPUSH q a b c d");
        con.must("RPUSH x c");
        con.must("ZADD due 1 m");
        con.must("CONFIG SET maxmemory 1");
        CALLS.iter().for_each(|line| drop(con.must(line)));
        con.must("CONFIG SET maxmemory 0");
    };
    let mut agree = |a: &mut Resp, what: &str| {
        let expected = digest(a);
        wait_until(what, || {
            digest(&mut b) == expected && digest(&mut c) == expected
        });
    };
    use_all(&mut a);
    agree(&mut a, "the chain agrees");
    for whole in [false, true] {
        let before = a.info("stats", "sync_full");
        let partly = a.info("stats", "sync_partial_ok");
        if whole {
            // Changed before the disconnection: a replica reconnects at once.
            a.must("DEBUG CHANGE-REPL-ID");
        }
        a.must("CLIENT KILL TYPE replica");
        use_all(&mut a);
        agree(&mut a, "the chain agrees again");
        let full = a.info("stats", "sync_full") - before;
        if whole {
            assert!(full > 0, "not a full resynchronization");
        } else {
            assert!(
                full == 0 && a.info("stats", "sync_partial_ok") > partly,
                "not a partial resynchronization"
            );
        }
    }
}

/// A replica with the module loads its primary's data directly from the connection,
/// while it serves its own.
pub fn a_replica_loads_by_swapdb(binary: &Binary) {
    let primary = Options::new(binary)
        .primary()
        .set("repl-diskless-sync", &["yes"])
        .start();
    let mut here = primary.connect();
    here.must("RPUSH q a");
    let replica = replica_of(binary, &primary)
        .module()
        .set("repl-diskless-load", &["swapdb"])
        .start();
    let mut there = replica.connect();
    in_step(&mut there);
    let expected = digest(&mut here);
    wait_until("it holds the same", || digest(&mut there) == expected);
    let log = replica.log();
    assert!(!log.contains("Skipping diskless-load"), "{log}");
    assert!(log.contains("to parser"), "not from the connection: {log}");
}
