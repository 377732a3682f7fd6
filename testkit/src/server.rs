//! A server that runs in a temporary folder, and what it leaves when it is stopped.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::binary::Binary;
use crate::resp::Resp;

/// How long a server may take to reply after its start, or to end.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running server. It is stopped when it is dropped, with `SHUTDOWN` or else by a
/// kill; if a test has failed, the end of its log is printed.
#[derive(Debug)]
pub struct Server {
    /// Its program.
    pub binary: Binary,
    /// Its port, or 0 if it has none.
    pub port: u16,
    pub(crate) child: Child,
    pub(crate) folder: Option<TempDir>,
    pub(crate) sentinel: bool,
}

/// What a stopped server has left.
#[derive(Debug)]
pub struct Stopped {
    pub(crate) folder: TempDir,
}

impl Stopped {
    /// The folder it ran in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The same folder, to start another server in.
    #[must_use]
    pub fn into_folder(self) -> TempDir {
        self.folder
    }
}

impl Server {
    /// Opens a connection to it.
    ///
    /// # Panics
    /// If it refuses.
    #[must_use]
    pub fn connect(&self) -> Resp {
        self.dial()
            .unwrap_or_else(|error| panic!("{}: {error}", self.binary))
    }

    /// Opens a connection that uses RESP3.
    ///
    /// # Panics
    /// If it refuses.
    #[must_use]
    pub fn connect3(&self) -> Resp {
        let mut con = self.connect();
        con.call(&["HELLO", "3"]);
        con
    }

    /// Its unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder().join("socket")
    }

    /// Its address for the `redis` crate.
    #[must_use]
    pub fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// The folder it runs in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new(""), TempDir::path)
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its log.
    #[must_use]
    pub fn log(&self) -> String {
        let log = fs::read(self.folder().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Stops it, and keeps its data.
    #[must_use]
    pub fn stop(mut self) -> Stopped {
        self.end();
        Stopped {
            folder: self.folder.take().expect("a folder until it is dropped"),
        }
    }

    /// Kills it, as a crash of the machine would, and keeps its data.
    #[must_use]
    pub fn kill(mut self) -> Stopped {
        let _ = self.child.kill();
        let _ = self.child.wait();
        Stopped {
            folder: self.folder.take().expect("a folder until it is dropped"),
        }
    }

    fn dial(&self) -> io::Result<Resp> {
        if self.sentinel {
            Resp::tcp(self.port)
        } else {
            Resp::unix(&self.socket())
        }
    }

    /// Waits until it replies: true, or has ended: false.
    pub(crate) fn has_started(&mut self) -> bool {
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            if let Ok(Some(_)) = self.child.try_wait() {
                return false;
            }
            if let Ok(mut con) = self.dial()
                && con
                    .try_call(&["PING"])
                    .is_ok_and(|reply| reply.to_string() == "PONG")
            {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("{} neither replies nor ends:\n{}", self.binary, self.log());
    }

    fn end(&mut self) {
        if let Ok(mut con) = self.dial() {
            let _ = con.try_call(&["SHUTDOWN", "NOSAVE"]);
            let deadline = Instant::now() + TIMEOUT;
            while Instant::now() < deadline {
                if let Ok(Some(_)) = self.child.try_wait() {
                    return;
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.folder.is_none() {
            return; // Stopped or killed before.
        }
        if thread::panicking() {
            eprintln!(
                "--- the end of {}'s log\n{}---",
                self.binary,
                self.end_of_log()
            );
        }
        self.end();
    }
}

impl Server {
    fn end_of_log(&self) -> String {
        let mut end = Vec::new();
        if let Ok(mut log) = File::open(self.folder().join("log")) {
            let length = log.metadata().map_or(0, |log| log.len());
            let _ = log.seek(SeekFrom::Start(length.saturating_sub(8_000)));
            let _ = log.read_to_end(&mut end);
        }
        String::from_utf8_lossy(&end).into_owned()
    }
}

/// Finds a free port whose cluster bus port is free too, below the range of ephemeral
/// ports.
#[must_use]
pub fn free_port() -> u16 {
    loop {
        let port = fastrand::u16(12_000..22_000);
        let bus = port + 10_000;
        if [port, bus]
            .iter()
            .all(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        {
            return port;
        }
    }
}
