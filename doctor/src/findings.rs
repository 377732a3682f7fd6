//! What the replies mean.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `module` | the server and its module: versions, how it is loaded, the next start |
//! | `strategy` | how a client calls a full server |
//! | `writes` | whether the server takes writes at all |
//! | `memory` | the limit, the eviction policy, and how much is used |
//! | `rescue` | workers that were not written for wurk: who is named |
//! | `rescue_limit` | how far they grow a full server |
//! | `access` | what the user may run |
//! | `replication` | primary and replicas |
//! | `persistence` | snapshots and the AOF |

mod access;
mod memory;
mod module;
mod persistence;
mod replication;
mod rescue;
mod rescue_limit;
mod strategy;
mod writes;

use crate::answers::Answers;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Fine,
    /// Workers are, or will be, in trouble.
    Warn,
    /// Not checked: this user may not, or the server cannot answer.
    Skipped,
}

/// The result of one check.
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

/// The check needs `command`, which the user may not run, or which failed because
/// of the server's state.
fn skipped(answers: &Answers, topic: &'static str, command: &str) -> Finding {
    let name = command.split(' ').next().unwrap_or(command);
    let (found, todo) = match answers.failed.get(name) {
        Some(state) => (
            format!("{command} failed: {state}"),
            "run this again when that is over",
        ),
        None => (
            format!("this user may not run {command}"),
            "run this as a user who may",
        ),
    };
    finding(topic, Level::Skipped, found, "", todo)
}

/// One of the module's settings, or the finding that there is nothing to check.
fn setting<'a>(answers: &'a Answers, topic: &'static str, name: &str) -> Result<&'a str, Finding> {
    match answers.config(name) {
        None => Err(skipped(answers, topic, "CONFIG")),
        Some(value) => value.ok_or_else(|| {
            let found = "not set: no module, or an older one";
            finding(topic, Level::Fine, found, "", "")
        }),
    }
}

/// All findings, in the order they are reported.
pub(crate) fn all(answers: &Answers) -> Vec<Finding> {
    let mut findings = vec![
        module::server(answers),
        module::module(answers),
        strategy::strategy(answers),
        writes::writes(answers),
        memory::maxmemory(answers),
        memory::policy(answers),
        memory::memory(answers),
        memory::growth(answers),
        rescue::users(answers),
    ];
    findings.extend(rescue::problems(answers));
    findings.extend(rescue::multi(answers));
    findings.push(rescue_limit::limit(answers));
    findings.extend(rescue_limit::machine(answers));
    findings.extend(rescue_limit::refused(answers));
    findings.push(module::loading(answers));
    findings.extend(module::restart(answers));
    findings.extend([
        access::scripts(answers),
        access::permissions(answers),
        replication::replication(answers),
    ]);
    findings.extend(replication::divergence(answers));
    findings.extend([persistence::snapshots(answers), persistence::aof(answers)]);
    findings
}

fn mib(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}
