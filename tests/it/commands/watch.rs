//! `WATCH` fires for exactly the keys that a call writes.

use wurk_testkit::Binary;

use crate::support::backend::{BACKENDS, script};

/// The commands before the call, the watched key, the call, and whether it writes that
/// key.
type Row = (&'static [&'static str], &'static str, &'static str, bool);

const CLAIM: &str = "claim ps id q1 p1 q2 p2 q3 p3 | i 1.5 60";

const JOBS: &[&str] = &["HSET id info i", "SADD ps id", "RPUSH q2 a b", "RPUSH q3 c"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (JOBS, "id", CLAIM, true),
    (JOBS, "ps", CLAIM, false),
    (&["RPUSH q2 a"], "ps", CLAIM, true),
    (JOBS, "q1", CLAIM, false),
    (JOBS, "p1", CLAIM, false),
    (JOBS, "q2", CLAIM, true),
    (JOBS, "p2", CLAIM, true),
    (JOBS, "q3", CLAIM, false),
    (JOBS, "p3", CLAIM, false),
    (&[], "id", CLAIM, true),
    (&[], "q1", CLAIM, false),
    (&["RPUSH p j"], "p", "requeue p q | j", true),
    (&["RPUSH p j"], "q", "requeue p q | j", true),
    (&["RPUSH p j"], "p", "requeue p q | other", false),
    (&["RPUSH p j", "RPUSH q a"], "q", "requeue p q | other", false),
    (&[], "l", "lock l | 60000", true),
    (&["SET l x"], "l", "lock l | 60000", false),
    (&["ZADD z 1 m"], "z", "zadd z | 2 m", true),
    (&["ZADD z 1 m"], "z", "zadd z | late m", false),
    (&["ZADD z 1 j"], "z", "promote z q | j", true),
    (&["ZADD z 1 j"], "q", "promote z q | j", true),
    (&["ZADD z 1 j"], "z", "promote z q | other", false),
    (&["ZADD z 1 j", "RPUSH q a"], "q", "promote z q | other", false),
    (&[], "ps", "beat ps id | i 1.5 60", true),
    (&[], "id", "beat ps id | i 1.5 60", true),
    (&["HSET id info i"], "ps", "beat ps id | i 1.5 60", false),
    (&["HSET id info i"], "id", "beat ps id | i 1.5 0", false),
];

pub fn fires_for_exactly_the_written_keys(binary: &Binary) {
    for backend in BACKENDS {
        let server = backend.options(binary).start();
        let (mut watcher, mut con) = (server.connect(), server.connect());
        for (given, key, call, written) in ROWS {
            con.must("FLUSHALL");
            for line in *given {
                con.must(line);
            }
            watcher.must(&format!("WATCH {key}"));
            let (keys, args) = call.split_once('|').expect("a bar");
            let keys: Vec<_> = keys.split_whitespace().collect();
            let args: Vec<_> = args.split_whitespace().collect();
            backend.call(&mut con, script(keys[0]), &keys[1..], &args);
            watcher.must("MULTI");
            watcher.must("PING");
            let broken = watcher.say("EXEC").is_nil();
            assert_eq!(
                broken, *written,
                "{backend:?}: {call} after {given:?}, watching {key}"
            );
        }
    }
}
