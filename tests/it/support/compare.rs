//! Two servers that are to have done the same.

use std::env;

use wurk_testkit::{Resp, Server, aof};

use super::inspect::digest;

/// How far apart in time the two may be called, in milliseconds.
const SLACK: i64 = 20_000;

/// How many steps a random run has: `WURK_STEPS`, or so many.
pub fn steps(unless_set: usize) -> usize {
    let steps = env::var("WURK_STEPS").ok();
    steps
        .and_then(|steps| steps.parse().ok())
        .unwrap_or(unless_set)
}

/// Compares data, and for how long each key lives.
pub fn assert_same_data([ours, theirs]: [&mut Resp; 2], keys: &[&str], when: &str) {
    assert_eq!(digest(ours), digest(theirs), "{when}: data");
    // The digest contains only whether a key expires, not when.
    for key in keys {
        let [ours, theirs] = [&mut *ours, &mut *theirs].map(|con| {
            let left = con.call(&["PTTL", key]);
            left.integer().expect("milliseconds")
        });
        assert!(
            (ours - theirs).abs() < SLACK && (ours < 0) == (theirs < 0),
            "{when}: {key:?} lives for {ours} and {theirs} ms"
        );
    }
}

/// Stops both and compares their append-only files, which hold more commands than
/// `at_least`. Returns the commands of the first.
pub fn assert_same_aof(servers: [Server; 2], at_least: usize, when: &str) -> Vec<Vec<Vec<u8>>> {
    let [ours, theirs] = servers.map(|server| aof::commands(server.stop().folder()));
    assert!(
        ours.len() > at_least,
        "{when}: the AOF holds only {} commands",
        ours.len()
    );
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert!(
            is_same_command(ours, theirs),
            "{when}: AOF at {at}: {} and {}",
            show(ours),
            show(theirs)
        );
    }
    assert_eq!(ours.len(), theirs.len(), "{when}: commands in the AOF");
    ours
}

/// Whether two commands are equal except for times, which may differ by the slack.
fn is_same_command(ours: &[Vec<u8>], theirs: &[Vec<u8>]) -> bool {
    let time = |bytes: &[u8]| -> Option<i64> {
        let text = std::str::from_utf8(bytes).ok()?;
        (text.len() >= 13).then(|| text.parse().ok())?
    };
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(a, b)| {
            a == b
                || time(a)
                    .zip(time(b))
                    .is_some_and(|(a, b)| (a - b).abs() < SLACK)
        })
}

/// A command as text.
pub fn show(command: &[Vec<u8>]) -> String {
    command
        .iter()
        .map(|arg| arg.escape_ascii().to_string())
        .collect::<Vec<_>>()
        .join(" ")
}
