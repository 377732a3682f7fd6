//! Snapshots and the AOF.

use super::{Finding, Level, finding, skipped};
use crate::answers::Answers;

/// The last `BGSAVE`. Whether its failure makes the server refuse writes is
/// `writes`' finding.
pub(super) fn snapshots(answers: &Answers) -> Finding {
    match answers.info("rdb_last_bgsave_status") {
        None => skipped(answers, "snapshots", "INFO persistence"),
        Some("ok") => finding("snapshots", Level::Fine, "none has failed", "", ""),
        Some(_) => finding(
            "snapshots",
            Level::Warn,
            "the last save failed",
            "with stop-writes-on-bgsave-error every write is refused with MISCONF",
            "check the disk and the server's log, then BGSAVE",
        ),
    }
}

pub(super) fn aof(answers: &Answers) -> Finding {
    match (
        answers.info("aof_enabled"),
        answers.info("aof_last_write_status"),
    ) {
        (None, _) => skipped(answers, "AOF", "INFO persistence"),
        (Some("1"), Some("err")) => finding(
            "AOF",
            Level::Warn,
            "its last write failed",
            "every write is refused with MISCONF",
            "check the disk",
        ),
        (Some("1"), _) => finding("AOF", Level::Fine, "on", "loads without the module", ""),
        _ => finding(
            "AOF",
            Level::Fine,
            "off",
            "a crash loses what was written after the last snapshot",
            "appendonly yes, if that matters",
        ),
    }
}
