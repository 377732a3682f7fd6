//! A worker in redis-py that knows nothing of wurk drains a full server when its
//! user is named; all that is changed for it is the URL.

use std::collections::HashSet;

use wurk_testkit::libraries::memory;
use wurk_testkit::{Binary, Options};

use super::side::{self, WORKER, has_filter};
use crate::support::interpreters::{interpreters, run};

const JOBS: usize = 300;

/// More bytes than the drained queue frees.
const FREED: i64 = 160_000;

/// Moves a job to its own list, works, and acknowledges; one of ten fails and is
/// retried later.
const PROGRAM: &str = r#"
import sys, redis
worker = redis.Redis.from_url(sys.argv[1])
while True:
    job = worker.lmove("queue:mail", "working", "RIGHT", "LEFT")
    if job is None:
        break
    if int(job.split(b"-")[1]) % 10 == 0:
        worker.zadd("retry", {job: 1.5})
    else:
        print(job.decode())
    worker.lrem("working", 1, job)
"#;

pub fn a_plain_worker_in_python(binary: &Binary) {
    let Some((_, python)) = interpreters().find(|(language, _)| *language == "python") else {
        return;
    };
    if !has_filter(binary) {
        return;
    }
    // Named in the configuration, from the start on.
    let server = Options::new(binary)
        .port()
        .module_with(&["rescue-users", WORKER])
        .set("maxmemory", &["8mb"])
        .set("maxmemory-policy", &["noeviction"])
        .start();
    let mut con = server.connect();
    for user in [WORKER, "producer"] {
        side::add_user(&mut con, user, "~* &* +@all");
    }
    let mut producer = server.connect();
    producer.must("AUTH producer secret");
    for number in 0..JOBS {
        producer.must(&format!("LPUSH queue:mail job-{number}"));
    }
    memory::fill(&mut con);
    memory::hold_full(&mut con, FREED);
    let url = |user: &str| format!("redis://{user}:secret@127.0.0.1:{}/", server.port);
    // As another user it is stuck: that is what is changed.
    let stuck = run(python, &["-c", PROGRAM, &url("producer")]);
    let error = String::from_utf8_lossy(&stuck.stderr).into_owned();
    assert!(
        error.contains("command not allowed when used memory"),
        "{error}"
    );
    assert!(stuck.stdout.is_empty());
    let output = run(python, &["-c", PROGRAM, &url(WORKER)]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let done: Vec<_> = text.lines().map(str::to_owned).collect();
    let retried = con.must("ZRANGE retry 0 -1");
    let retried = retried.items().iter().filter_map(|job| job.bytes());
    let retried: Vec<_> = retried
        .map(|job| String::from_utf8_lossy(job).into_owned())
        .collect();
    assert_eq!(retried.len(), JOBS / 10);
    assert_eq!(done.len() + retried.len(), JOBS, "none is done twice");
    let all: HashSet<_> = done.into_iter().chain(retried).collect();
    let expected: HashSet<_> = (0..JOBS).map(|number| format!("job-{number}")).collect();
    assert_eq!(all, expected, "none is lost");
    assert_eq!(con.say("EXISTS queue:mail working").integer(), Some(0));
    let refused = producer.say("LPUSH queue:mail more").to_string();
    assert!(
        refused.starts_with("OOM "),
        "producers stay refused: {refused}"
    );
}
