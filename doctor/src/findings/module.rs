//! The server and its module: versions, how it is loaded, the next start.

use super::{Finding, Level, finding, skipped};
use crate::answers::Answers;
use crate::permissions::Permission;

pub(super) fn server(answers: &Answers) -> Finding {
    match answers.name_and_version() {
        None => skipped(answers, "server", "INFO"),
        Some((name, version)) if answers.has_flags() == Some(false) => finding(
            "server",
            Level::Fine,
            format!("{name} {version}"),
            "too old for the module: clients fall back to write-first scripts",
            "7.0 or later loads the module",
        ),
        Some((name, version)) => finding(
            "server",
            Level::Fine,
            format!("{name} {version}"),
            "recent enough for the module",
            "",
        ),
    }
}

pub(super) fn module(answers: &Answers) -> Finding {
    let version = answers.module.filter(|version| *version > 0);
    let found = match (version, answers.claim_permission()) {
        (Some(version), _) => format!(
            "loaded, {}.{}.{}",
            version / 10_000,
            version / 100 % 100,
            version % 100
        ),
        (None, Some(Permission::Allowed | Permission::Denied)) => "loaded".to_owned(),
        (None, None) if answers.module.is_none() => {
            return skipped(answers, "module", "MODULE LIST");
        }
        (None, _) => "not loaded".to_owned(),
    };
    if found == "not loaded" {
        let todo = if answers.has_flags() == Some(false) {
            ""
        } else {
            "add loadmodule /path/to/wurk.so to the configuration and restart"
        };
        return finding(
            "module",
            Level::Fine,
            found,
            "when the server is full, workers depend on scripts",
            todo,
        );
    }
    finding(
        "module",
        Level::Fine,
        found,
        "its commands work when the server is full",
        "",
    )
}

pub(super) fn loading(answers: &Answers) -> Finding {
    match answers.config("enable-module-command") {
        None => skipped(answers, "MODULE LOAD", "CONFIG"),
        Some(None) => finding("MODULE LOAD", Level::Fine, "enabled", "", ""),
        Some(Some("no")) => finding(
            "MODULE LOAD",
            Level::Fine,
            "disabled",
            "modules are loaded from the configuration, at the next start",
            "",
        ),
        Some(Some(how)) => finding(
            "MODULE LOAD",
            Level::Fine,
            how,
            "whoever may run it can run any code in the server",
            "enable-module-command no, once the modules are loaded",
        ),
    }
}

/// Whether the server will start again. It does not if its configuration loads the
/// module twice, which `CONFIG REWRITE` causes if the `loadmodule` line is in an
/// included file or on the command line. No client can see where the line is.
pub(super) fn restart(answers: &Answers) -> Option<Finding> {
    let loaded = answers.module.is_some_and(|version| version > 0)
        || matches!(
            answers.claim_permission(),
            Some(Permission::Allowed | Permission::Denied)
        );
    if !loaded {
        return None;
    }
    Some(match answers.info("config_file") {
        None => skipped(answers, "restart", "INFO server"),
        Some("") => finding(
            "restart",
            Level::Fine,
            "no configuration file",
            "after a restart the module is loaded only if the command line does so",
            "put loadmodule into a configuration file: MODULE LOAD does not survive a restart",
        ),
        Some(file) => finding(
            "restart",
            Level::Fine,
            file,
            "after CONFIG REWRITE, which Sentinel sends too, the server starts only if loadmodule \
             is in this file, not in an included one nor on the command line",
            &format!("grep -i '^ *loadmodule' '{file}'"),
        ),
    })
}
