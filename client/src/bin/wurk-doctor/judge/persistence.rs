//! What is on the disk.

use super::{Finding, Level, finding, info, unseen};
use crate::ask::Answers;

/// The last `BGSAVE`. Whether it keeps the server from taking writes is said at
/// `writes`.
pub(super) fn snapshots(answers: &Answers) -> Finding {
    match info(answers, "rdb_last_bgsave_status") {
        None => unseen(answers, "snapshots", "INFO persistence"),
        Some("ok") => finding("snapshots", Level::Fine, "none has failed", "", ""),
        Some(_) => finding(
            "snapshots",
            Level::Mend,
            "the last save failed",
            "with stop-writes-on-bgsave-error, every write is refused with MISCONF",
            "look at the disk and at the server's log, then BGSAVE",
        ),
    }
}

pub(super) fn aof(answers: &Answers) -> Finding {
    match (
        info(answers, "aof_enabled"),
        info(answers, "aof_last_write_status"),
    ) {
        (None, _) => unseen(answers, "AOF", "INFO persistence"),
        (Some("1"), Some("err")) => finding(
            "AOF",
            Level::Mend,
            "its last write failed",
            "every write is refused with MISCONF",
            "look at the disk",
        ),
        (Some("1"), _) => finding(
            "AOF",
            Level::Fine,
            "on",
            "needs no module when it is read again",
            "",
        ),
        _ => finding(
            "AOF",
            Level::Fine,
            "off",
            "what came after the last snapshot is lost with the server",
            "appendonly yes, if that matters",
        ),
    }
}
