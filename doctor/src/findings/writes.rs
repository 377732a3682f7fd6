//! Whether the server takes writes at all.

use super::{Finding, Level, finding, skipped};
use crate::answers::Answers;
use crate::state::Writes;

pub(super) fn writes(answers: &Answers) -> Finding {
    match &answers.writes {
        Some(Writes::Taken) => finding("writes", Level::Fine, "taken", "", ""),
        Some(Writes::TimedOut) => finding(
            "writes",
            Level::Warn,
            "timed out, as while clients are paused",
            "workers wait",
            "CLIENT UNPAUSE, or wait for the failover to end; INFO clients",
        ),
        Some(Writes::Refused { code, text }) => {
            let (means, todo) = state(answers, code);
            finding("writes", Level::Warn, text.trim(), means, todo)
        }
        None if lacks_replicas(answers) => {
            let (means, todo) = state(answers, "NOREPLICAS");
            finding("writes", Level::Warn, "too few replicas", means, todo)
        }
        None => skipped(answers, "writes", "LREM"),
    }
}

/// Whether the configuration wants more replicas than there are. Used if no write
/// could be tried: LREM is denied, or its key is on another cluster node.
fn lacks_replicas(answers: &Answers) -> bool {
    let least = answers.config("min-replicas-to-write").flatten();
    let least = least.and_then(|least| least.parse::<f64>().ok());
    let good = answers.number("min_slaves_good_slaves");
    matches!((least, good), (Some(least), Some(good)) if good < least)
}

/// What the server's state means, and how to end it.
fn state(answers: &Answers, code: &str) -> (&'static str, &'static str) {
    match code {
        "MISCONF" if answers.info("aof_last_write_status") == Some("err") => (
            "an AOF write failed: every write is refused, claims too",
            "free space on the disk; the server retries by itself",
        ),
        "MISCONF" => (
            "a save failed: every write is refused, claims too",
            "check the disk and the server's log, then BGSAVE",
        ),
        "NOREPLICAS" => (
            "fewer replicas are in sync than min-replicas-to-write: every write is refused, claims too",
            "bring replicas back, or lower min-replicas-to-write",
        ),
        "READONLY" => (
            "a replica takes no writes",
            "give workers the primary's address",
        ),
        "MASTERDOWN" => (
            "a replica that lost its primary and may not serve stale data",
            "bring the primary back, or promote this one",
        ),
        "LOADING" => (
            "it is loading its data and serves no one until that is done",
            "wait; INFO persistence shows the progress",
        ),
        "BUSY" => (
            "a script is running and no one else is served",
            "SCRIPT KILL or FUNCTION KILL",
        ),
        "ERR" => (
            "it accepts no more clients, workers included",
            "raise maxclients; CLIENT LIST shows who is connected",
        ),
        // CLUSTERDOWN.
        _ => (
            "the cluster serves no keys, or a slot is not served",
            "CLUSTER INFO and CLUSTER NODES show what is missing",
        ),
    }
}
