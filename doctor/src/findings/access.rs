//! What the user may run.

use super::{Finding, Level, finding, skipped};
use crate::answers::Answers;
use crate::permissions::Permission;

pub(super) fn scripts(answers: &Answers) -> Finding {
    if answers.failed.contains_key("EVAL") {
        return skipped(answers, "scripts", "EVAL");
    }
    match &answers.scripts {
        None => finding("scripts", Level::Fine, "this user may run them", "", ""),
        Some(why) => finding(
            "scripts",
            Level::Fine,
            why.trim(),
            "on a full server only the module helps this user",
            "",
        ),
    }
}

pub(super) fn permissions(answers: &Answers) -> Finding {
    if answers.permissions.is_empty() {
        return skipped(answers, "permissions", "WURK.CLAIM");
    }
    let user = answers.user.as_deref().unwrap_or("this user");
    let denied: Vec<_> = answers
        .permissions
        .iter()
        .filter(|(_, permission)| *permission == Permission::Denied)
        .map(|(name, _)| name.to_lowercase())
        .collect();
    let unknown = answers
        .permissions
        .iter()
        .filter(|(_, permission)| *permission == Permission::Unknown)
        .count();
    if !denied.is_empty() {
        let todo = format!("ACL SETUSER {user} +{}", denied.join(" +"));
        return finding(
            "permissions",
            Level::Warn,
            format!("{user} may not {}", denied.join(", ")),
            "some of its workers' calls fail",
            &todo,
        );
    }
    if unknown == answers.permissions.len() {
        return finding(
            "permissions",
            Level::Fine,
            format!("{user}; the module has no commands here"),
            "",
            "",
        );
    }
    finding(
        "permissions",
        Level::Fine,
        format!("{user} may run all commands of the module"),
        "",
        "",
    )
}
