//! Replicas, seen from either side.

use super::memory::fullness;
use super::{Finding, Level, config, finding, info, number, unseen};
use crate::ask::Answers;

pub(super) fn replication(answers: &Answers) -> Finding {
    let Some(role) = info(answers, "role") else {
        return unseen(answers, "replication", "INFO replication");
    };
    if role == "slave" {
        return replica(answers);
    }
    let replicas = info(answers, "connected_slaves").unwrap_or("0");
    let found = format!("a primary, replicas: {replicas}");
    match config(answers, "replica-ignore-maxmemory") {
        Some(Some("no")) => finding(
            "replication",
            if replicas == "0" {
                Level::Fine
            } else {
                Level::Mend
            },
            format!("{found}, replica-ignore-maxmemory no"),
            "a replica that is set so and full drops what it is sent, LMOVE too, and diverges",
            "CONFIG SET replica-ignore-maxmemory yes, here and there",
        ),
        _ if replicas == "0" => finding(
            "replication",
            Level::Fine,
            found,
            "replicas need no module, until one of them is promoted",
            "",
        ),
        _ => finding(
            "replication",
            Level::Fine,
            found,
            "they need no module, until one is promoted, but replica-ignore-maxmemory yes, \
             which is not seen from here",
            "ask at each of them too",
        ),
    }
}

fn replica(answers: &Answers) -> Finding {
    if config(answers, "replica-ignore-maxmemory") != Some(Some("no")) {
        return finding(
            "replication",
            Level::Mend,
            "a replica",
            "it takes no writes, so nobody can claim here",
            "give workers the primary's address",
        );
    }
    let (state, means) = match fullness(answers) {
        Some(part) if part >= 1.0 => (
            "and full",
            "it drops what its primary sends it now, LMOVE too, and diverges",
        ),
        _ => (
            "not full yet",
            "when it is full it drops what its primary sends it, LMOVE too, and diverges",
        ),
    };
    finding(
        "replication",
        Level::Mend,
        format!("a replica, replica-ignore-maxmemory no, {state}"),
        means,
        "CONFIG SET replica-ignore-maxmemory yes, then a full resynchronization",
    )
}

/// Commands of its primary that this server has refused as a replica, which is
/// what `INFO` calls unexpected: from the first of them on it holds other data.
pub(super) fn refused(answers: &Answers) -> Option<Finding> {
    let refused = number(answers, "unexpected_error_replies").filter(|refused| *refused > 0.0)?;
    Some(finding(
        "divergence",
        Level::Mend,
        format!("{refused} commands of its primary, or of its AOF, ended in an error"),
        "it does not hold the data that its primary had",
        "see its log; a full resynchronization, then CONFIG RESETSTAT",
    ))
}
