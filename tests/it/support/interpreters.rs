//! Python and Ruby with their Redis libraries, if this machine has them.

use std::env;
use std::process::{Command, Output};

use wurk_testkit::binary::workspace;

/// Finds the interpreter that has the library; none if there is none and none is required.
fn interpreter(names: &[&'static str], check: &[&str]) -> Option<&'static str> {
    let found = names.iter().find(|name| {
        Command::new(name)
            .args(check)
            .output()
            .is_ok_and(|output| output.status.success())
    });
    assert!(
        found.is_some() || !are_required(),
        "none of {names:?} runs {check:?}: run 'tools/need languages'"
    );
    if found.is_none() {
        eprintln!("skipped: none of {names:?} has its Redis library");
    }
    found.copied()
}

/// Whether a test may not be skipped for what this machine lacks.
pub fn are_required() -> bool {
    env::var("WURK_REQUIRE_LANGUAGES").is_ok_and(|required| !required.is_empty())
}

pub fn python() -> Option<&'static str> {
    interpreter(&["python3", "/usr/bin/python3"], &["-c", "import redis"])
}

pub fn ruby() -> Option<&'static str> {
    interpreter(&["ruby"], &["-e", "require 'redis'"])
}

/// Whether this Ruby has the gem `redis-namespace`.
pub fn has_namespaces(ruby: &'static str) -> bool {
    interpreter(&[ruby], &["-e", "require 'redis-namespace'"]).is_some()
}

/// The languages that this machine can run, and their interpreters.
pub fn interpreters() -> impl Iterator<Item = (&'static str, &'static str)> {
    [("python", python()), ("ruby", ruby())]
        .into_iter()
        .filter_map(|(language, interpreter)| Some((language, interpreter?)))
}

/// Runs a program until it ends, or for two minutes.
pub fn run(interpreter: &str, arguments: &[&str]) -> Output {
    Command::new("timeout")
        .args(["120", interpreter])
        .current_dir(workspace())
        .args(arguments)
        .output()
        .expect("an interpreter")
}

pub fn lines(output: &Output) -> Vec<String> {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect()
}
