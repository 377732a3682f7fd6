//! Which errors the client returns: the caller's own if there is no fallback, else the server's.

use std::time::Duration;

use wurk_client::{Claimed, Queue, Wurk};
use wurk_testkit::{Binary, Options, Resp};

use crate::support::caller::{claim, own_error, queues};
use crate::support::full_server::{as_user, full_server};
use crate::support::inspect::digest;

pub fn the_callers_own_without_a_fallback(binary: &Binary) {
    let no_scripts = "-@scripting";
    let no_writes_inside = "-hset -rpush -set -zadd";
    let no_first_write = "-zremrangebyrank";
    let users = [no_scripts, no_writes_inside, no_first_write];
    let (server, mut con, _) = full_server(&Options::new(binary));
    con.must("CONFIG SET maxmemory 0");
    con.must("RPUSH q:p in-flight");
    con.must("CONFIG SET maxmemory 1");
    let before = digest(&mut con);
    // Only servers before 7.0 need the first write.
    for permissions in users
        .iter()
        .take(if binary.loads_modules() { 2 } else { 3 })
    {
        con.must(&format!(
            "ACL SETUSER limited reset on >secret ~* +@all {permissions}"
        ));
        let mut worker = as_user(&server, "limited");
        let (wurk, queues) = (Wurk::new(), queues());
        for _ in 0..2 {
            let own = || Some(own_error());
            let errors = [
                claim(&wurk, &mut worker, &queues, own()).map(|_| ()),
                wurk.or_else_oom(own_error())
                    .requeue(
                        &mut worker,
                        &Claimed::new(&Queue::new(b"q", b"q:p"), b"in-flight"),
                    )
                    .map(|_| ()),
                wurk.or_else_oom(own_error())
                    .try_lock(&mut worker, b"l", Duration::from_secs(60))
                    .map(|_| ()),
                wurk.or_else_oom(own_error())
                    .zadd(&mut worker, b"z", 1.0, b"m")
                    .map(|_| ()),
            ];
            assert_eq!(
                errors,
                [(); 4].map(|()| Err(own_error())),
                "{permissions}: the same error"
            );
        }
        let error = claim(&wurk, &mut worker, &queues, None).expect_err("no fallback");
        assert_ne!(error, own_error());
        if *permissions == no_scripts {
            assert_eq!(
                error.code(),
                Some("NOPERM"),
                "{error}: the server's own, if the caller brought none"
            );
        }
    }
    assert_eq!(digest(&mut con), before, "nothing has changed");
}

pub fn the_servers_own_unchanged(binary: &Binary) {
    let backends = [Options::new(binary), Options::new(binary).module()];
    for options in backends
        .iter()
        .take(if binary.loads_modules() { 2 } else { 1 })
    {
        let (server, mut con, mut worker) = full_server(options);
        con.must("CONFIG SET maxmemory 0");
        con.must("SET z x");
        con.must("SET q:p x");
        con.must("CONFIG SET maxmemory 1");
        let (wurk, queues) = (Wurk::new(), queues());
        let error = claim(&wurk, &mut worker, &queues, Some(own_error())).expect_err("no list");
        assert_eq!(error.code(), Some("WRONGTYPE"), "{error}");
        let error = wurk
            .or_else_oom(own_error())
            .zadd(&mut worker, b"z", 1.0, b"m")
            .expect_err("no set");
        assert_eq!(error.code(), Some("WRONGTYPE"), "{error}");
        let error = wurk
            .or_else_oom(own_error())
            .try_lock(&mut worker, b"l", Duration::ZERO)
            .expect_err("no time");
        assert!(
            error
                .detail()
                .is_some_and(|text| text.contains("invalid expire time")),
            "{error}"
        );
        con.must("ACL SETUSER stranger on >secret ~other +@all");
        let mut worker = as_user(&server, "stranger");
        let error = wurk
            .or_else_oom(own_error())
            .zadd(&mut worker, b"z", 1.0, b"m")
            .expect_err("no permission");
        assert_eq!(
            error.code(),
            Some("NOPERM"),
            "{error}: no fallback if the ACL denies a key"
        );
        if wurk_is_loaded(&mut con) {
            con.must("ACL SETUSER stranger ~* -wurk.zadd");
            let error = wurk
                .or_else_oom(own_error())
                .zadd(&mut worker, b"other", 1.0, b"m")
                .expect_err("no permission");
            assert_eq!(
                error.code(),
                Some("NOPERM"),
                "{error}: nor if it denies the command"
            );
        }
        assert_eq!(con.say("LLEN q").integer(), Some(5));
    }
}

fn wurk_is_loaded(con: &mut Resp) -> bool {
    !con.say("COMMAND INFO wurk.zadd").items()[0].is_nil()
}
