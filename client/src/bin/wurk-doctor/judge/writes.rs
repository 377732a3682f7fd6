//! Whether the server takes writes at all.

use super::{Finding, Level, config, finding, info, number, unseen};
use crate::ask::{Answers, Writes};

pub(super) fn writes(answers: &Answers) -> Finding {
    match &answers.writes {
        Some(Writes::Taken) => finding("writes", Level::Fine, "taken", "", ""),
        Some(Writes::Held) => finding(
            "writes",
            Level::Mend,
            "no answer in time, as while clients are paused",
            "workers wait",
            "INFO clients; CLIENT UNPAUSE, or wait until the failover is over",
        ),
        Some(Writes::Refused { code, text }) => {
            let (means, todo) = state(answers, code);
            finding("writes", Level::Mend, text.trim(), means, todo)
        }
        None if lacks_replicas(answers) => {
            let (means, todo) = state(answers, "NOREPLICAS");
            finding("writes", Level::Mend, "too few replicas", means, todo)
        }
        None => unseen(answers, "writes", "LREM, which would show it"),
    }
}

/// For a node of a cluster, which sends the key that is asked about elsewhere.
fn lacks_replicas(answers: &Answers) -> bool {
    let least = config(answers, "min-replicas-to-write").flatten();
    let least = least.and_then(|least| least.parse::<f64>().ok());
    let good = number(answers, "min_slaves_good_slaves");
    matches!((least, good), (Some(least), Some(good)) if good < least)
}

/// What it means that the server is in a state, and what ends it.
fn state(answers: &Answers, code: &str) -> (&'static str, &'static str) {
    match code {
        "MISCONF" if info(answers, "aof_last_write_status") == Some("err") => (
            "the AOF could not be written: every write is refused, every claim too",
            "make room on the disk; the server tries again by itself",
        ),
        "MISCONF" => (
            "a save has failed: every write is refused, every claim too",
            "look at the disk and at the server's log, then BGSAVE",
        ),
        "NOREPLICAS" => (
            "fewer replicas are in step than min-replicas-to-write: every write is refused, every claim too",
            "bring replicas back, or lower min-replicas-to-write",
        ),
        "READONLY" => (
            "a replica takes no writes",
            "give workers the primary's address",
        ),
        "MASTERDOWN" => (
            "a replica that has lost its primary and may not serve old data",
            "bring the primary back, or promote this one",
        ),
        "LOADING" => (
            "it reads its data and serves nobody until that is done",
            "wait; INFO persistence says how far it is",
        ),
        "BUSY" => (
            "a script runs and nobody else is served",
            "SCRIPT KILL or FUNCTION KILL",
        ),
        "ERR" => (
            "it takes no more clients, workers among them",
            "CONFIG SET maxclients, and CLIENT LIST shows who is there",
        ),
        // CLUSTERDOWN.
        _ => (
            "the cluster serves no keys, or not those of one of its slots",
            "CLUSTER INFO and CLUSTER NODES show what is missing",
        ),
    }
}
