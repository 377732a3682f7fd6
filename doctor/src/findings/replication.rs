//! Primary and replicas, seen from either.

use super::memory::fullness;
use super::{Finding, Level, finding, skipped};
use crate::answers::Answers;

pub(super) fn replication(answers: &Answers) -> Finding {
    let Some(role) = answers.info("role") else {
        return skipped(answers, "replication", "INFO replication");
    };
    if role == "slave" {
        return replica(answers);
    }
    let replicas = answers.info("connected_slaves").unwrap_or("0");
    let found = format!("a primary, replicas: {replicas}");
    match answers.config("replica-ignore-maxmemory") {
        Some(Some("no")) => finding(
            "replication",
            if replicas == "0" {
                Level::Fine
            } else {
                Level::Warn
            },
            format!("{found}, replica-ignore-maxmemory no"),
            "a full replica with this setting drops what it is sent, LMOVE too, and diverges",
            "CONFIG SET replica-ignore-maxmemory yes, on the primary and on replicas",
        ),
        _ if replicas == "0" => finding(
            "replication",
            Level::Fine,
            found,
            "a replica needs no module until it is promoted",
            "",
        ),
        _ => finding(
            "replication",
            Level::Fine,
            found,
            "a replica needs no module until it is promoted, but replica-ignore-maxmemory yes, \
             which its primary cannot see",
            "run this on each replica too",
        ),
    }
}

fn replica(answers: &Answers) -> Finding {
    if answers.config("replica-ignore-maxmemory") != Some(Some("no")) {
        return finding(
            "replication",
            Level::Warn,
            "a replica",
            "it takes no writes, so no worker can claim here",
            "give workers the primary's address",
        );
    }
    let (state, means) = match fullness(answers) {
        Some(part) if part >= 1.0 => (
            "and full",
            "it drops what its primary sends, LMOVE too, and diverges",
        ),
        _ => (
            "not full yet",
            "once full it drops what its primary sends, LMOVE too, and diverges",
        ),
    };
    finding(
        "replication",
        Level::Warn,
        format!("a replica, replica-ignore-maxmemory no, {state}"),
        means,
        "CONFIG SET replica-ignore-maxmemory yes, then a full resynchronization",
    )
}

/// Commands from its primary that this server refused as a replica, which `INFO`
/// counts as unexpected errors: after the first one its data differs.
pub(super) fn divergence(answers: &Answers) -> Option<Finding> {
    let refused = answers
        .number("unexpected_error_replies")
        .filter(|refused| *refused > 0.0)?;
    Some(finding(
        "divergence",
        Level::Warn,
        format!("{refused} commands from its primary or AOF failed"),
        "its data differs from its primary's",
        "check its log; a full resynchronization, then CONFIG RESETSTAT",
    ))
}
