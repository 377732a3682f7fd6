//! A server that takes no writes replies with its own error, and nothing is written.

use std::fs;
use std::time::Duration;

use wurk_client::{Claimed, Promotion, Queue, Wurk};
use wurk_testkit::{Binary, Options, Resp, Server};

use super::replication::{CALLS, replica_of};
use crate::support::backend::{Backend, script};
use crate::support::caller::{HEARTBEAT, queues};
use crate::support::inspect::digest;
use crate::support::wait::{in_step, wait_until};

/// Before 7.0 only the script itself finds out that the server takes no writes, even if
/// it would have nothing to write.
pub fn by_legacy_script(binary: &Binary) {
    let primary = Options::new(binary).primary().start();
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
        wurk.requeue(&mut con, &Claimed::new(&Queue::new(b"q", b"p"), b"gone"))
            .map(|_| ()),
        wurk.try_lock(&mut con, b"l", Duration::from_secs(60))
            .map(|_| ()),
        wurk.zadd(&mut con, b"z", 1.0, b"m").map(|_| ()),
        wurk.promote(&mut con, &Promotion::new(b"due", b"q", b"gone"))
            .map(|_| ()),
        wurk.beat(&mut con, &HEARTBEAT),
        wurk.claim(&mut con, &HEARTBEAT, &queues()).map(|_| ()),
    ];
    for error in errors {
        let error = error.expect_err("it takes no writes").to_string();
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
        "promote due q | m",
        "beat ps id | i 1.5 60",
    ] {
        let (keys, args) = case.split_once(" | ").expect("a bar");
        let [keys, args] = [keys, args].map(|words| words.split(' ').collect::<Vec<_>>());
        let reply = Backend::Script.call(con, script(keys[0]), &keys[1..], &args);
        assert!(
            reply.error().is_some_and(|error| error.starts_with(code)),
            "the script of {case}: {reply}"
        );
    }
    assert_eq!(digest(con), before, "{code}: nothing has changed");
}

/// The server replies with its own error, and nothing is written.
pub fn by_module_and_script(binary: &Binary) {
    let primary = Options::new(binary)
        .module()
        .primary()
        .set("dbfilename", &["taken.rdb"])
        .start();
    let mut con = primary.connect();
    con.must("RPUSH q a b");
    con.must("RPUSH x c");
    con.must("ZADD due 1 m");
    con.must("CONFIG SET min-replicas-to-write 1");
    refused_with(&mut con, "NOREPLICAS ");
    con.must("CONFIG SET min-replicas-to-write 0");

    let replica = replica_of(binary, &primary).module().start();
    let mut there = replica.connect();
    in_step(&mut there);
    refused_with(&mut there, "READONLY ");

    // The save fails, since a folder has the name of its file.
    con.must("CONFIG SET stop-writes-on-bgsave-error yes");
    con.call(&["CONFIG", "SET", "save", "3600 1"]);
    fs::create_dir_all(primary.folder().join("taken.rdb/x")).expect("a folder");
    wait_until("the save has failed", || {
        // Refused while another save runs.
        con.say("BGSAVE");
        con.say("INFO persistence")
            .to_string()
            .contains("rdb_last_bgsave_status:err")
    });
    refused_with(&mut con, "MISCONF ");
    fs::remove_dir_all(primary.folder().join("taken.rdb")).expect("a folder");
    wait_until("a save has succeeded", || {
        con.say("BGSAVE");
        con.say("INFO persistence")
            .to_string()
            .contains("rdb_last_bgsave_status:ok")
    });
    CALLS.iter().for_each(|line| drop(con.must(line)));
}
