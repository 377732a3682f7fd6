//! Replicas, seen from either side.

use super::{Finding, Level, config, finding, info, unseen};
use crate::ask::Answers;

pub(super) fn replication(answers: &Answers) -> Finding {
    let Some(role) = info(answers, "role") else {
        return unseen(answers, "replication", "INFO replication");
    };
    if role == "slave" {
        return finding(
            "replication",
            Level::Mend,
            "a replica",
            "it takes no writes, so nobody can claim here",
            "give workers the primary's address",
        );
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
            "as a replica this server would throw keys away by itself; replicas may be set alike",
            "CONFIG SET replica-ignore-maxmemory yes, here and there",
        ),
        _ => finding(
            "replication",
            Level::Fine,
            found,
            "replicas need no module, until one of them is promoted",
            "",
        ),
    }
}
