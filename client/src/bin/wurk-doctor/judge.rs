//! What the answers mean.
//!
//! | room | what is in it |
//! | --- | --- |
//! | `module` | the server and its module: what is loaded, how, and which way a client takes |
//! | `writes` | whether the server takes writes at all |
//! | `memory` | the memory: its limit, what happens at it, and how near it is |
//! | `access` | what the user may do |
//! | `replication` | replicas, seen from either side |
//! | `persistence` | what is on the disk |

mod access;
mod memory;
mod module;
mod persistence;
mod replication;
mod writes;

use crate::ask::Answers;
use crate::rights::Right;

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

/// `question` had no answer: the user may not ask it, or the server is in a state
/// that keeps it from answering.
fn unseen(answers: &Answers, topic: &'static str, question: &str) -> Finding {
    let command = question.split(' ').next().unwrap_or(question);
    let (found, todo) = match answers.not_now.get(command) {
        Some(state) => (
            format!("{question} is answered {state}"),
            "ask again when that is over",
        ),
        None => (
            format!("this user may not ask {question}"),
            "ask as a user who may",
        ),
    };
    finding(topic, Level::Unseen, found, "", todo)
}

pub(crate) fn all(answers: &Answers) -> Vec<Finding> {
    let mut findings = vec![
        module::server(answers),
        module::module(answers),
        module::road(answers),
        writes::writes(answers),
        memory::maxmemory(answers),
        memory::policy(answers),
        memory::memory(answers),
        memory::growth(answers),
        module::loading(answers),
    ];
    findings.extend(module::restart(answers));
    findings.extend([
        access::scripts(answers),
        access::rights(answers),
        replication::replication(answers),
    ]);
    findings.extend(replication::refused(answers));
    findings.extend([persistence::snapshots(answers), persistence::aof(answers)]);
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

fn claim_right(answers: &Answers) -> Option<Right> {
    answers
        .rights
        .iter()
        .find(|(name, _)| *name == "WURK.CLAIM")
        .map(|(_, right)| *right)
}

fn config<'a>(answers: &'a Answers, name: &str) -> Option<Option<&'a str>> {
    answers
        .config
        .as_ref()
        .map(|config| config.get(name).map(String::as_str))
}

fn mib(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}
