//! A job that kills its worker.

use std::collections::HashSet;

use tempfile::TempDir;
use wurk_testkit::{Binary, Options};

use crate::support::example_worker::{Worker, done, in_flight};
use crate::support::inspect::members;
use crate::support::wait::wait_until;

/// As a producer wrote it: no type holds this number, and it has no queue.
const POISON: &str = r#"{"jid":"poison","kill":true,"args":[12345678901234567890123456, 1.50]}"#;

const OTHERS: usize = 200;

/// The third time that it comes back from a dead process it is put among the dead, with
/// what its producer wrote; no other job is lost.
pub fn is_put_among_the_dead(binary: &Binary) {
    let server = Options::new(binary).module_if_supported().start();
    let mut con = server.connect();
    con.call(&["LPUSH", "queue:bu|lk", POISON, "not json", "[1,2]"]);
    for number in 0..OTHERS {
        con.call(&["LPUSH", "queue:mail", &format!(r#"{{"jid":"{number}"}}"#)]);
    }
    con.must("CONFIG SET maxmemory 1");
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("done");
    // One thread: no other job is in flight when it kills.
    let start = || Worker::start(&server, &file, &["--threads", "1"]);
    let mut worker = start();
    for death in 1..=3 {
        wait_until(&format!("death {death}"), || {
            worker.0.try_wait().expect("a state").is_some()
        });
        assert_eq!(con.say("EXISTS dead").integer(), Some(0));
        worker = start();
    }
    wait_until("it is among the dead", || {
        con.say("EXISTS dead").integer() == Some(1)
    });
    wait_until("the rest is done", || {
        let done: HashSet<_> = done(&file).into_iter().collect();
        // The two without JSON have no jid.
        done.len() == OTHERS + 1 && in_flight(&mut con) == 0
    });
    worker.terminate();
    let dead = members(&mut con, "ZRANGE dead 0 -1");
    let [dead] = dead.as_slice() else {
        panic!("others are dead too: {dead:?}");
    };
    let dead = String::from_utf8_lossy(dead);
    for part in [
        r#""jid":"poison""#,
        r#""args":[12345678901234567890123456, 1.50]"#,
        r#""queue":"queue:bu|lk""#,
        r#""recovered_count":3"#,
    ] {
        assert!(dead.contains(part), "{part} in {dead}");
    }
    let unread = done(&file).iter().filter(|jid| *jid == "no jid").count();
    assert!(unread >= 2, "what is no JSON is done too");
    let remaining = con.say("KEYS queue:*");
    assert!(remaining.items().is_empty(), "{remaining}");
    assert_eq!(con.say("EXISTS retry").integer(), Some(0));
}
