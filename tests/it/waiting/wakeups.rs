//! Jobs that reach a waiting client in other ways than by a push of a client.

use wurk_testkit::{Binary, Options, Reply, Server};

use crate::support::wait::{in_step, wait_until};
use crate::support::waiter::{BLMOVE, WAIT, Waiter, start};

/// The job, and the lists afterwards.
fn shown(server: &Server, reply: Reply) -> String {
    let mut con = server.connect();
    let job = match &reply {
        Reply::Array(items) => items[1].clone(),
        _ => reply,
    };
    format!(
        "{job} {} {}",
        con.say("LRANGE q 0 -1"),
        con.say("LRANGE p 0 -1")
    )
}

/// A push that is replicated to a writable replica, and one that is loaded from the
/// append-only file.
pub fn replicated_and_loaded_pushes_wake(binary: &Binary) {
    let primary = Options::new(binary).primary().start();
    let replica = Options::new(binary)
        .module()
        .replica_of(primary.port)
        .set("replica-read-only", &["no"])
        .start();
    let (mut here, mut there) = (primary.connect(), replica.connect());
    in_step(&mut there);
    let replicated = [BLMOVE, WAIT].map(|wait| {
        here.must("FLUSHALL");
        here.must(&format!("SET marker {}", wait.len()));
        wait_until("it has been replicated", || {
            there.say("GET marker").to_string() == format!("\"{}\"", wait.len())
        });
        let waiter = Waiter::start(&replica, &mut there, wait);
        here.must("RPUSH q a b");
        let reply = waiter.reply();
        shown(&replica, reply)
    });
    assert_eq!(replicated[0], replicated[1], "BLMOVE, and WURK.BCLAIM");
    assert!(replicated[0].starts_with(r#""b""#), "{replicated:?}");

    let server = Options::new(binary)
        .module()
        .set("appendonly", &["yes"])
        .start();
    let mut con = server.connect();
    con.must("RPUSH q a b");
    con.must("CONFIG SET appendonly no");
    let loaded = [BLMOVE, WAIT].map(|wait| {
        con.must("FLUSHALL");
        let waiter = Waiter::start(&server, &mut con, wait);
        con.must("DEBUG LOADAOF");
        con.must("PING");
        shown(&server, waiter.reply())
    });
    assert_eq!(loaded[0], loaded[1], "BLMOVE, and WURK.BCLAIM");
    assert!(loaded[0].starts_with(r#""b""#), "{loaded:?}");
}

/// Clients that use RESP3, give a list twice, or give a list that is its own private list
/// are served. If a client is refused, the next one gets the job.
pub fn the_next_client_gets_a_refused_job(binary: &Binary) {
    let (server, mut con) = start(binary);
    let waiter = Waiter::start_on(server.connect3(), &mut con, WAIT);
    con.must("RPUSH q a");
    assert_eq!(waiter.reply().to_string(), r#"[(integer) 2, "a"]"#);
    for (line, reply) in [
        (
            "WURK.BCLAIM ps id q p q p2 i 1 60 30",
            r#"[(integer) 1, "a"]"#,
        ),
        ("WURK.BCLAIM ps id q q i 1 60 30", r#"[(integer) 1, "a"]"#),
    ] {
        con.must("DEL q");
        let waiter = Waiter::start(&server, &mut con, line);
        con.must("RPUSH q a");
        assert_eq!(waiter.reply().to_string(), reply, "{line}");
    }
    // A chain: the second client waits for the private list of the first.
    con.must("FLUSHALL");
    let first = Waiter::start(&server, &mut con, "WURK.BCLAIM ps id q p i 1 60 30");
    let second = Waiter::start(&server, &mut con, "WURK.BCLAIM ps id2 p p2 i 1 60 30");
    con.must("RPUSH q a");
    for waiter in [first, second] {
        assert_eq!(waiter.reply().to_string(), r#"[(integer) 1, "a"]"#);
    }
    assert_eq!(con.say("LRANGE p2 0 -1").to_string(), r#"["a"]"#);
    // The first client gets the error, and the second one the job.
    con.must("FLUSHALL");
    let refused = Waiter::start(&server, &mut con, "WURK.BCLAIM ps id q x i 1 60 30");
    let served = Waiter::start(&server, &mut con, "WURK.BCLAIM ps id2 q p i 1 60 30");
    con.must("SET x string");
    con.must("RPUSH q a");
    let reply = refused.reply().to_string();
    assert!(reply.starts_with("WRONGTYPE "), "{reply}");
    assert_eq!(served.reply().to_string(), r#"[(integer) 1, "a"]"#);
}
