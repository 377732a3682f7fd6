use std::fs;
use std::time::Duration;

use wurk_client::{Claimed, Queue, Wurk};
use wurk_testkit::{Binary, Options, Resp, Server};

use crate::door::{Door, digest, script};
use crate::roads::{HEARTBEAT, queues};
use crate::stream::{in_step, wait_until};

/// One of every call, each writing something.
const CALLS: [&str; 5] = [
    "WURK.CLAIM ps id none none:p q q:p info 1.5 600",
    "WURK.BCLAIM ps id none none:p q q:p info 1.5 600 1",
    "WURK.REQUEUE x q c",
    "WURK.LOCK l 600000",
    "WURK.ZADD z 1 m",
];

fn replica_of(binary: &Binary, primary: &Server) -> Options {
    Options::new(binary)
        .port()
        .set("repl-diskless-sync-delay", &["0"])
        .set("replicaof", &["127.0.0.1", &primary.port.to_string()])
}

/// A chain, the module only at its head; the middle is cut off and comes back,
/// first by what it missed, then by the whole.
pub fn a_chain_holds_the_same(binary: &Binary) {
    let head = Options::new(binary)
        .module()
        .port()
        .set("repl-diskless-sync-delay", &["0"])
        .start();
    let middle = replica_of(binary, &head).start();
    let tail = replica_of(binary, &middle).start();
    let [mut a, mut b, mut c] = [&head, &middle, &tail].map(Server::connect);
    in_step(&mut b);
    in_step(&mut c);
    let use_all = |con: &mut Resp| {
        con.must("RPUSH q a b c d");
        con.must("RPUSH x c");
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
            // Another history, and before the cut: a replica is back at once.
            a.must("DEBUG CHANGE-REPL-ID");
        }
        a.must("CLIENT KILL TYPE replica");
        use_all(&mut a);
        agree(&mut a, "the chain agrees again");
        let full = a.info("stats", "sync_full") - before;
        if whole {
            assert!(full > 0, "by the whole");
        } else {
            assert!(
                full == 0 && a.info("stats", "sync_partial_ok") > partly,
                "by what it missed"
            );
        }
    }
}

/// A replica with the module takes its primary's data straight from the
/// connection, while it serves its own.
pub fn a_replica_loads_by_swapdb(binary: &Binary) {
    let primary = Options::new(binary)
        .port()
        .set("repl-diskless-sync", &["yes"])
        .set("repl-diskless-sync-delay", &["0"])
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

/// Before 7.0 nothing but the script itself finds out that the server may not be
/// written to: also where it would have nothing to write.
pub fn an_older_server_that_may_not_write_says_so(binary: &Binary) {
    let primary = Options::new(binary)
        .port()
        .set("repl-diskless-sync-delay", &["0"])
        .start();
    let replica = replica_of(binary, &primary).start();
    in_step(&mut replica.connect());
    refused_by_script(&replica, "READONLY");

    primary.connect().must("CONFIG SET min-replicas-to-write 2");
    refused_by_script(&primary, "NOREPLICAS");
    primary.connect().must("CONFIG SET min-replicas-to-write 0");

    let folder = primary.folder().join("dump.rdb/x");
    let mut con = primary.connect();
    con.call(&["CONFIG", "SET", "save", "3600 1"]);
    let _ = fs::remove_file(primary.folder().join("dump.rdb"));
    fs::create_dir_all(folder).expect("a folder");
    wait_until("the save has failed", || {
        con.say("BGSAVE");
        con.say("INFO persistence")
            .to_string()
            .contains("rdb_last_bgsave_status:err")
    });
    refused_by_script(&primary, "MISCONF");
}

fn refused_by_script(server: &Server, code: &str) {
    let mut con = redis::Client::open(server.url())
        .and_then(|client| client.get_connection())
        .expect("a connection");
    let wurk = Wurk::new();
    let errors = [
        wurk.requeue(
            &mut con,
            &Claimed::new(&Queue::new(b"q", b"p"), b"never there"),
        )
        .map(|_| ()),
        wurk.try_lock(&mut con, b"l", Duration::from_secs(60))
            .map(|_| ()),
        wurk.zadd(&mut con, b"z", 1.0, b"m").map(|_| ()),
        wurk.claim(&mut con, &HEARTBEAT, &queues()).map(|_| ()),
    ];
    for error in errors {
        let error = error.expect_err("it may not be written to").to_string();
        assert!(error.contains(code), "{code}: {error}");
    }
}

fn refused_with(con: &mut Resp, code: &str) {
    let before = digest(con);
    for line in CALLS {
        let reply = con.say(line);
        assert!(
            reply.error().is_some_and(|error| error.starts_with(code)),
            "{line}: {reply}"
        );
    }
    for case in [
        "claim ps id q p | i 1.5 60",
        "requeue x q | c",
        "lock l | 60",
        "zadd z | 1 m",
    ] {
        let (keys, args) = case.split_once(" | ").expect("a bar");
        let [keys, args] = [keys, args].map(|words| words.split(' ').collect::<Vec<_>>());
        let reply = Door::Script.call(con, script(keys[0]), &keys[1..], &args);
        assert!(
            reply.error().is_some_and(|error| error.starts_with(code)),
            "the script of {case}: {reply}"
        );
    }
    assert_eq!(digest(con), before, "{code}: nothing has changed");
}

/// The server's own answers, and nothing written.
pub fn a_server_that_may_not_write_writes_nothing(binary: &Binary) {
    let primary = Options::new(binary)
        .module()
        .port()
        .set("repl-diskless-sync-delay", &["0"])
        .set("dbfilename", &["taken.rdb"])
        .start();
    let mut con = primary.connect();
    con.must("RPUSH q a b");
    con.must("RPUSH x c");
    con.must("CONFIG SET min-replicas-to-write 1");
    refused_with(&mut con, "NOREPLICAS ");
    con.must("CONFIG SET min-replicas-to-write 0");

    let replica = replica_of(binary, &primary).module().start();
    let mut there = replica.connect();
    in_step(&mut there);
    refused_with(&mut there, "READONLY ");

    // A save that fails: the file cannot be made where a folder has its name.
    con.must("CONFIG SET stop-writes-on-bgsave-error yes");
    con.call(&["CONFIG", "SET", "save", "3600 1"]);
    fs::create_dir_all(primary.folder().join("taken.rdb/x")).expect("a folder");
    wait_until("the save has failed", || {
        // Refused while another one runs.
        con.say("BGSAVE");
        con.say("INFO persistence")
            .to_string()
            .contains("rdb_last_bgsave_status:err")
    });
    refused_with(&mut con, "MISCONF ");
    fs::remove_dir_all(primary.folder().join("taken.rdb")).expect("a folder");
    wait_until("the save has not failed", || {
        con.say("BGSAVE");
        con.say("INFO persistence")
            .to_string()
            .contains("rdb_last_bgsave_status:ok")
    });
    CALLS.iter().for_each(|line| drop(con.must(line)));
}
