//! The example workers in Python and Ruby drain a full server.

use std::collections::HashSet;
use std::thread;

use wurk_testkit::{Binary, Options, Resp, Server};

use crate::support::inspect::members;
use crate::support::interpreters::{lines, python, ruby, run};

/// A full server with jobs in two queues.
pub fn full_server(options: &Options) -> (Server, Resp, HashSet<String>) {
    let server = options.clone().port().start();
    let mut con = server.connect();
    let mut pushed = HashSet::new();
    for number in 0..50 {
        let queue = ["mail", "bulk"][number % 2];
        let job = format!(r#"{{"jid":"{number}","queue":"{queue}"}}"#);
        con.call(&["LPUSH", &format!("queue:{queue}"), &job]);
        pushed.insert(job);
    }
    con.must("CONFIG SET maxmemory 1");
    (server, con, pushed)
}

/// The server with the module, if it can load it, and without.
pub fn all_options(binary: &Binary) -> Vec<Options> {
    let plain = Options::new(binary);
    if binary.loads_modules() {
        vec![plain.clone().module(), plain]
    } else {
        vec![plain]
    }
}

/// The example in a language, and the address of a server at this port.
pub fn worker(language: &str, port: u16) -> (String, String) {
    let ending = if language == "python" { "py" } else { "rb" };
    let url = format!("redis://127.0.0.1:{port}/");
    (format!("examples/worker.{ending}"), url)
}

/// The example drains a full server. If scripts are forbidden it ends with the server's
/// own error, and nothing has moved.
fn drains(binary: &Binary, interpreter: &str, example: &str) {
    for options in all_options(binary) {
        let (server, mut con, pushed) = full_server(&options);
        let url = format!("redis://127.0.0.1:{}/", server.port);
        let output = run(interpreter, &[example, &url, "mail", "bulk"]);
        let done = lines(&output);
        assert_eq!(done.len(), pushed.len(), "each once");
        assert_eq!(done.into_iter().collect::<HashSet<_>>(), pushed);
        let keys = con.say("KEYS queue:*");
        assert!(keys.items().is_empty(), "{keys}");
        assert_eq!(con.say("SCARD processes").integer(), Some(1));
    }
    let (server, mut con, pushed) = full_server(&Options::new(binary));
    con.must("ACL SETUSER default -@scripting");
    let output = run(
        interpreter,
        &[
            example,
            &format!("redis://127.0.0.1:{}/", server.port),
            "mail",
            "bulk",
        ],
    );
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.contains("command not allowed when used memory"),
        "{error}"
    );
    let remaining = ["queue:mail", "queue:bulk"]
        .map(|queue| con.say(&format!("LLEN {queue}")).integer().unwrap_or(0));
    assert_eq!(remaining.iter().sum::<i64>(), pushed.len() as i64);
}

pub fn python_drains(binary: &Binary) {
    if let Some(python) = python() {
        drains(binary, python, "examples/worker.py");
    }
}

pub fn python_promotes_each_job_once(binary: &Binary) {
    if let Some(python) = python() {
        promotes_each_job_once(binary, python, "examples/worker.py");
    }
}

pub fn ruby_promotes_each_job_once(binary: &Binary) {
    if let Some(ruby) = ruby() {
        promotes_each_job_once(binary, ruby, "examples/worker.rb");
    }
}

/// Of several workers at once one promotes each job, and one does it.
fn promotes_each_job_once(binary: &Binary, interpreter: &str, example: &str) {
    for options in all_options(binary) {
        let (server, mut con, mut jobs) = full_server(&options);
        con.must("CONFIG SET maxmemory 0");
        for number in 0..300 {
            let queue = ["mail", "queue:bulk"][number % 2];
            let job = format!(r#"{{"jid":"due {number}","queue":"{queue}"}}"#);
            con.call(&["ZADD", "retry", "1", &job]);
            jobs.insert(job);
        }
        let no_queue = ["not json", r#"{"queue":1}"#, "[1]"];
        for job in no_queue {
            con.call(&["ZADD", "retry", "1", job]);
        }
        con.call(&["ZADD", "retry", "9999999999", "not due"]);
        // It is the first that is due, and stays: the key of its queue is no list.
        let stuck = r#" {"queue":"stuck"}"#;
        con.must("HSET queue:stuck field value");
        con.call(&["ZADD", "retry", "1", stuck]);
        con.must("CONFIG SET maxmemory 1");
        let url = format!("redis://127.0.0.1:{}/", server.port);
        let done: Vec<_> = thread::scope(|scope| {
            let work = || lines(&run(interpreter, &[example, &url, "mail", "bulk"]));
            let workers = [(); 3].map(|()| scope.spawn(work));
            let done = workers.map(|worker| worker.join().expect("a worker"));
            done.concat()
        });
        assert_eq!(done.len(), jobs.len(), "each once");
        assert_eq!(done.into_iter().collect::<HashSet<_>>(), jobs);
        let left = [stuck.as_bytes(), b"not due"];
        assert_eq!(members(&mut con, "ZRANGE retry 0 -1"), left);
        let default = members(&mut con, "LRANGE queue:default 0 -1");
        assert_eq!(default.len(), no_queue.len());
    }
}

pub fn ruby_drains(binary: &Binary) {
    if let Some(ruby) = ruby() {
        drains(binary, ruby, "examples/worker.rb");
        // A job that fails is in `retry` before it is acknowledged.
        let (server, mut con, _) = full_server(&all_options(binary)[0]);
        con.must("CONFIG SET maxmemory 0");
        con.call(&["LPUSH", "queue:mail", r#"{"jid":"x","fails":"fails"}"#]);
        con.must("CONFIG SET maxmemory 1");
        let url = format!("redis://127.0.0.1:{}/", server.port);
        assert_eq!(
            lines(&run(ruby, &["examples/worker.rb", &url, "mail", "bulk"])).len(),
            50
        );
        assert_eq!(con.say("ZRANGE retry 0 -1").items().len(), 1);
    }
}
