//! The libraries, and how their producers and workers are started.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::binary::workspace;

/// The variable that, if set to `all`, demands every library.
pub const REQUIRED: &str = "WURK_REQUIRE_LIBRARIES";

/// What becomes of a library's jobs on a full server without wurk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    /// No job is done.
    Stuck,
    /// Jobs are done, and those that have failed once stay for ever.
    StuckRetries,
    /// Jobs are lost.
    Loses,
}

/// A queue library, as its documentation says to run it.
#[derive(Debug)]
pub struct Library {
    /// Its name, and the way it is run if there are several.
    pub name: &'static str,
    /// Its folder in `tests/libraries`, with which its name begins, and in
    /// `target/libraries` if it is installed there.
    folder: &'static str,
    /// The words that start a producer. What begins with `bin/` is in the library's
    /// installation, and `{url}` is the server's address.
    producer: &'static [&'static str],
    /// The words that start a worker.
    worker: &'static [&'static str],
    /// How many worker processes are started.
    pub processes: usize,
    /// More of the programs' environment.
    variables: &'static [(&'static str, &'static str)],
    /// The percentage of `wurk.rescue-limit` that it needs to finish.
    pub rescue_limit: u32,
    /// What becomes of its jobs without wurk.
    pub alone: Alone,
}

/// Every library, as it is run on one server.
pub static LIBRARIES: [Library; 16] = [
    Library {
        worker: &[
            "bin/celery",
            "--app",
            "tasks",
            "worker",
            "--concurrency",
            "4",
        ],
        ..Library::python("celery")
    },
    Library {
        worker: &["bin/rq", "worker", "--with-scheduler", "--url", "{url}"],
        processes: 4,
        // It keeps a result of each job for 500 seconds.
        rescue_limit: 60,
        ..Library::python("rq")
    },
    Library {
        worker: &[
            "bin/dramatiq",
            "tasks",
            "--processes",
            "1",
            "--threads",
            "4",
        ],
        ..Library::python("dramatiq")
    },
    Library {
        worker: &["bin/huey_consumer", "tasks.huey", "--workers", "4"],
        alone: Alone::Loses,
        ..Library::python("huey")
    },
    Library {
        worker: &["bin/arq", "tasks.WorkerSettings"],
        ..Library::python("arq")
    },
    Library {
        name: "taskiq-list",
        variables: &[("BROKER", "list")],
        alone: Alone::Loses,
        ..Library::TASKIQ
    },
    Library {
        name: "taskiq-stream",
        variables: &[("BROKER", "stream")],
        rescue_limit: 20,
        alone: Alone::StuckRetries,
        ..Library::TASKIQ
    },
    Library::node("bullmq"),
    Library::node("bull"),
    Library::node("bee-queue"),
    Library {
        alone: Alone::Loses,
        ..Library::SIDEKIQ
    },
    Library {
        name: "sidekiq-7",
        folder: "sidekiq-7",
        producer: &["bin/ruby", "../sidekiq/producer.rb"],
        worker: &[
            "bin/sidekiq",
            "--require",
            "./worker.rb",
            "--concurrency",
            "4",
        ],
        alone: Alone::Loses,
        ..Library::SIDEKIQ
    },
    Library {
        name: "gitlab-fetcher",
        folder: "gitlab-fetcher",
        variables: &[("FETCH", "reliable")],
        ..Library::SIDEKIQ
    },
    Library {
        name: "gitlab-fetcher-semi-reliable",
        folder: "gitlab-fetcher",
        variables: &[("FETCH", "semi-reliable")],
        alone: Alone::Loses,
        ..Library::SIDEKIQ
    },
    Library {
        name: "rusty-sidekiq",
        folder: "rusty-sidekiq",
        producer: &["bin/rusty-sidekiq-jobs", "producer"],
        worker: &["bin/rusty-sidekiq-jobs", "worker"],
        alone: Alone::Loses,
        ..Library::SIDEKIQ
    },
    Library {
        name: "apalis",
        folder: "apalis",
        producer: &["bin/apalis-jobs", "producer"],
        worker: &["bin/apalis-jobs", "worker"],
        ..Library::SIDEKIQ
    },
];

/// Libraries as they are run on a cluster.
pub static ON_CLUSTERS: [Library; 2] = [
    Library {
        name: "bullmq-cluster",
        folder: "bullmq",
        producer: &["node", "cluster-producer.js"],
        worker: &["node", "cluster-worker.js"],
        ..Library::SIDEKIQ
    },
    Library {
        name: "redis-py-cluster",
        worker: &["bin/python", "worker.py"],
        ..Library::python("redis-py")
    },
];

impl Library {
    const TASKIQ: Self = Self {
        worker: &["bin/taskiq", "worker", "tasks:broker"],
        ..Self::python("taskiq")
    };

    const SIDEKIQ: Self = Self {
        name: "sidekiq",
        folder: "sidekiq",
        producer: &["ruby", "../sidekiq/producer.rb"],
        worker: &["sidekiq", "--require", "./worker.rb", "--concurrency", "4"],
        processes: 1,
        variables: &[],
        rescue_limit: 10,
        alone: Alone::Stuck,
    };

    const fn python(name: &'static str) -> Self {
        Self {
            name,
            folder: name,
            producer: &["bin/python", "producer.py"],
            worker: &[],
            ..Self::SIDEKIQ
        }
    }

    const fn node(name: &'static str) -> Self {
        Self {
            name,
            folder: name,
            producer: &["node", "producer.js"],
            worker: &["node", "worker.js"],
            ..Self::SIDEKIQ
        }
    }

    /// Returns the library of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        let mut all = LIBRARIES.iter().chain(&ON_CLUSTERS);
        all.find(|library| library.name == name)
    }

    /// Whether it is installed, in the version that `tests/libraries` pins.
    #[must_use]
    pub fn is_installed(&self) -> bool {
        let files = [
            "requirements.txt",
            "package-lock.json",
            "Cargo.lock",
            "packages.txt",
        ];
        let pinned = files
            .iter()
            .find_map(|file| fs::read(self.source().join(file)).ok());
        let Some(pinned) = pinned else {
            // A package of this system's.
            let check = Command::new("ruby")
                .args(["-e", "require 'sidekiq-reliable-fetch'"])
                .stderr(Stdio::null())
                .status();
            return check.is_ok_and(|status| status.success());
        };
        fs::read(self.installation().join("installed")).is_ok_and(|there| there == pinned)
    }

    /// Whether it is installed; if not, and [`REQUIRED`] is set, panics.
    ///
    /// # Panics
    /// If it is required and not installed.
    #[must_use]
    pub fn is_installed_or_optional(&self) -> bool {
        let installed = self.is_installed();
        let required = env::var(REQUIRED).is_ok_and(|required| !required.is_empty());
        assert!(
            installed || !required,
            "{} is not installed: run 'tools/libraries'",
            self.name
        );
        if !installed {
            eprintln!("skipped: {} is not installed", self.name);
        }
        installed
    }

    /// Returns the command that starts a producer at this address.
    #[must_use]
    pub fn producer(&self, url: &str) -> Command {
        self.command(self.producer, url)
    }

    /// Returns the command that starts a worker at this address.
    #[must_use]
    pub fn worker(&self, url: &str) -> Command {
        self.command(self.worker, url)
    }

    /// Whether its workers can rescue their own commands: rusty-sidekiq makes its
    /// connections itself, of a type that nothing can be put around.
    #[must_use]
    pub fn rescues_itself(&self) -> bool {
        self.folder != "rusty-sidekiq"
    }

    /// What such workers load, or how they connect.
    #[must_use]
    pub fn rescued_by(&self) -> &'static str {
        match (self.worker[0], self.producer[0]) {
            ("node", _) => "clients/node/wurk-rescue.js",
            (_, "ruby" | "bin/ruby") => "clients/ruby/wurk_rescue.rb",
            (_, "bin/python") => "clients/python/wurk_rescue.py",
            _ => "wurk_client::Rescue",
        }
    }

    /// Returns the command that starts a worker which rescues its own commands, as
    /// where no module can be loaded.
    #[must_use]
    pub fn rescuing_worker(&self, url: &str) -> Command {
        let clients = workspace().join("clients");
        let load = |option: &str, file: &str| format!("{option}{}", clients.join(file).display());
        if self.worker[0] == "node" {
            let mut command = self.worker(url);
            command.env("NODE_OPTIONS", load("--require ", "node/wurk-rescue.js"));
            command
        } else if self.producer[0].ends_with("ruby") {
            let mut command = self.worker(url);
            command.env("RUBYOPT", load("-r", "ruby/wurk_rescue.rb"));
            command
        } else if self.producer[0] == "bin/python" {
            let program = self
                .installation()
                .join(self.worker[0])
                .display()
                .to_string();
            let program = [
                &["bin/python", "-m", "wurk_rescue", &program],
                &self.worker[1..],
            ];
            let mut command = self.command(&program.concat(), url);
            let job = workspace().join("tests/libraries/job");
            let path = env::join_paths([job, clients.join("python")]);
            command.env("PYTHONPATH", path.unwrap_or_default());
            command
        } else {
            let mut command = self.worker(url);
            command.env("RESCUE", "yes");
            command
        }
    }

    fn command(&self, words: &[&str], url: &str) -> Command {
        let mut words = words.iter().map(|word| word.replace("{url}", url));
        let program = words.next().unwrap_or_default();
        let mut command = if program.starts_with("bin/") {
            Command::new(self.installation().join(program))
        } else {
            Command::new(program)
        };
        command
            .args(words)
            .current_dir(self.source())
            .env("REDIS_URL", url)
            .env("PYTHONPATH", workspace().join("tests/libraries/job"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("NODE_PATH", self.installation().join("node_modules"))
            .envs(self.variables.iter().copied());
        command
    }

    fn source(&self) -> PathBuf {
        workspace().join("tests/libraries").join(self.folder)
    }

    /// Where it is installed, if it is.
    #[must_use]
    pub fn installation(&self) -> PathBuf {
        workspace().join("target/libraries").join(self.folder)
    }
}
