//! A job arrives while the server takes no writes: the call is refused as `BLMOVE` is
//! from 7.2 on, and the job stays in its list.

use std::fs;

use wurk_testkit::{Binary, Options, Resp, Server};

use crate::support::wait::{in_step, wait_until};
use crate::support::waiter::{BLMOVE, WAIT, Waiter};

/// The call that waits, and whether its process is deleted in the meantime, so that the
/// heartbeat begins with another write.
const WAITERS: [(&str, bool); 3] = [(BLMOVE, false), (WAIT, false), (WAIT, true)];

/// The push is replicated from a primary, so the replica always applies it.
pub fn on_a_replica(binary: &Binary) {
    let primary = Options::new(binary).primary().start();
    let replica = Options::new(binary)
        .module()
        .replica_of(primary.port)
        .set("replica-read-only", &["no"])
        .set("replica-ignore-disk-write-errors", &["yes"])
        .start();
    let (mut here, mut there) = (primary.connect(), replica.connect());
    in_step(&mut there);
    let mut woken = |code: &str, refuse: fn(&Server, &mut Resp), allow: fn(&Server, &mut Resp)| {
        for (wait, forgotten) in WAITERS {
            here.must("FLUSHALL");
            here.must("SET marker x");
            wait_until("it has been replicated", || {
                there.say("KEYS *").to_string() == r#"["marker"]"#
            });
            let waiter = Waiter::start(&replica, &mut there, wait);
            if forgotten {
                there.must("DEL id ps");
            }
            refuse(&replica, &mut there);
            here.must("RPUSH q a");
            let reply = waiter.reply().to_string();
            let left = there.say("LRANGE q 0 -1").to_string();
            let keys = there.say("EXISTS p id ps").integer();
            allow(&replica, &mut there);
            // Before 7.2 the server does not check again.
            if wait == BLMOVE && binary.version < (7, 2, 0) {
                assert_eq!(reply, r#""a""#, "{code}");
            } else {
                assert!(reply.starts_with(code), "{wait}: {reply} for {code}");
                assert_eq!(left, r#"["a"]"#, "{code}, {wait}");
                let known = wait == WAIT && !forgotten;
                assert_eq!(keys, Some(2 * i64::from(known)), "{code}, {wait}");
            }
        }
    };
    woken(
        "READONLY ",
        |_, con| drop(con.must("CONFIG SET replica-read-only yes")),
        |_, con| drop(con.must("CONFIG SET replica-read-only no")),
    );
    woken(
        "MISCONF ",
        |server, con| {
            con.call(&["CONFIG", "SET", "save", "3600 1"]);
            let file = server.folder().join("dump.rdb");
            let _ = fs::remove_file(&file); // The file that the primary sent.
            fs::create_dir_all(file.join("x")).expect("a folder");
            save(con, "err");
        },
        |server, con| {
            fs::remove_dir_all(server.folder().join("dump.rdb")).expect("a folder");
            save(con, "ok");
        },
    );
}

fn save(con: &mut Resp, status: &str) {
    let expected = format!("rdb_last_bgsave_status:{status}");
    wait_until("the save has ended so", || {
        // Refused while another save runs.
        con.say("BGSAVE");
        con.say("INFO persistence").to_string().contains(&expected)
    });
}

/// The transaction that pushes the job also raises `min-replicas-to-write`.
pub fn without_enough_replicas(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let mut con = server.connect();
    for (wait, forgotten) in WAITERS {
        con.must("FLUSHALL");
        let waiter = Waiter::start(&server, &mut con, wait);
        if forgotten {
            con.must("DEL id ps");
        }
        con.must("MULTI");
        con.must("RPUSH q a");
        con.must("CONFIG SET min-replicas-to-write 1");
        con.must("EXEC");
        let reply = waiter.reply().to_string();
        con.must("CONFIG SET min-replicas-to-write 0");
        if wait == BLMOVE && binary.version < (7, 2, 0) {
            assert_eq!(reply, r#""a""#);
            continue;
        }
        assert!(reply.starts_with("NOREPLICAS "), "{wait}: {reply}");
        assert_eq!(con.say("LRANGE q 0 -1").to_string(), r#"["a"]"#, "{wait}");
        assert_eq!(con.say("EXISTS p").integer(), Some(0), "{wait}");
    }
}

/// The transaction that pushes the job also sends `CLIENT PAUSE`: from 7.2 on `BLMOVE` is
/// served when the pause ends, and `WURK.BCLAIM` at once on every server.
pub fn client_pause_delays_no_wakeup(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let mut con = server.connect();
    for wait in [BLMOVE, WAIT] {
        con.must("FLUSHALL");
        let waiter = Waiter::start(&server, &mut con, wait);
        con.must("MULTI");
        con.must("CLIENT PAUSE 60000 WRITE");
        con.must("LPUSH q a");
        con.must("EXEC");
        con.must("PING");
        let moved = con.say("LLEN p").integer() == Some(1);
        let held = wait == BLMOVE && binary.version >= (7, 2, 0);
        assert_eq!(moved, !held, "{wait}");
        con.must("CLIENT UNPAUSE");
        assert!(waiter.reply().to_string().contains(r#""a""#), "{wait}");
    }
}
