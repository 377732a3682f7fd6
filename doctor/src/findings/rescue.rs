//! Workers that were not written for wurk: who is rescued, and how far.

use super::memory::fullness;
use super::{Finding, Level, finding, mib, setting};
use crate::answers::{Answers, Problem};

const USERS: &str = "rescue users";
const LIMIT: &str = "rescue limit";

pub(super) fn users(answers: &Answers) -> Finding {
    let names = match setting(answers, USERS, "wurk.rescue-users") {
        Err(finding) => return finding,
        Ok("") => {
            return finding(
                USERS,
                Level::Fine,
                "nobody",
                "workers that were not written for wurk are refused when the server is full",
                "CONFIG SET wurk.rescue-users <their user>, if there are any",
            );
        }
        Ok(names) => names,
    };
    if is_before(answers, (7, 2)) {
        return finding(
            USERS,
            Level::Warn,
            names,
            "before 7.2 only commands sent by WURK.RESCUE are run for them",
            "a newer server, or the scripts",
        );
    }
    let Some((user, problem)) = answers.rescued.first() else {
        let means = "what they send is run when the server is full";
        return finding(USERS, Level::Fine, names, means, "");
    };
    let (means, todo) = match problem {
        Problem::Default => (
            "every client that has not logged in is let through, producers too".to_owned(),
            "give workers a user of their own, and name that".to_owned(),
        ),
        Problem::Missing => (
            format!("there is no user {user}"),
            format!("ACL SETUSER {user} on ... +wurk.rescue"),
        ),
        Problem::Off => (
            format!("{user} cannot log in"),
            format!("ACL SETUSER {user} on"),
        ),
        Problem::Denied => (
            format!("{user} is refused like everybody else: it may not run wurk.rescue"),
            format!("ACL SETUSER {user} +wurk.rescue"),
        ),
    };
    finding(USERS, Level::Warn, names, &means, &todo)
}

/// Up to 7.2 a full server queues nothing, for nobody.
pub(super) fn multi(answers: &Answers) -> Option<Finding> {
    (is_anyone_named(answers) && is_before(answers, (7, 3))).then(|| {
        finding(
            "MULTI",
            Level::Warn,
            "a full server queues nothing in MULTI",
            "workers that use it, such as Celery's, stay stuck",
            "Redis 7.4 or later, Valkey or Redict 7.3",
        )
    })
}

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
    let room = answers
        .number("maxmemory")
        .zip(percent.parse::<f64>().ok())
        .map(|(most, percent)| most * percent / 100.0)
        .filter(|room| *room > 0.0);
    let Some(room) = room else {
        let found = format!("{percent} % past maxmemory");
        return finding(LIMIT, Level::Fine, found, "", "");
    };
    let past = (fullness(answers).unwrap_or(0.0) - 1.0).max(0.0);
    let used = past * answers.number("maxmemory").unwrap_or(0.0);
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

fn is_anyone_named(answers: &Answers) -> bool {
    let names = answers.config("wurk.rescue-users").flatten();
    names.is_some_and(|names| !names.is_empty())
}

/// Whether the server is older than this version of Redis. Valkey is not; Redict
/// 7.3 is Redis 7.2.
fn is_before(answers: &Answers, version: (u32, u32)) -> bool {
    let Some((name, found)) = answers.name_and_version() else {
        return false;
    };
    let mut parts = found.split('.').map(|part| part.parse().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    name != "Valkey" && found < version
}
