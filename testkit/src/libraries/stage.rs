//! A server, or the nodes of a cluster, with a user for producers and one for workers,
//! and the library that is run there.

use std::collections::HashSet;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::account::Account;
use super::folder::Folder;
use super::programs::Program;
use super::table::Library;
use crate::options::Options;
use crate::resp::Resp;
use crate::server::Server;

/// The user of the workers, who may be named in `rescue-users`.
pub const WORKER: &str = "worker";

/// The user of the producer.
pub const PRODUCER: &str = "producer";

/// A library, where it runs, and what its jobs have written.
pub struct Stage {
    /// The library.
    pub library: &'static Library,
    /// Its server, or the nodes of its cluster.
    pub servers: Vec<Server>,
    /// A connection of the operator, to the first.
    pub con: Resp,
    /// What its jobs have written.
    pub folder: Folder,
    /// Whether the workers rescue their own commands.
    pub rescuing: bool,
    started: usize,
}

impl Stage {
    /// Starts the server, on a port, with both users.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn new(library: &'static Library, options: Options) -> Self {
        Self::on(library, vec![options.port().start()])
    }

    /// With a server that runs, or with the nodes of a cluster; adds both users to each.
    ///
    /// # Panics
    /// If there is none, or one has no port.
    #[must_use]
    pub fn on(library: &'static Library, servers: Vec<Server>) -> Self {
        for server in &servers {
            assert_ne!(server.port, 0, "libraries connect to ports");
            let mut con = server.connect();
            for user in [WORKER, PRODUCER] {
                con.must(&format!("ACL SETUSER {user} reset on >secret ~* &* +@all"));
            }
        }
        let con = servers[0].connect();
        Self {
            library,
            servers,
            con,
            folder: Folder::new(),
            rescuing: false,
            started: 0,
        }
    }

    /// Opens a connection of the producer's user.
    ///
    /// # Panics
    /// If the server refuses.
    #[must_use]
    pub fn as_producer(&self) -> Resp {
        let mut con = self.servers[0].connect();
        con.must(&format!("AUTH {PRODUCER} secret"));
        con
    }

    /// Runs a producer until the server refuses, or for `most` jobs.
    pub fn produce(&mut self, most: Option<usize>) {
        let mut producer = self.start_producer(most);
        producer.wait();
    }

    /// Starts a producer, which ends when the server refuses, or after `most` jobs.
    pub fn start_producer(&mut self, most: Option<usize>) -> Program {
        let mut command = self.library.producer(&self.url(PRODUCER));
        // Those that were refused had a number too.
        let first = self.folder.accepted().len() + self.folder.uncertain().len();
        command.env("FIRST", first.to_string());
        command.envs(most.map(|most| ("MOST", most.to_string())));
        self.start(command)
    }

    /// Starts the library's workers, with more variables in their environment.
    pub fn start_workers(&mut self, variables: &[(&str, &str)]) -> Vec<Program> {
        (0..self.library.processes)
            .map(|_| {
                let url = self.url(WORKER);
                let mut command = if self.rescuing {
                    self.library.rescuing_worker(&url)
                } else {
                    self.library.worker(&url)
                };
                command.envs(variables.iter().copied());
                self.start(command)
            })
            .collect()
    }

    /// Waits until `count` jobs are done, each counted once: true, or none has been for
    /// `patience`: false. Tells `progress` how many are.
    pub fn wait_until_done(
        &self,
        count: usize,
        patience: Duration,
        mut progress: impl FnMut(usize),
    ) -> bool {
        let done = || self.folder.done().into_iter().collect::<HashSet<_>>().len();
        let mut before = done();
        let mut last = Instant::now();
        while before < count {
            if last.elapsed() > patience {
                return false;
            }
            thread::sleep(Duration::from_millis(20));
            let now = done();
            if now != before {
                (before, last) = (now, Instant::now());
                progress(now);
            }
        }
        true
    }

    /// Waits until every job is done, or none has been for `patience`, and accounts for
    /// each. Tells `progress` how many are done.
    ///
    /// # Panics
    /// If the server does not reply.
    pub fn drain(&mut self, patience: Duration, progress: impl FnMut(usize)) -> Account {
        let accepted = self.folder.accepted().len();
        if self.wait_until_done(accepted, patience, progress) {
            // One whose producer was refused may be there too.
            let deadline = Instant::now() + patience;
            while self.settle().left > 0 && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(100));
            }
            // One that is done twice may come a little later.
            thread::sleep(Duration::from_millis(300));
        }
        self.settle()
    }

    /// Accounts for each job.
    pub fn settle(&mut self) -> Account {
        Account::settle(&self.folder, [&mut self.con])
    }

    fn start(&mut self, mut command: Command) -> Program {
        self.started += 1;
        command.env("JOBS", self.folder.path());
        let log = self.folder.path().join(format!("log-{}", self.started));
        Program::start(&mut command, log)
    }

    fn url(&self, user: &str) -> String {
        format!("redis://{user}:secret@127.0.0.1:{}/0", self.servers[0].port)
    }
}
