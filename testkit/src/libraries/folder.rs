//! The files that jobs write to, beside the server: `tests/libraries/job/job.py` names them.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// The folder of one run.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::with_prefix("wurk-jobs-").expect("a temporary folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The jobs that the server took from the producer.
    #[must_use]
    pub fn accepted(&self) -> Vec<String> {
        self.lines("accepted")
    }

    /// The jobs that were refused. A library that enqueues in several calls may have
    /// enqueued them all the same.
    #[must_use]
    pub fn uncertain(&self) -> Vec<String> {
        self.lines("uncertain")
    }

    /// The jobs that have run, in order, one that ran twice twice.
    #[must_use]
    pub fn done(&self) -> Vec<String> {
        self.lines("done")
    }

    /// The jobs that have met the gate.
    #[must_use]
    pub fn held(&self) -> Vec<String> {
        self.lines("held")
    }

    /// How many jobs have failed once.
    #[must_use]
    pub fn failed_once(&self) -> usize {
        let files = fs::read_dir(self.path()).into_iter().flatten().flatten();
        let names = files.map(|file| file.file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with("failed-"))
            .count()
    }

    /// The error that ended the producer.
    #[must_use]
    pub fn refused(&self) -> String {
        self.lines("refused").join("\n")
    }

    /// Lets no job go on.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn close_gate(&self) {
        fs::write(self.path().join("gate"), "").expect("a gate");
    }

    /// Lets jobs go on.
    ///
    /// # Panics
    /// If the gate was open.
    pub fn open_gate(&self) {
        fs::remove_file(self.path().join("gate")).expect("a closed gate");
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
