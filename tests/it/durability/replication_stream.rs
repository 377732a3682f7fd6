//! Replicas and restarts from the append-only file need no module.

use wurk_testkit::{Binary, Options, Resp, aof};

use crate::support::inspect::digest;
use crate::support::wait::in_step;

/// Calls every command on a full server, and leaves something in every key.
fn use_every_command(con: &mut Resp) {
    con.must("RPUSH q a b c d");
    con.must("CONFIG SET maxmemory 1");
    for _ in 0..3 {
        con.must("WURK.CLAIM ps id none none:p q q:p info 1.5 600");
    }
    con.must("WURK.CLAIM ps other none none:p info 1.5 600");
    assert_eq!(con.must("WURK.REQUEUE q:p q c").integer(), Some(1));
    assert_eq!(con.must("WURK.REQUEUE q:p q gone").integer(), Some(0));
    con.must("WURK.LOCK l 600000");
    con.must("WURK.LOCK l 600000");
    con.must("WURK.ZADD z 1 m");
    con.must("WURK.ZADD z 2 m");
    con.must("WURK.ZADD due 1 m");
    for promoted in [1, 0] {
        let reply = con.must("WURK.PROMOTE due q m payload");
        assert_eq!(reply.integer(), Some(promoted));
    }
    con.must("WURK.BEAT ps third info 1.5 600");
    con.must("WURK.BEAT ps third info 2.5 600");
    con.must("CONFIG SET maxmemory 0");
}

pub fn a_replica_needs_no_module(binary: &Binary) {
    let primary = Options::new(binary).module().primary().start();
    let replica = Options::new(binary).port().replica_of(primary.port).start();
    let mut there = replica.connect();
    in_step(&mut there);
    let mut here = primary.connect();
    use_every_command(&mut here);
    here.must("WAIT 1 20000");
    assert_eq!(digest(&mut here), digest(&mut there));
    assert!(
        there.say("COMMAND INFO wurk.claim").items()[0].is_nil(),
        "a replica without it"
    );
}

pub fn a_restart_needs_no_module(binary: &Binary) {
    let options = Options::new(binary)
        .set("appendonly", &["yes"])
        .set("appendfsync", &["always"]);
    let server = options.clone().module().start();
    let mut con = server.connect();
    use_every_command(&mut con);
    let before = digest(&mut con);
    let stopped = server.kill();
    for command in aof::commands(stopped.folder()) {
        let name = command[0].to_ascii_lowercase();
        assert!(
            !name.starts_with(b"wurk") && !name.starts_with(b"eval"),
            "{}",
            name.escape_ascii()
        );
    }
    let server = options.start_over(stopped);
    assert_eq!(digest(&mut server.connect()), before);
}
