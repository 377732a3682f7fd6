//! The memory: its limit, what happens at it, and how near it is.

use super::{Finding, Level, config, finding, info, mib, number, unseen};
use crate::ask::Answers;

pub(super) fn maxmemory(answers: &Answers) -> Finding {
    match number(answers, "maxmemory") {
        None => unseen(answers, "maxmemory", "INFO memory"),
        Some(0.0) => finding(
            "maxmemory",
            Level::Mend,
            "no limit",
            "the kernel ends the server when memory is out",
            "CONFIG SET maxmemory to what the machine can spare",
        ),
        Some(bytes) => finding(
            "maxmemory",
            Level::Fine,
            mib(bytes),
            "full is refused, not killed",
            "",
        ),
    }
}

pub(super) fn policy(answers: &Answers) -> Finding {
    match info(answers, "maxmemory_policy") {
        None => unseen(answers, "policy", "INFO memory"),
        Some("noeviction") => finding(
            "policy",
            Level::Fine,
            "noeviction",
            "no job is thrown away",
            "",
        ),
        Some(policy) => finding(
            "policy",
            Level::Mend,
            policy,
            "a full server throws keys away, and jobs with them",
            "CONFIG SET maxmemory-policy noeviction",
        ),
    }
}

/// How much of maxmemory is in use, as the server counts when it refuses: without
/// what waits for replicas and for the AOF. Nothing where there is no limit.
pub(super) fn fullness(answers: &Answers) -> Option<f64> {
    let most = number(answers, "maxmemory").filter(|most| *most > 0.0)?;
    Some(counted(answers)? / most)
}

fn counted(answers: &Answers) -> Option<f64> {
    let apart = number(answers, "mem_not_counted_for_evict").unwrap_or(0.0);
    Some(number(answers, "used_memory")? - apart)
}

pub(super) fn memory(answers: &Answers) -> Finding {
    let (Some(used), Some(most)) = (counted(answers), number(answers, "maxmemory")) else {
        return unseen(answers, "memory", "INFO memory");
    };
    let Some(part) = fullness(answers).map(|part| part * 100.0) else {
        return finding("memory", Level::Fine, mib(used), "", "");
    };
    let found = format!("{} of {}, {part:.0} %", mib(used), mib(most));
    if part >= 100.0 {
        finding(
            "memory",
            Level::Mend,
            found,
            "full: plain claims are refused now",
            "drain it, or raise maxmemory",
        )
    } else if part >= 90.0 {
        finding(
            "memory",
            Level::Mend,
            found,
            "nearly full",
            "drain it, or raise maxmemory",
        )
    } else {
        finding("memory", Level::Fine, found, "", "")
    }
}

pub(super) fn growth(answers: &Answers) -> Finding {
    match config(answers, "wurk.growth-limit") {
        None => unseen(answers, "growth limit", "CONFIG"),
        Some(None) => finding(
            "growth limit",
            Level::Fine,
            "the module has none here",
            "",
            "",
        ),
        Some(Some("0")) => finding(
            "growth limit",
            Level::Fine,
            "none",
            "WURK.ZADD and WURK.LOCK may grow a full server without end",
            "CONFIG SET wurk.growth-limit 10",
        ),
        Some(Some(percent)) => finding(
            "growth limit",
            Level::Fine,
            format!("{percent} % past maxmemory"),
            "then WURK.ZADD and WURK.LOCK are refused",
            "",
        ),
    }
}
