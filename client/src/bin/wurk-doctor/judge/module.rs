//! The server and its module: what is loaded, how, and which way a client takes.

use super::{
    Finding, Level, claim_right, config, finding, has_flags, info, name_and_version, unseen,
};
use crate::ask::{Answers, Writes};
use crate::rights::Right;

pub(super) fn server(answers: &Answers) -> Finding {
    match name_and_version(answers) {
        None => unseen(answers, "server", "INFO"),
        Some((name, version)) if has_flags(answers) == Some(false) => finding(
            "server",
            Level::Fine,
            format!("{name} {version}"),
            "too old for the module: scripts behind a write are the way",
            "7.0 or later can load the module",
        ),
        Some((name, version)) => finding(
            "server",
            Level::Fine,
            format!("{name} {version}"),
            "can load the module",
            "",
        ),
    }
}

pub(super) fn module(answers: &Answers) -> Finding {
    let version = answers.module.filter(|version| *version > 0);
    let found = match (version, claim_right(answers)) {
        (Some(version), _) => format!(
            "loaded, {}.{}.{}",
            version / 10_000,
            version / 100 % 100,
            version % 100
        ),
        (None, Some(Right::Yes | Right::No)) => "loaded".to_owned(),
        (None, None) if answers.module.is_none() => {
            return unseen(answers, "module", "MODULE LIST");
        }
        (None, _) => "not loaded".to_owned(),
    };
    if found == "not loaded" {
        let todo = if has_flags(answers) == Some(false) {
            ""
        } else {
            "loadmodule /path/to/wurk.so, and restart"
        };
        return finding(
            "module",
            Level::Fine,
            found,
            "workers depend on scripts when the server is full",
            todo,
        );
    }
    finding(
        "module",
        Level::Fine,
        found,
        "its commands are served when the server is full",
        "",
    )
}

/// The road that a client takes at maxmemory.
pub(super) fn road(answers: &Answers) -> Finding {
    let goes_on = |means: &'static str| match &answers.writes {
        Some(Writes::Refused { .. } | Writes::Held) => "refused now, full or not, as all writes",
        _ => means,
    };
    match claim_right(answers) {
        Some(Right::Yes) => finding(
            "road",
            Level::Fine,
            "the module's commands",
            goes_on("this user's workers go on when the server is full"),
            "",
        ),
        Some(Right::No) => finding(
            "road",
            Level::Mend,
            "none: WURK.CLAIM is closed to this user",
            "no other road is tried where an administrator has closed one",
            "ACL SETUSER <user> +wurk.claim +wurk.bclaim +wurk.requeue +wurk.lock +wurk.zadd",
        ),
        _ if answers.scripts.is_some() => finding(
            "road",
            Level::Mend,
            "none: no module, and no scripts",
            "when the server is full, its workers get OOM and stand still",
            "load the module, or let this user run EVAL and what the scripts call",
        ),
        _ if answers.not_now.contains_key("EVAL") => unseen(answers, "road", "EVAL"),
        _ if has_flags(answers) == Some(false) => finding(
            "road",
            Level::Fine,
            "scripts behind a write",
            goes_on("this user's workers go on when the server is full"),
            "",
        ),
        _ => finding(
            "road",
            Level::Fine,
            "scripts flagged allow-oom",
            goes_on("this user's workers go on when the server is full, slower over many queues"),
            "",
        ),
    }
}

pub(super) fn loading(answers: &Answers) -> Finding {
    match config(answers, "enable-module-command") {
        None => unseen(answers, "MODULE LOAD", "CONFIG"),
        Some(None) => finding("MODULE LOAD", Level::Fine, "possible at run time", "", ""),
        Some(Some("no")) => finding(
            "MODULE LOAD",
            Level::Fine,
            "not at run time",
            "a module is loaded by the configuration, at a start",
            "",
        ),
        Some(Some(how)) => finding(
            "MODULE LOAD",
            Level::Fine,
            how,
            "whoever may call it can run any code in the server",
            "enable-module-command no, once all is loaded",
        ),
    }
}

/// Whether the server starts again: a configuration that names the module twice,
/// as `CONFIG REWRITE` makes it of an included line or one on the command line,
/// ends it at its start. No client can see where the line stands.
pub(super) fn restart(answers: &Answers) -> Option<Finding> {
    let loaded = answers.module.is_some_and(|version| version > 0)
        || matches!(claim_right(answers), Some(Right::Yes | Right::No));
    if !loaded {
        return None;
    }
    Some(match info(answers, "config_file") {
        None => unseen(answers, "restart", "INFO server"),
        Some("") => finding(
            "restart",
            Level::Fine,
            "no configuration file",
            "the module is there again only where the command line loads it",
            "a configuration file with a loadmodule line, for MODULE LOAD does not last",
        ),
        Some(file) => finding(
            "restart",
            Level::Fine,
            file,
            "after CONFIG REWRITE, which Sentinel sends too, the server starts only if loadmodule \
             stands in this file: not in an included one, not on the command line",
            &format!("grep -i '^ *loadmodule' '{file}'"),
        ),
    })
}
