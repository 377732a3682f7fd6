//! Running producers and workers, as process groups that end with their owner.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::child::end_with_this_program;

/// A running program with the processes that it starts. They are killed when it is
/// dropped; if a test has failed, the end of what they wrote is printed.
#[derive(Debug)]
pub struct Program {
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts it; what it prints goes to the file `log`.
    pub(crate) fn start(command: &mut Command, log: PathBuf) -> Self {
        let output = File::options().create(true).append(true).open(&log);
        let output = output.expect("a log");
        end_with_this_program(command);
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a log"))
            .stderr(output)
            .spawn();
        let child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self { child, log }
    }

    /// Waits until it ends.
    ///
    /// # Panics
    /// If the system refuses.
    pub fn wait(&mut self) {
        self.child.wait().expect("an end");
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// The end of what it has printed.
    #[must_use]
    pub fn printed(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(4_000)..]).into_owned()
    }

    /// Kills it and all that it has started, with SIGKILL.
    #[allow(unsafe_code)]
    fn kill(&mut self) {
        // A group cannot have more processes than there are numbers for.
        if let Ok(group) = libc::pid_t::try_from(self.child.id()) {
            // SAFETY: a plain system call. The number is not used again before `wait`,
            // and the group is this program's own child's.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        let _ = self.child.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("--- {}\n{}---", self.log.display(), self.printed());
        }
        self.kill();
    }
}
