//! The JSON of a job.

use std::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};

/// What the keys of queues begin with.
const PREFIX: &str = "queue:";

/// A job that is a JSON object. Its values stay as they were written, so that a number
/// that no type holds comes out as it went in.
pub(crate) struct Job(BTreeMap<String, Box<RawValue>>);

impl Job {
    /// Reads a job. `None` if it is not a JSON object.
    pub(crate) fn parse(job: &[u8]) -> Option<Self> {
        serde_json::from_slice(job).ok().map(Self)
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.0.get(name)?.get()).ok()
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| value.get() == "true")
    }

    /// Raises a count by one. Returns the new one and the job with it, in which `queue`
    /// is `public` if it has none.
    pub(crate) fn raise(mut self, count: &str, public: &[u8]) -> Option<(u64, String)> {
        let raised = self.0.get(count).and_then(|value| value.get().parse().ok());
        let raised = raised.unwrap_or(0_u64).saturating_add(1);
        self.0.insert(count.to_owned(), to_raw_value(&raised).ok()?);
        if self.text("queue").is_none() {
            let public = to_raw_value(str::from_utf8(public).ok()?).ok()?;
            self.0.insert("queue".to_owned(), public);
        }
        Some((raised, serde_json::to_string(&self.0).ok()?))
    }
}

/// The queue that a job says it belongs to, by its name or its key; `queue:default` if
/// it says nothing.
pub(crate) fn queue_of(job: &[u8]) -> String {
    let name = Job::parse(job).and_then(|job| job.text("queue"));
    let name = name.as_deref().unwrap_or("default");
    format!("{PREFIX}{}", name.strip_prefix(PREFIX).unwrap_or(name))
}
