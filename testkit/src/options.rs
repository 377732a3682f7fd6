//! How a server is started.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::binary::{self, Binary};
use crate::child::end_with_this_program;
use crate::server::{Server, Stopped, free_port};

/// The settings that a server is started with.
#[derive(Clone, Debug)]
pub struct Options {
    binary: Binary,
    arguments: Vec<String>,
    module: Option<Vec<String>>,
    port: bool,
    sentinel_of: Option<u16>,
    config: Option<String>,
}

impl Options {
    /// `binary` without the module, on a unix socket; saves nothing.
    #[must_use]
    pub fn new(binary: &Binary) -> Self {
        Self {
            binary: binary.clone(),
            arguments: Vec::new(),
            module: None,
            port: false,
            sentinel_of: None,
            config: None,
        }
    }

    /// With the module.
    #[must_use]
    pub fn module(self) -> Self {
        self.module_with(&[])
    }

    /// With the module, if the server is new enough for it.
    #[must_use]
    pub fn module_if_supported(self) -> Self {
        if self.binary.loads_modules() {
            self.module()
        } else {
            self
        }
    }

    /// With the module, and with arguments for it.
    #[must_use]
    pub fn module_with(mut self, arguments: &[&str]) -> Self {
        self.module = Some(arguments.iter().map(ToString::to_string).collect());
        self
    }

    /// With a setting: its name and values.
    #[must_use]
    pub fn set(mut self, name: &str, values: &[&str]) -> Self {
        self.arguments.push(format!("--{name}"));
        self.arguments
            .extend(values.iter().map(ToString::to_string));
        self
    }

    /// Also listens on a port.
    #[must_use]
    pub fn port(mut self) -> Self {
        self.port = true;
        self
    }

    /// As a primary: listens on a port, and sends its data to a new replica at once.
    #[must_use]
    pub fn primary(self) -> Self {
        self.port().set("repl-diskless-sync-delay", &["0"])
    }

    /// As a replica of the primary on this port.
    #[must_use]
    pub fn replica_of(self, primary: u16) -> Self {
        self.set("replicaof", &["127.0.0.1", &primary.to_string()])
    }

    /// As the one Sentinel of the primary on this port, which it calls `main`.
    #[must_use]
    pub fn sentinel_of(mut self, primary: u16) -> Self {
        self.port = true;
        self.sentinel_of = Some(primary);
        self
    }

    /// With a configuration file, which is in the folder that [`try_start`](Self::try_start)
    /// gets. All else is still set on the command line.
    #[must_use]
    pub fn config(mut self, file: &str) -> Self {
        self.config = Some(file.to_owned());
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// If it does not reply in time; with its log.
    #[must_use]
    pub fn start(&self) -> Server {
        loop {
            let folder = TempDir::with_prefix("wurk-").expect("a temporary folder");
            match self.try_start(folder) {
                Ok(server) => return server,
                // Another program has taken the port in the meantime.
                Err(log) if self.port && log.contains("already in use") => {}
                Err(log) => panic!("{} did not start:\n{log}", self.binary),
            }
        }
    }

    /// Starts it in the folder of a server that has stopped, with its data.
    ///
    /// # Panics
    /// If it does not reply in time; with its log.
    #[must_use]
    pub fn start_over(&self, stopped: Stopped) -> Server {
        match self.try_start(stopped.folder) {
            Ok(server) => server,
            Err(log) => panic!("{} did not start again:\n{log}", self.binary),
        }
    }

    /// Starts it in a folder, or returns the log if it ends at once.
    ///
    /// # Errors
    /// The log of a server that has ended.
    ///
    /// # Panics
    /// If it neither ends nor replies in time; with its log.
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
            command.args(self.config.iter().map(|file| path.join(file)));
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
        end_with_this_program(&mut command);
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
        if server.has_started() {
            Ok(server)
        } else {
            Err(server.log())
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
