//! Workers that were not written for wurk: who is named, and what keeps them from
//! being rescued.

use super::{Finding, Level, finding, setting, skipped};
use crate::answers::{Answers, Problem};

const USERS: &str = "rescue users";
const USER: &str = "rescue user";

pub(super) fn users(answers: &Answers) -> Finding {
    match setting(answers, USERS, "wurk.rescue-users") {
        Err(finding) => finding,
        Ok("") => finding(
            USERS,
            Level::Fine,
            "nobody",
            "workers that were not written for wurk are refused when the server is full",
            "CONFIG SET wurk.rescue-users <their user>, if there are any",
        ),
        Ok(names) if is_before(answers, (7, 2)) => finding(
            USERS,
            Level::Warn,
            names,
            "named in vain: before 7.2 only commands sent by WURK.RESCUE are run for them",
            "a newer server, or the scripts",
        ),
        Ok(names) => {
            let means = "what they send is run when the server is full";
            finding(USERS, Level::Fine, names, means, "")
        }
    }
}

/// What is wrong with the named users, one by one.
pub(super) fn problems(answers: &Answers) -> Vec<Finding> {
    if !is_anyone_named(answers) {
        return Vec::new();
    }
    match &answers.rescued {
        None => vec![skipped(answers, USER, "ACL")],
        Some(found) => {
            let found = found.iter();
            found.map(|(user, found)| problem(user, found)).collect()
        }
    }
}

fn problem(user: &str, problem: &Problem) -> Finding {
    let warn = |found: &str, means: &str, todo: &str| {
        let found = format!("{user} {found}");
        finding(USER, Level::Warn, found, means, todo)
    };
    match problem {
        Problem::Default => warn(
            "is named",
            "every client that has no user of its own is let through, producers too",
            "give workers a user of their own, and name that",
        ),
        Problem::Missing => warn(
            "does not exist",
            "nobody can log in by that name",
            &format!("ACL SETUSER {user} on ... +wurk.rescue"),
        ),
        Problem::Off => warn(
            "is off",
            "it cannot log in",
            &format!("ACL SETUSER {user} on"),
        ),
        Problem::Absent => finding(
            USER,
            Level::Fine,
            format!("no client is logged in as {user}"),
            "naming it helps nobody yet",
            "give workers a URL with that user",
        ),
        Problem::Denied => warn(
            "may not wurk.rescue",
            "it is refused like everybody else",
            &format!("ACL SETUSER {user} +wurk.rescue"),
        ),
        Problem::Powerless => warn(
            "may run nothing that a full server refuses",
            "being named gives no permission",
            &format!("ACL SETUSER {user}, with what its library sends"),
        ),
        Problem::Moves(commands) => finding(
            USER,
            Level::Fine,
            format!("{user} may not {}", commands.join(", ").to_lowercase()),
            "a library that claims by one of these is denied it, full or not",
            "",
        ),
    }
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

pub(super) fn is_anyone_named(answers: &Answers) -> bool {
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
