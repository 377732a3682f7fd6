//! The identity of a process, and what it says about itself, as Sidekiq-compatible
//! libraries and dashboards read them.

use std::env;
use std::fmt;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

/// A process: `<host>:<pid>:<nonce>`.
///
/// ```
/// let process = wurk_client::Process::current();
/// let identity = process.identity(); // host:4711:0f3a77b2c1d
/// assert_eq!(identity.split(':').count(), 3);
/// let private = process.private_list(b"queue:mail", 0); // queue:mail|host|4711|0f3a77b2c1d|0
/// assert!(private.starts_with(b"queue:mail|"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Process {
    /// The host: `DYNO` if the environment has it, else the machine's name.
    pub host: String,
    /// The process id on that host.
    pub pid: u32,
    /// A random number, which tells it from an earlier process with the same id.
    pub nonce: String,
}

impl Process {
    /// A process of this identity.
    #[must_use]
    pub fn new(host: impl Into<String>, pid: u32, nonce: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            pid,
            nonce: nonce.into(),
        }
    }

    /// The calling process. Always the same, but for the child after a fork.
    #[must_use]
    pub fn current() -> Self {
        let pid = process::id();
        Self {
            host: host(),
            pid,
            nonce: format!("{:011x}", nonce(pid)),
        }
    }

    /// `<host>:<pid>:<nonce>`: the key of its hash, and its member in the set of
    /// all processes.
    #[must_use]
    pub fn identity(&self) -> String {
        self.to_string()
    }

    /// `<public>|<host>|<pid>|<nonce>|<index>`: its list of the jobs in flight from
    /// `public`. `index` tells the fetchers of a process apart.
    #[must_use]
    pub fn private_list(&self, public: &[u8], index: usize) -> Vec<u8> {
        let Self { host, pid, nonce } = self;
        let mut list = public.to_vec();
        list.extend_from_slice(format!("|{host}|{pid}|{nonce}|{index}").as_bytes());
        list
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.host, self.pid, self.nonce)
    }
}

/// What a process says about itself: the field `info` of its hash.
///
/// ```
/// use wurk_client::{Info, Process};
///
/// let json = Info::new()
///     .with_concurrency(10)
///     .with_queues(&[("mail", 3), ("default", 1)])
///     .to_json(&Process::current());
/// assert!(json.contains(r#""concurrency":10"#));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Info<'a> {
    /// When the process started, in seconds since 1970.
    pub started_at: f64,
    /// A name for people.
    pub tag: &'a str,
    /// How many jobs it runs at once.
    pub concurrency: usize,
    /// Its queues by name, without `queue:`, and the weight of each.
    pub queues: &'a [(&'a str, u32)],
    /// Any labels.
    pub labels: &'a [&'a str],
    /// The version of the library that runs the jobs.
    pub version: &'a str,
    /// Whether it runs inside a process that does other work too.
    pub embedded: bool,
}

impl Default for Info<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Info<'a> {
    /// A process that has started now, with a concurrency of 1 and no queues yet.
    #[must_use]
    pub fn new() -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            started_at: now.as_secs_f64(),
            tag: "",
            concurrency: 1,
            queues: &[],
            labels: &[],
            version: env!("CARGO_PKG_VERSION"),
            embedded: false,
        }
    }

    /// Sets when the process started, in seconds since 1970.
    #[must_use]
    pub const fn with_started_at(self, started_at: f64) -> Self {
        Self { started_at, ..self }
    }

    /// Sets a name for people.
    #[must_use]
    pub const fn with_tag(self, tag: &'a str) -> Self {
        Self { tag, ..self }
    }

    /// Sets how many jobs it runs at once.
    #[must_use]
    pub const fn with_concurrency(self, concurrency: usize) -> Self {
        Self {
            concurrency,
            ..self
        }
    }

    /// Sets its queues by name, without `queue:`, and the weight of each.
    #[must_use]
    pub const fn with_queues(self, queues: &'a [(&'a str, u32)]) -> Self {
        Self { queues, ..self }
    }

    /// Sets its labels.
    #[must_use]
    pub const fn with_labels(self, labels: &'a [&'a str]) -> Self {
        Self { labels, ..self }
    }

    /// Sets the version of the library that runs the jobs.
    #[must_use]
    pub const fn with_version(self, version: &'a str) -> Self {
        Self { version, ..self }
    }

    /// Sets whether it runs inside a process that does other work too.
    #[must_use]
    pub const fn with_embedded(self, embedded: bool) -> Self {
        Self { embedded, ..self }
    }

    /// The JSON that dashboards read.
    #[must_use]
    pub fn to_json(&self, process: &Process) -> String {
        let queues: Vec<_> = self.queues.iter().map(|(name, _)| name).collect();
        let weights: serde_json::Map<_, _> = self
            .queues
            .iter()
            .map(|(name, weight)| ((*name).to_owned(), (*weight).into()))
            .collect();
        json!({
            "hostname": process.host,
            "started_at": self.started_at,
            "pid": process.pid,
            "tag": self.tag,
            "concurrency": self.concurrency,
            "queues": queues,
            "weights": [weights],
            "labels": self.labels,
            "identity": process.identity(),
            "version": self.version,
            "embedded": self.embedded,
        })
        .to_string()
    }
}

fn host() -> String {
    match env::var("DYNO") {
        Ok(dyno) if !dyno.is_empty() => dyno,
        _ => host_name(),
    }
}

#[allow(unsafe_code)]
fn host_name() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer is as long as is said.
    let status = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
    let end = name
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(name.len());
    match status {
        0 if end > 0 => String::from_utf8_lossy(&name[..end]).into_owned(),
        _ => "localhost".to_owned(),
    }
}

/// Bits of a process id: Linux has no larger ones.
const PID: u32 = 22;

/// 42 random bits that belong to `pid`.
///
/// Both are in one word, so that a child sees at its first call that they are its
/// parent's, without a lock that another thread may have held at the fork.
fn nonce(pid: u32) -> u64 {
    static NONCE: AtomicU64 = AtomicU64::new(0);
    let pid = u64::from(pid) & ((1 << PID) - 1);
    let mut known = NONCE.load(Relaxed);
    while known & ((1 << PID) - 1) != pid || known == 0 {
        let fresh = random() << PID | pid;
        match NONCE.compare_exchange(known, fresh, Relaxed, Relaxed) {
            Ok(_) => known = fresh,
            Err(other) => known = other,
        }
    }
    known >> PID
}

#[allow(unsafe_code)]
fn random() -> u64 {
    let mut bytes = [0_u8; 8];
    // SAFETY: the buffer is as long as is said. Eight bytes come whole or not
    // at all.
    let status = unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) };
    if status == 0 {
        u64::from_ne_bytes(bytes)
    } else {
        // A kernel without it: the clock still tells one start from the next.
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_stays_who_it_is() {
        let threads: Vec<_> = (0..8)
            .map(|_| std::thread::spawn(Process::current))
            .collect();
        for thread in threads {
            assert_eq!(thread.join().expect("a process"), Process::current());
        }
        assert_eq!(Process::current().pid, process::id());
        assert_eq!(Process::current().nonce.len(), 11);
    }

    #[test]
    #[allow(unsafe_code)]
    fn a_child_is_another_process() {
        let parent = Process::current();
        let mut ends = [0; 2];
        // SAFETY: the child only computes and writes to a pipe, then ends
        // without running anything else of the test's.
        unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            let child = libc::fork();
            if child == 0 {
                let nonce = nonce(process::id());
                libc::write(ends[1], (&raw const nonce).cast(), 8);
                libc::_exit(0);
            }
            let mut nonce = 0_u64;
            assert_eq!(libc::read(ends[0], (&raw mut nonce).cast(), 8), 8);
            libc::waitpid(child, std::ptr::null_mut(), 0);
            assert_ne!(format!("{nonce:011x}"), parent.nonce);
        }
        assert_eq!(Process::current(), parent);
    }

    #[test]
    fn names_are_those_that_reapers_read() {
        let process = Process {
            host: "web.1".into(),
            pid: 4,
            nonce: "f00".into(),
        };
        assert_eq!(process.identity(), "web.1:4:f00");
        assert_eq!(
            process.private_list(b"queue:a|b", 2),
            b"queue:a|b|web.1|4|f00|2"
        );
    }

    #[test]
    fn info_has_every_field_that_dashboards_read() {
        let process = Process {
            host: "web.1".into(),
            pid: 4,
            nonce: "f00".into(),
        };
        let info = Info {
            started_at: 1_700_000_000.5,
            tag: "shop",
            concurrency: 10,
            queues: &[("mail", 3), ("bulk", 1)],
            labels: &["reliable"],
            version: "8.0.1",
            embedded: true,
        };
        let found: serde_json::Value = serde_json::from_str(&info.to_json(&process)).expect("JSON");
        let expected = json!({
            "hostname": "web.1", "started_at": 1_700_000_000.5, "pid": 4, "tag": "shop",
            "concurrency": 10, "queues": ["mail", "bulk"], "weights": [{"mail": 3, "bulk": 1}],
            "labels": ["reliable"], "identity": "web.1:4:f00", "version": "8.0.1", "embedded": true,
        });
        assert_eq!(found, expected);
    }
}
