//! A folder of small programs to put into `PATH`, and how a program ended.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use wurk_testkit::binary::{example_module, workspace};

/// A folder of programs to put into `PATH`.
pub struct Programs(TempDir);

impl Programs {
    pub fn new() -> Self {
        Self(TempDir::with_prefix("wurk-machine-").expect("a temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Adds a shell script.
    pub fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
        path
    }

    /// Adds a program that prints the `--version` of a server.
    pub fn server(&self, name: &str, version: &str) {
        self.script(name, &format!("echo 'Redis server v={version} sha=0'"));
    }

    /// Adds a copy of a script of this project.
    pub fn copy(&self, script: &str) -> PathBuf {
        let path = self.path().join(script);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::copy(workspace().join(script), &path).expect("a copy");
        path
    }

    /// Returns `PATH` with these programs first.
    pub fn first(&self) -> String {
        let path = std::env::var("PATH").expect("PATH");
        format!("{}:{path}", self.path().display())
    }
}

/// Runs a program: whether it succeeded, and its output.
pub fn outcome(command: &mut Command) -> (bool, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("a program");
    let text = [stdout, stderr].concat();
    (
        status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// Another module, which cargo builds beside the tests: `tests/modules/meddler.rs`.
pub fn meddler() -> PathBuf {
    example_module("wurk", "meddler")
}
