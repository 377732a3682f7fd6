//! What a wakeup sends to replicas and writes to the append-only file.

use wurk_testkit::{Binary, Options, aof};

use crate::support::inspect::digest;
use crate::support::wait::{in_step, wait_until};
use crate::support::waiter::{WAIT, Waiter};

/// A wakeup sends only plain commands, after the push that caused it.
pub fn sends_plain_commands(binary: &Binary) {
    let options = Options::new(binary)
        .set("appendonly", &["yes"])
        .set("appendfsync", &["always"]);
    let server = options.clone().module().primary().start();
    let replica = Options::new(binary).replica_of(server.port).start();
    let (mut con, mut there) = (server.connect(), replica.connect());
    in_step(&mut there);
    let waiter = Waiter::start(&server, &mut con, WAIT);
    con.must("RPUSH q a");
    waiter.reply();
    let timed_out = con.must("WURK.BCLAIM ps id q p i 2.5 60 0.01");
    assert!(timed_out.is_nil());
    // If the hash of the process has expired in the meantime, all is sent or nothing.
    let waiter = Waiter::start(&server, &mut con, WAIT);
    con.must("DEL id ps");
    con.must("RPUSH q b");
    waiter.reply();
    let before = digest(&mut con);
    wait_until("the replica holds the same", || {
        digest(&mut there) == before
    });
    let stopped = server.kill();
    let all: Vec<_> = aof::commands(stopped.folder())
        .iter()
        .map(|command| String::from_utf8_lossy(&command[0]).to_uppercase())
        .collect();
    // On 7.0 the inner calls of a woken client are sent before the transaction.
    let end: &[&str] = if binary.version < (7, 2, 0) {
        &["SADD", "MULTI"]
    } else {
        &["MULTI", "SADD"]
    };
    let end = [
        &["DEL", "RPUSH"],
        end,
        &["HSET", "HSET", "PEXPIREAT", "LMOVE", "EXEC"],
    ]
    .concat();
    assert_eq!(all[all.len() - end.len()..], end);
    let names: Vec<_> = aof::commands(stopped.folder())
        .iter()
        .map(|command| String::from_utf8_lossy(&command[0]).to_uppercase())
        .filter(|name| !["MULTI", "EXEC", "SELECT"].contains(&name.as_str()))
        .collect();
    let expected = [
        "HSET",
        "SADD",
        "HSET",
        "PEXPIREAT",
        "RPUSH",
        "HSET",
        "PEXPIREAT",
        "LMOVE",
        "HSET",
        "PEXPIREAT",
        "HSET",
        "PEXPIREAT",
        "DEL",
        "RPUSH",
        "SADD",
        "HSET",
        "HSET",
        "PEXPIREAT",
        "LMOVE",
    ];
    assert_eq!(names, expected);
    let server = options.start_over(stopped);
    assert_eq!(
        digest(&mut server.connect()),
        before,
        "a restart without the module"
    );
}
