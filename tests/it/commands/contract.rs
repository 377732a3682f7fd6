//! The contract, case by case, kept by the module and by the scripts.

use std::thread;
use std::time::Duration;

use wurk_testkit::{Binary, Reply, Resp};

use crate::commands::contract_cases::{CASES, Case};
use crate::support::backend::{BACKENDS, Backend, normalize, script};
use crate::support::inspect::digest;

/// Below and at maxmemory, in RESP2 and RESP3, by the module and by the script.
pub fn is_kept_by_module_and_script(binary: &Binary) {
    for backend in BACKENDS {
        let server = backend.options(binary).start();
        let mut inspector = server.connect();
        for (version, mut con) in [(2, server.connect()), (3, server.connect3())] {
            for full in [false, true] {
                for case in CASES {
                    let what = format!("{backend:?}, RESP{version}, full: {full}: {}", case.shows);
                    check(backend, &mut con, &mut inspector, full, case, &what);
                    let nil = if version == 3 { "_" } else { "$-1" };
                    assert_nil_is(nil, backend, &mut con, full, &what);
                }
            }
        }
    }
}

fn check(
    backend: Backend,
    con: &mut Resp,
    inspector: &mut Resp,
    full: bool,
    case: &Case,
    what: &str,
) {
    con.must("FLUSHALL");
    for line in case.given {
        con.must(line);
    }
    if full {
        con.must("CONFIG SET maxmemory 1");
        assert!(
            con.say("SET probe 1").to_string().starts_with("OOM "),
            "{what}: not full"
        );
    }
    let before = digest(con);
    let (keys, args) = case.call.split_once('|').expect("a bar");
    let keys: Vec<_> = keys.split_whitespace().collect();
    let args: Vec<_> = args.split_whitespace().collect();
    let reply = backend.call(con, script(keys[0]), &keys[1..], &args);

    if reply.error().is_some() {
        let expected = Reply::Error(case.reply.to_owned());
        assert_eq!(normalize(&reply), normalize(&expected), "{what}");
        if backend == Backend::Module {
            assert_eq!(reply, expected, "{what}: the exact text");
        }
    } else {
        assert_eq!(reply.to_string(), case.reply, "{what}");
    }
    if reply.error().is_some() && case.then.is_empty() {
        assert_eq!(
            digest(con),
            before,
            "{what}: a refused call has changed data"
        );
    }
    con.must("CONFIG SET maxmemory 0");
    for (line, expected) in case.then {
        let reply = inspector.say(line);
        // A second may pass between the call and this.
        let expected_less_one = expected
            .strip_prefix("(integer) ")
            .and_then(|n| n.parse::<i64>().ok());
        let ticked = line.starts_with("TTL") && reply.integer() == expected_less_one.map(|n| n - 1);
        assert!(
            ticked || reply.to_string() == *expected,
            "{what}: {line} is {reply}, not {expected}"
        );
    }
    // The next reply begins where the last one ended.
    assert_eq!(con.say("ECHO here").to_string(), r#""here""#, "{what}");
}

/// The nil is that of the protocol: RESP3 has its own.
fn assert_nil_is(nil: &'static str, backend: Backend, con: &mut Resp, full: bool, what: &str) {
    con.must("FLUSHALL");
    con.must("SET l x");
    if full {
        con.must("CONFIG SET maxmemory 1");
    }
    let claim = backend.call(
        con,
        script("claim"),
        &["ps", "id", "q", "p"],
        &["i", "1", "60"],
    );
    let lock = backend.call(con, script("lock"), &["l"], &["60"]);
    assert_eq!([claim, lock], [Reply::Nil(nil), Reply::Nil(nil)], "{what}");
    con.must("CONFIG SET maxmemory 0");
}

/// A key that has expired and is not deleted yet counts as absent.
pub fn expired_keys_are_absent(binary: &Binary) {
    for backend in BACKENDS {
        let server = backend.options(binary).start();
        let mut con = server.connect();
        con.must("DEBUG SET-ACTIVE-EXPIRE 0");
        for line in ["SET ps x", "SET id x", "SET q x", "SET q:p x", "SET l x"] {
            con.must(line);
        }
        for key in ["ps", "id", "q", "q:p", "l"] {
            con.must(&format!("PEXPIRE {key} 1"));
        }
        thread::sleep(Duration::from_millis(10));
        let args = ["i", "1.5", "60"];
        let keys = ["ps", "id", "q", "q:p"];
        assert!(
            backend
                .call(&mut con, script("claim"), &keys, &args)
                .is_nil(),
            "{backend:?}"
        );
        assert_eq!(con.say("HGET id info").to_string(), r#""i""#, "{backend:?}");
        con.must("RPUSH q a");
        let reply = backend.call(&mut con, script("claim"), &keys, &args);
        assert_eq!(reply.to_string(), r#"[(integer) 1, "a"]"#, "{backend:?}");
        let reply = backend.call(&mut con, script("requeue"), &["q:p", "q"], &["a"]);
        assert_eq!(reply.to_string(), "(integer) 1", "{backend:?}");
        assert_eq!(
            backend
                .call(&mut con, script("lock"), &["l"], &["60"])
                .to_string(),
            "OK",
            "{backend:?}"
        );
    }
}
