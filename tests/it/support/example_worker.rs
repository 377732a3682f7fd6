//! The example worker as a process, and where its jobs are.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use wurk_testkit::child::end_with_this_program;
use wurk_testkit::{Binary, Options, Resp, Server};

pub const JOBS: usize = 2_000;

/// A running worker, which is killed when it is dropped.
pub struct Worker(pub Child);

impl Worker {
    pub fn start(server: &Server, done: &Path, more: &[&str]) -> Self {
        Self::start_on(server, done, &["mail=3", "bu|lk=1"], more)
    }

    /// Starts one on these queues.
    pub fn start_on(server: &Server, done: &Path, queues: &[&str], more: &[&str]) -> Self {
        let mut command = Command::new(program());
        command.args(["--url", &server.url(), "--ttl", "4", "--done"]);
        command.arg(done);
        for queue in queues {
            command.args(["--queue", queue]);
        }
        command.args(more).stderr(Stdio::null());
        end_with_this_program(&mut command);
        let child = command.spawn();
        Self(child.expect("a worker"))
    }

    pub fn terminate(&mut self) {
        let kill = format!("kill -TERM {}", self.0.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .expect("kill")
                .success()
        );
        assert!(self.0.wait().expect("an end").success(), "it exits with 0");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The example worker, which cargo builds beside the tests.
fn program() -> PathBuf {
    let here = std::env::current_exe().expect("the path of this program");
    let program = here
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("examples/worker"));
    program
        .filter(|program| program.exists())
        .expect("no example: run 'cargo build -p wurk-client --examples'")
}

/// A full server with jobs in two queues.
pub fn full_server(binary: &Binary) -> (Server, Resp, HashSet<String>) {
    let server = Options::new(binary).module_if_supported().start();
    let mut con = server.connect();
    let mut pushed = HashSet::new();
    for number in 0..JOBS {
        let queue = ["mail", "bu|lk"][number % 2];
        con.call(&[
            "LPUSH",
            &format!("queue:{queue}"),
            &format!(r#"{{"jid":"{number}","queue":"{queue}"}}"#),
        ]);
        pushed.insert(number.to_string());
    }
    con.must("CONFIG SET maxmemory 1");
    (server, con, pushed)
}

/// The jids that the worker has written to its file.
pub fn done(file: &Path) -> Vec<String> {
    fs::read_to_string(file)
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// The jids of the jobs in all keys of the server.
pub fn jobs_by_jid(con: &mut Resp) -> Vec<String> {
    let mut jobs = Vec::new();
    for key in con.say("KEYS *").items() {
        let key = key.bytes().expect("a key").to_vec();
        let kind = con.call(&[b"TYPE".as_slice(), &key]).to_string();
        let members = match kind.as_str() {
            "list" => con.call(&[b"LRANGE".as_slice(), &key, b"0", b"-1"]),
            "zset" => con.call(&[b"ZRANGE".as_slice(), &key, b"0", b"-1"]),
            _ => continue,
        };
        for job in members.items() {
            let job: serde_json::Value =
                serde_json::from_slice(job.bytes().expect("a job")).expect("JSON");
            jobs.push(job["jid"].as_str().expect("a jid").to_owned());
        }
    }
    jobs
}

/// The jobs in private lists, each with its list.
pub fn held(con: &mut Resp) -> Vec<String> {
    let lists = con.say("KEYS queue:*|*|*|*|*");
    let mut held = Vec::new();
    for list in lists.items() {
        let jobs = con.call(&[
            b"LRANGE".as_slice(),
            list.bytes().expect("a key"),
            b"0",
            b"-1",
        ]);
        held.extend(jobs.items().iter().map(|job| format!("{list} {job}")));
    }
    held.sort();
    held
}

/// The number of jobs in private lists.
pub fn in_flight(con: &mut Resp) -> usize {
    held(con).len()
}
