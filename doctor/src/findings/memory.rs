//! The memory limit, the eviction policy, and how much is used.

use super::{Finding, Level, finding, mib, setting, skipped};
use crate::answers::Answers;

pub(super) fn maxmemory(answers: &Answers) -> Finding {
    match answers.number("maxmemory") {
        None => skipped(answers, "maxmemory", "INFO memory"),
        Some(0.0) => finding(
            "maxmemory",
            Level::Warn,
            "no limit",
            "the kernel kills the server when memory runs out",
            "CONFIG SET maxmemory, to what the machine can spare",
        ),
        Some(bytes) => finding(
            "maxmemory",
            Level::Fine,
            mib(bytes),
            "at the limit writes are refused, the process is not OOM-killed",
            "",
        ),
    }
}

pub(super) fn policy(answers: &Answers) -> Finding {
    match answers.info("maxmemory_policy") {
        None => skipped(answers, "policy", "INFO memory"),
        Some("noeviction") => finding("policy", Level::Fine, "noeviction", "no job is evicted", ""),
        Some(policy) => finding(
            "policy",
            Level::Warn,
            policy,
            "a full server evicts keys, and jobs with them",
            "CONFIG SET maxmemory-policy noeviction",
        ),
    }
}

/// The part of maxmemory in use; `None` if there is no limit.
pub(super) fn fullness(answers: &Answers) -> Option<f64> {
    let most = answers.number("maxmemory").filter(|most| *most > 0.0)?;
    Some(counted(answers)? / most)
}

/// The memory that counts towards maxmemory: without the replication and AOF
/// buffers.
fn counted(answers: &Answers) -> Option<f64> {
    let excluded = answers.number("mem_not_counted_for_evict").unwrap_or(0.0);
    Some(answers.number("used_memory")? - excluded)
}

pub(super) fn memory(answers: &Answers) -> Finding {
    let (Some(used), Some(most)) = (counted(answers), answers.number("maxmemory")) else {
        return skipped(answers, "memory", "INFO memory");
    };
    let Some(part) = fullness(answers).map(|part| part * 100.0) else {
        return finding("memory", Level::Fine, mib(used), "", "");
    };
    let found = format!("{} of {}, {part:.0} %", mib(used), mib(most));
    if part >= 100.0 {
        finding(
            "memory",
            Level::Warn,
            found,
            "full: LMOVE and other plain commands are refused now",
            "drain it, or raise maxmemory",
        )
    } else if part >= 90.0 {
        finding(
            "memory",
            Level::Warn,
            found,
            "nearly full",
            "drain it, or raise maxmemory",
        )
    } else {
        finding("memory", Level::Fine, found, "", "")
    }
}

pub(super) fn growth(answers: &Answers) -> Finding {
    match setting(answers, "growth limit", "wurk.growth-limit") {
        Err(finding) => finding,
        Ok("0") => finding(
            "growth limit",
            Level::Fine,
            "none",
            "WURK.ZADD and WURK.LOCK can grow a full server without limit",
            "CONFIG SET wurk.growth-limit 10",
        ),
        Ok(percent) => finding(
            "growth limit",
            Level::Fine,
            format!("{percent} % past maxmemory"),
            "beyond it WURK.ZADD and WURK.LOCK are refused",
            "",
        ),
    }
}
