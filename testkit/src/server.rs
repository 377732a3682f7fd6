//! A server that is started in a temporary folder and stopped again.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::binary::{self, Binary};
use crate::resp::Resp;

/// How long a server may take to answer after its start, or to go.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a server is to be started.
#[derive(Clone, Debug)]
pub struct Options {
    binary: Binary,
    arguments: Vec<String>,
    module: Option<Vec<String>>,
    port: bool,
    sentinel_of: Option<u16>,
}

impl Options {
    /// `binary` without the module, on a unix socket, with nothing saved.
    #[must_use]
    pub fn new(binary: &Binary) -> Self {
        Self {
            binary: binary.clone(),
            arguments: Vec::new(),
            module: None,
            port: false,
            sentinel_of: None,
        }
    }

    /// With the module.
    #[must_use]
    pub fn module(self) -> Self {
        self.module_with(&[])
    }

    /// With the module, where the server is new enough for it.
    #[must_use]
    pub fn module_where_it_loads(self) -> Self {
        if self.binary.loads_modules() {
            self.module()
        } else {
            self
        }
    }

    /// With the module, and arguments for it.
    #[must_use]
    pub fn module_with(mut self, arguments: &[&str]) -> Self {
        self.module = Some(arguments.iter().map(ToString::to_string).collect());
        self
    }

    /// With a line of configuration: its name and values.
    #[must_use]
    pub fn set(mut self, name: &str, values: &[&str]) -> Self {
        self.arguments.push(format!("--{name}"));
        self.arguments
            .extend(values.iter().map(ToString::to_string));
        self
    }

    /// On a port as well.
    #[must_use]
    pub fn port(mut self) -> Self {
        self.port = true;
        self
    }

    /// As the one Sentinel of the primary on this port, which it calls `main`.
    #[must_use]
    pub fn sentinel_of(mut self, primary: u16) -> Self {
        self.port = true;
        self.sentinel_of = Some(primary);
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// Where it does not answer in time; with its log.
    #[must_use]
    pub fn start(&self) -> Server {
        loop {
            let folder = TempDir::with_prefix("wurk-").expect("a temporary folder");
            match self.try_start(folder) {
                Ok(server) => return server,
                // Somebody else has taken the port since it was free.
                Err(log) if self.port && log.contains("already in use") => {}
                Err(log) => panic!("{} did not start:\n{log}", self.binary),
            }
        }
    }

    /// Starts it where another one has been: over the data that is there.
    ///
    /// # Panics
    /// Where it does not answer in time; with its log.
    #[must_use]
    pub fn start_over(&self, stopped: Stopped) -> Server {
        match self.try_start(stopped.folder) {
            Ok(server) => server,
            Err(log) => panic!("{} did not start again:\n{log}", self.binary),
        }
    }

    /// Starts it, or returns the log of one that ended or never answered.
    ///
    /// # Errors
    /// The server's log.
    pub fn try_start(&self, folder: TempDir) -> Result<Server, String> {
        let path = folder.path();
        let port = if self.port { free_port() } else { 0 };
        let socket = path.join("socket");
        let log = path.join("log");
        let output = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .expect("a log");
        let mut command = Command::new(&self.binary.path);
        if let Some(primary) = self.sentinel_of {
            let config = path.join("sentinel.conf");
            fs::write(&config, sentinel_config(port, path, primary)).expect("a configuration");
            command.arg(config).arg("--sentinel");
        } else {
            command
                .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
                .args(["--unixsocket", &socket.to_string_lossy()])
                .args(["--dir", &path.to_string_lossy()])
                .args(["--save", ""]);
            if self.binary.version >= (7, 0, 0) {
                command.args(["--enable-debug-command", "yes"]);
            }
        }
        if let Some(arguments) = &self.module {
            command
                .arg("--loadmodule")
                .arg(binary::module())
                .args(arguments);
        }
        end_with_us(&mut command);
        let child = command
            .args(&self.arguments)
            .current_dir(path)
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a log"))
            .stderr(output)
            .spawn()
            .expect("a server to start");
        let mut server = Server {
            binary: self.binary.clone(),
            child,
            folder: Some(folder),
            port,
            sentinel: self.sentinel_of.is_some(),
        };
        if server.is_ready() {
            Ok(server)
        } else {
            let log = server.log();
            Err(log)
        }
    }
}

/// A server that runs. Stopped at the end of its scope, politely, then by
/// force; its log is printed where a test has failed.
#[derive(Debug)]
pub struct Server {
    /// The program it is.
    pub binary: Binary,
    /// Its port, or 0.
    pub port: u16,
    child: Child,
    folder: Option<TempDir>,
    sentinel: bool,
}

/// What a stopped server has left behind.
#[derive(Debug)]
pub struct Stopped {
    folder: TempDir,
}

impl Stopped {
    /// The folder it ran in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Server {
    /// A new connection to it.
    ///
    /// # Panics
    /// Where it does not take one.
    #[must_use]
    pub fn connect(&self) -> Resp {
        self.dial()
            .unwrap_or_else(|error| panic!("{}: {error}", self.binary))
    }

    /// A new connection that speaks RESP3.
    ///
    /// # Panics
    /// Where it does not take one.
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

    /// The id of its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        let log = fs::read(self.folder().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Stops it and keeps its data.
    #[must_use]
    pub fn stop(mut self) -> Stopped {
        self.end();
        Stopped {
            folder: self.folder.take().expect("a folder until it is dropped"),
        }
    }

    /// Kills it, as a lost machine would, and keeps its data.
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

    fn is_ready(&mut self) -> bool {
        let deadline = Instant::now() + PATIENCE;
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
        false
    }

    fn end(&mut self) {
        if let Ok(mut con) = self.dial() {
            let _ = con.try_call(&["SHUTDOWN", "NOSAVE"]);
            let deadline = Instant::now() + PATIENCE;
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

/// Has the server end where this program ends without a word: killed, or out of
/// a place to print to.
#[allow(unsafe_code)]
fn end_with_us(command: &mut Command) {
    // SAFETY: between fork and exec only one system call is made, which touches
    // no memory.
    unsafe {
        command.pre_exec(
            || match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            },
        );
    }
}

/// A port that was free a moment ago, and so was the one that a cluster node
/// takes beside it. Below those that the system gives to clients.
#[must_use]
pub fn free_port() -> u16 {
    loop {
        let port = fastrand::u16(12_000..22_000);
        let beside = port + 10_000;
        if [port, beside]
            .iter()
            .all(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        {
            return port;
        }
    }
}

fn sentinel_config(port: u16, folder: &Path, primary: u16) -> String {
    format!(
        "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor main 127.0.0.1 {primary} 1\n\
         sentinel down-after-milliseconds main 60000\nsentinel failover-timeout main 5000\n",
        folder.display()
    )
}
