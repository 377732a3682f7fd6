//! How a client calls a full server.

use super::{Finding, Level, finding, skipped};
use crate::answers::Answers;
use crate::permissions::Permission;
use crate::state::Writes;

/// The strategy of a client that runs as this user.
pub(super) fn strategy(answers: &Answers) -> Finding {
    let works = |means: &'static str| match &answers.writes {
        Some(Writes::Refused { .. } | Writes::TimedOut) => {
            "all writes are refused now, full or not"
        }
        _ => means,
    };
    match answers.claim_permission() {
        Some(Permission::Allowed) => finding(
            "strategy",
            Level::Fine,
            "the module's commands",
            works("this user's workers keep running when the server is full"),
            "",
        ),
        Some(Permission::Denied) => finding(
            "strategy",
            Level::Warn,
            "none: this user may not run WURK.CLAIM",
            "fallback is not attempted when an ACL denies the command",
            "ACL SETUSER <user> +wurk.claim +wurk.bclaim +wurk.requeue +wurk.lock +wurk.zadd +wurk.promote +wurk.beat",
        ),
        _ if answers.scripts.is_some() => finding(
            "strategy",
            Level::Warn,
            "none: no module, and no scripts",
            "when the server is full, its workers get OOM and stop",
            "load the module, or let this user run EVAL and what the scripts call",
        ),
        _ if answers.failed.contains_key("EVAL") => skipped(answers, "strategy", "EVAL"),
        _ if answers.has_flags() == Some(false) => finding(
            "strategy",
            Level::Fine,
            "write-first scripts",
            works("this user's workers keep running when the server is full"),
            "",
        ),
        _ => finding(
            "strategy",
            Level::Fine,
            "scripts flagged allow-oom",
            works(
                "this user's workers keep running when the server is full, slower over many queues",
            ),
            "",
        ),
    }
}
