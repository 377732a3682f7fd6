//! How far rescued users grow a full server: the limit, the room that the machine
//! has for it, and what it has refused.

use super::memory::fullness;
use super::rescue::is_anyone_named;
use super::{Finding, Level, finding, mib, setting};
use crate::answers::Answers;

const LIMIT: &str = "rescue limit";

pub(super) fn limit(answers: &Answers) -> Finding {
    let percent = match setting(answers, LIMIT, "wurk.rescue-limit") {
        Err(finding) => return finding,
        Ok(percent) => percent,
    };
    if percent == "0" {
        let level = if is_anyone_named(answers) {
            Level::Warn
        } else {
            Level::Fine
        };
        return finding(
            LIMIT,
            level,
            "none",
            "rescued users can grow a full server until the kernel kills it",
            "CONFIG SET wurk.rescue-limit 10",
        );
    }
    let Some((most, room)) = room(answers) else {
        let found = format!("{percent} % past maxmemory");
        return finding(LIMIT, Level::Fine, found, "", "");
    };
    let used = (fullness(answers).unwrap_or(0.0) - 1.0).max(0.0) * most;
    let found = format!(
        "{percent} % past maxmemory: {} of {} used",
        mib(used),
        mib(room)
    );
    if used >= room {
        finding(
            LIMIT,
            Level::Warn,
            found,
            "what rescued users write is refused now; what only moves is not",
            "let jobs finish, or raise wurk.rescue-limit",
        )
    } else {
        let means = "beyond it what rescued users write is refused";
        finding(LIMIT, Level::Fine, found, means, "")
    }
}

/// Whether the machine has the memory that the limit allows. A container's limit is
/// seen by no client.
pub(super) fn machine(answers: &Answers) -> Option<Finding> {
    if !is_anyone_named(answers) {
        return None;
    }
    let (most, room) = room(answers)?;
    let memory = answers.number("total_system_memory")?;
    let found = format!(
        "{} at the limit, the machine has {}",
        mib(most + room),
        mib(memory)
    );
    Some(if most + room > memory {
        finding(
            "rescue memory",
            Level::Warn,
            found,
            "the kernel kills the server before the limit refuses anything",
            "lower maxmemory or wurk.rescue-limit",
        )
    } else {
        let means = "a container's limit is not seen from here: it has to be above that too";
        finding("rescue memory", Level::Fine, found, means, "")
    })
}

/// `maxmemory`, and the bytes that the limit allows past it. `None` if either is
/// unknown or none.
fn room(answers: &Answers) -> Option<(f64, f64)> {
    let percent: f64 = answers.config("wurk.rescue-limit")??.parse().ok()?;
    let most = answers.number("maxmemory")?;
    let room = most * percent / 100.0;
    (room > 0.0).then_some((most, room))
}

/// What the limit has refused since the start: a warning while the server is full.
pub(super) fn refused(answers: &Answers) -> Option<Finding> {
    let rescues = answers.number("wurk_rescues")?;
    let refused = answers.number("wurk_rescues_refused")?;
    if rescues == 0.0 && refused == 0.0 {
        return None;
    }
    let found = format!("{rescues} run since the start, {refused} refused by the limit");
    Some(if refused > 0.0 && fullness(answers) >= Some(1.0) {
        finding(
            "rescues",
            Level::Warn,
            found,
            "jobs of rescued users have met an OOM error",
            "let jobs finish, or raise wurk.rescue-limit",
        )
    } else {
        finding("rescues", Level::Fine, found, "", "")
    })
}
