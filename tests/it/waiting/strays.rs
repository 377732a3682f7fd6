//! A key of another type leaves the clients waiting that wait for a list.

use wurk_testkit::{Binary, Reply};

use crate::support::inspect::blocked;
use crate::support::waiter::{BLMOVE, WAIT, Waiter, start};

/// A key of another type is written, and then a job is pushed: the client is served, and
/// gets the same reply, as by `BLMOVE`.
pub fn leave_clients_waiting(binary: &Binary) {
    let (server, mut con) = start(binary);
    for stray in [
        "ZADD q 1 x",
        "XADD q 1-1 a b",
        "SET q x",
        "SADD q x",
        "HSET q a b",
    ] {
        for list in [&["DEL q", "RPUSH q a"][..], &["RPUSH x a", "RENAME x q"]] {
            let shown = [BLMOVE, WAIT].map(|wait| {
                con.must("FLUSHALL");
                let waiter = Waiter::start(&server, &mut con, wait);
                con.must(stray);
                con.must("PING");
                assert_eq!(blocked(&mut con), 1, "{stray}: {wait} is still blocked");
                for line in list {
                    con.must(line);
                }
                match waiter.reply() {
                    Reply::Array(items) => items[1].clone(),
                    reply => reply,
                }
            });
            assert_eq!(shown[0], shown[1], "{stray}, {list:?}");
            assert_eq!(con.say("LRANGE p 0 -1").to_string(), r#"["a"]"#);
        }
    }

    // If one of several queues is not a list, the others still serve every client.
    con.must("FLUSHALL");
    let waiters = [0, 1].map(|number| {
        let wait = format!("WURK.BCLAIM ps id{number} q0 p0 q p{number} i 1 60 30");
        Waiter::start(&server, &mut con, &wait)
    });
    con.must("ZADD q0 1 stray");
    con.must("PING");
    assert_eq!(blocked(&mut con), 2, "they are still blocked");
    con.must("LPUSH q a b");
    for (waiter, job) in waiters.into_iter().zip(["a", "b"]) {
        let expected = format!(r#"[(integer) 2, "{job}"]"#);
        assert_eq!(waiter.reply().to_string(), expected);
    }
    // The key becomes a list.
    let waiter = Waiter::start(&server, &mut con, "WURK.BCLAIM ps id q2 p2 q p i 1 60 30");
    con.must("SADD q2 stray");
    con.must("DEL q2");
    con.must("RPUSH q2 c");
    assert_eq!(waiter.reply().to_string(), r#"[(integer) 1, "c"]"#);
    // A new call is refused, as `WURK.CLAIM` is.
    let reply = con.say(WAIT);
    assert!(reply.to_string().starts_with("WRONGTYPE "), "{reply}");
}
