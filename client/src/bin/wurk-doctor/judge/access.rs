//! What the user may do.

use super::{Finding, Level, finding, unseen};
use crate::ask::Answers;
use crate::rights::Right;

pub(super) fn scripts(answers: &Answers) -> Finding {
    if answers.not_now.contains_key("EVAL") {
        return unseen(answers, "scripts", "EVAL");
    }
    match &answers.scripts {
        None => finding("scripts", Level::Fine, "this user may run them", "", ""),
        Some(why) => finding(
            "scripts",
            Level::Fine,
            why.trim(),
            "this user runs none: only the module helps",
            "",
        ),
    }
}

pub(super) fn rights(answers: &Answers) -> Finding {
    if answers.rights.is_empty() {
        return unseen(answers, "rights", "WURK.CLAIM");
    }
    let user = answers.user.as_deref().unwrap_or("this user");
    let denied: Vec<_> = answers
        .rights
        .iter()
        .filter(|(_, right)| *right == Right::No)
        .map(|(name, _)| name.to_lowercase())
        .collect();
    let unknown = answers
        .rights
        .iter()
        .filter(|(_, right)| *right == Right::Unknown)
        .count();
    if !denied.is_empty() {
        let todo = format!("ACL SETUSER {user} +{}", denied.join(" +"));
        return finding(
            "rights",
            Level::Mend,
            format!("{user} may not {}", denied.join(", ")),
            "its workers cannot do all of their work",
            &todo,
        );
    }
    if unknown == answers.rights.len() {
        return finding(
            "rights",
            Level::Fine,
            format!("{user}, with no commands of the module to ask about"),
            "",
            "",
        );
    }
    finding(
        "rights",
        Level::Fine,
        format!("{user} may call each command of the module"),
        "",
        "",
    )
}
