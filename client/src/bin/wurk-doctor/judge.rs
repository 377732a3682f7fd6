//! What the answers mean.

use crate::ask::{Answers, Right};

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Fine,
    /// Something to mend.
    Mend,
    /// This user cannot see it.
    Unseen,
}

/// A line of the doctor's.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) topic: &'static str,
    pub(crate) level: Level,
    pub(crate) found: String,
    pub(crate) means: String,
    pub(crate) todo: String,
}

fn finding(
    topic: &'static str,
    level: Level,
    found: impl Into<String>,
    means: &str,
    todo: &str,
) -> Finding {
    Finding {
        topic,
        level,
        found: found.into(),
        means: means.into(),
        todo: todo.into(),
    }
}

fn unseen(topic: &'static str, right: &str) -> Finding {
    finding(
        topic,
        Level::Unseen,
        format!("this user may not ask {right}"),
        "",
        "ask as a user who may",
    )
}

pub(crate) fn all(answers: &Answers) -> Vec<Finding> {
    let mut findings = vec![server(answers), module(answers), road(answers)];
    findings.extend([
        maxmemory(answers),
        policy(answers),
        memory(answers),
        growth(answers),
        loading(answers),
    ]);
    findings.extend([
        scripts(answers),
        rights(answers),
        replication(answers),
        aof(answers),
    ]);
    findings
}

fn info<'a>(answers: &'a Answers, field: &str) -> Option<&'a str> {
    answers.info.as_ref()?.get(field).map(String::as_str)
}

fn number(answers: &Answers, field: &str) -> Option<f64> {
    info(answers, field)?.parse().ok()
}

fn name_and_version(answers: &Answers) -> Option<(&'static str, &str)> {
    [
        ("Valkey", "valkey_version"),
        ("Redict", "redict_version"),
        ("Redis", "redis_version"),
    ]
    .into_iter()
    .find_map(|(name, field)| Some((name, info(answers, field)?)))
}

/// Whether scripts can be flagged `allow-oom`, where that can be seen.
fn has_flags(answers: &Answers) -> Option<bool> {
    if answers.flags.is_some() {
        return answers.flags;
    }
    let (name, version) = name_and_version(answers)?;
    let major: u32 = version.split('.').next()?.parse().ok()?;
    Some(name != "Redis" || major >= 7)
}

fn server(answers: &Answers) -> Finding {
    match name_and_version(answers) {
        None => unseen("server", "INFO"),
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

fn claim_right(answers: &Answers) -> Option<Right> {
    answers
        .rights
        .iter()
        .find(|(name, _)| *name == "WURK.CLAIM")
        .map(|(_, right)| *right)
}

fn module(answers: &Answers) -> Finding {
    let version = answers.module.filter(|version| *version > 0);
    let found = match (version, claim_right(answers)) {
        (Some(version), _) => format!(
            "loaded, {}.{}.{}",
            version / 10_000,
            version / 100 % 100,
            version % 100
        ),
        (None, Some(Right::Yes | Right::No)) => "loaded".to_owned(),
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
fn road(answers: &Answers) -> Finding {
    match claim_right(answers) {
        Some(Right::Yes) => finding(
            "road",
            Level::Fine,
            "the module's commands",
            "this user's workers go on when the server is full",
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
        _ if has_flags(answers) == Some(false) => finding(
            "road",
            Level::Fine,
            "scripts behind a write",
            "this user's workers go on when the server is full",
            "",
        ),
        _ => finding(
            "road",
            Level::Fine,
            "scripts flagged allow-oom",
            "this user's workers go on when the server is full, slower over many queues",
            "",
        ),
    }
}

fn maxmemory(answers: &Answers) -> Finding {
    match number(answers, "maxmemory") {
        None => unseen("maxmemory", "INFO memory"),
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

fn policy(answers: &Answers) -> Finding {
    match info(answers, "maxmemory_policy") {
        None => unseen("policy", "INFO memory"),
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

fn memory(answers: &Answers) -> Finding {
    let (Some(used), Some(most)) = (number(answers, "used_memory"), number(answers, "maxmemory"))
    else {
        return unseen("memory", "INFO memory");
    };
    if most == 0.0 {
        return finding("memory", Level::Fine, mib(used), "", "");
    }
    let part = used / most * 100.0;
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

fn config<'a>(answers: &'a Answers, name: &str) -> Option<Option<&'a str>> {
    answers
        .config
        .as_ref()
        .map(|config| config.get(name).map(String::as_str))
}

fn growth(answers: &Answers) -> Finding {
    match config(answers, "wurk.growth-limit") {
        None => unseen("growth limit", "CONFIG"),
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

fn loading(answers: &Answers) -> Finding {
    match config(answers, "enable-module-command") {
        None => unseen("MODULE LOAD", "CONFIG"),
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

fn scripts(answers: &Answers) -> Finding {
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

fn rights(answers: &Answers) -> Finding {
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

fn replication(answers: &Answers) -> Finding {
    let Some(role) = info(answers, "role") else {
        return unseen("replication", "INFO replication");
    };
    if role == "slave" {
        return finding(
            "replication",
            Level::Mend,
            "a replica",
            "it takes no writes, so nobody can claim here",
            "give workers the primary's address",
        );
    }
    let replicas = info(answers, "connected_slaves").unwrap_or("0");
    let found = format!("a primary, replicas: {replicas}");
    match config(answers, "replica-ignore-maxmemory") {
        Some(Some("no")) => finding(
            "replication",
            if replicas == "0" {
                Level::Fine
            } else {
                Level::Mend
            },
            format!("{found}, replica-ignore-maxmemory no"),
            "as a replica this server would throw keys away by itself; replicas may be set alike",
            "CONFIG SET replica-ignore-maxmemory yes, here and there",
        ),
        _ => finding(
            "replication",
            Level::Fine,
            found,
            "replicas need no module, until one of them is promoted",
            "",
        ),
    }
}

fn aof(answers: &Answers) -> Finding {
    match (
        info(answers, "aof_enabled"),
        info(answers, "aof_last_write_status"),
    ) {
        (None, _) => unseen("AOF", "INFO persistence"),
        (Some("1"), Some("err")) => finding(
            "AOF",
            Level::Mend,
            "its last write failed",
            "every write is refused with MISCONF",
            "look at the disk",
        ),
        (Some("1"), _) => finding(
            "AOF",
            Level::Fine,
            "on",
            "needs no module when it is read again",
            "",
        ),
        _ => finding(
            "AOF",
            Level::Fine,
            "off",
            "what came after the last snapshot is lost with the server",
            "appendonly yes, if that matters",
        ),
    }
}

fn mib(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}
