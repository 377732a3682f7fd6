//! Permissions: the users that README shows can do the work of a worker and no more.

use std::time::Duration;

use wurk_client::{Promotion, Queue, Wurk};
use wurk_testkit::{Binary, Options, Resp};

use crate::support::caller::{heartbeat, own_error};
use crate::support::full_server::as_user;
use crate::support::inspect::digest;

/// The lines that `docs/commands.md` gives for a user of workers: for the module,
/// and for the scripts where that may be missing.
pub fn readme(number: usize) -> &'static str {
    line_of("worker", number)
}

fn line_of(user: &str, number: usize) -> &'static str {
    let begin = format!("ACL SETUSER {user} ");
    let lines = include_str!("../../../docs/commands.md").lines();
    let mut lines = lines.filter(|line| line.starts_with(&begin));
    lines.nth(number).expect("a line of docs/commands.md")
}

fn start(binary: &Binary) -> (wurk_testkit::Server, Resp, Resp) {
    let server = Options::new(binary).module().start();
    let (mut con, mut worker) = (server.connect(), server.connect());
    con.must(readme(0));
    worker.must("AUTH worker secret");
    con.must("RPUSH queue:a job");
    (server, con, worker)
}

/// The commands and the keys of a worker, and nothing else.
pub fn allows_a_worker_its_work_and_no_more(binary: &Binary) {
    let (_server, mut con, mut worker) = start(binary);
    let claim = "processes host:1:f00 queue:a queue:a|host|1|f00|0 i 1 60";
    assert_eq!(
        worker.must(&format!("WURK.CLAIM {claim}")).to_string(),
        r#"[(integer) 1, "job"]"#
    );
    worker.must("WURK.REQUEUE queue:a|host|1|f00|0 queue:a job");
    worker.must(&format!("WURK.BCLAIM {claim} 1"));
    worker.must("LREM queue:a|host|1|f00|0 1 job");
    worker.must("WURK.ZADD retry 1 job");
    worker.must("WURK.LOCK reaper 1000");
    worker.must("WURK.BEAT processes host:1:f00 i 1 60");
    let before = digest(&mut con);
    // Each key position with a key that no pattern matches.
    let out_of_reach: &[&str] = &[
        "WURK.CLAIM other host:1:f00 queue:a queue:p i 1 60",
        "WURK.CLAIM processes other queue:a queue:p i 1 60",
        "WURK.CLAIM processes host:1:f00 other queue:p i 1 60",
        "WURK.CLAIM processes host:1:f00 queue:a other i 1 60",
        "WURK.CLAIM processes host:1:f00 queue:a queue:p queue:b other i 1 60",
        "WURK.CLAIM processes host:1:f00 queue:a queue:p other queue:q i 1 60",
        "WURK.BCLAIM other host:1:f00 queue:a queue:p i 1 60 1",
        "WURK.BCLAIM processes other queue:a queue:p i 1 60 1",
        "WURK.BCLAIM processes host:1:f00 other queue:p i 1 60 1",
        "WURK.BCLAIM processes host:1:f00 queue:a other i 1 60 1",
        "WURK.BCLAIM processes host:1:f00 queue:a queue:p queue:b other i 1 60 1",
        "WURK.REQUEUE other queue:a job",
        "WURK.REQUEUE queue:a other job",
        "WURK.LOCK other 1000",
        "WURK.ZADD other 1 job",
        "WURK.BEAT other host:1:f00 i 1 60",
        "WURK.BEAT processes other i 1 60",
        "WURK.PROMOTE retry queue:a job",
        // Keys that may be written but not read: no job is taken from them.
        "WURK.CLAIM processes host:1:f00 retry queue:p i 1 60",
        "WURK.REQUEUE retry queue:a job",
    ];
    for line in out_of_reach.iter().chain(&[
        "GET reaper",
        "HGETALL host:1:f00",
        "ZRANGE retry 0 -1",
        "EVAL return(1) 0",
    ]) {
        let reply = worker.say(line);
        assert!(
            reply
                .error()
                .is_some_and(|error| error.starts_with("NOPERM ")),
            "{line}: {reply}"
        );
    }
    assert_eq!(digest(&mut con), before, "nothing has changed");
}

/// What promotes, and nothing else.
pub fn allows_a_poller_to_promote(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let (mut con, mut poller) = (server.connect(), server.connect());
    con.must(line_of("poller", 0));
    con.must("ZADD retry 1 job");
    poller.must("AUTH poller secret");
    let due = poller.must("ZRANGEBYSCORE retry -inf 2").to_string();
    assert_eq!(due, r#"["job"]"#);
    for promoted in [1, 0] {
        let reply = poller.must("WURK.PROMOTE retry queue:a job");
        assert_eq!(reply.integer(), Some(promoted));
    }
    let before = digest(&mut con);
    for line in [
        "WURK.PROMOTE other queue:a job",
        "WURK.PROMOTE retry other job",
        // A queue may be written but not read.
        "WURK.PROMOTE queue:b queue:a job",
        "LRANGE queue:a 0 -1",
        "WURK.ZADD retry 1 job",
    ] {
        let reply = poller.say(line).to_string();
        assert!(reply.starts_with("NOPERM "), "{line}: {reply}");
    }
    assert_eq!(digest(&mut con), before, "nothing has changed");
}

/// The scripts; before 7.0, the write-first scripts.
pub fn allows_a_worker_the_scripts(binary: &Binary) {
    let server = Options::new(binary).start();
    let mut con = server.connect();
    con.must(readme(1));
    con.must("RPUSH queue:a job");
    con.must("CONFIG SET maxmemory 1");
    let mut worker = as_user(&server, "worker");
    let wurk = Wurk::new();
    let heartbeat = heartbeat(b"processes", b"host:1:f00");
    let queues = [Queue::new("queue:a", "queue:a|host|1|f00|0")];
    let claimed = wurk
        .or_else_oom(own_error())
        .claim(&mut worker, &heartbeat, &queues)
        .expect("a claim")
        .expect("a job");
    assert!(
        wurk.or_else_oom(own_error())
            .requeue(&mut worker, &claimed)
            .expect("a requeue")
    );
    assert!(
        wurk.or_else_oom(own_error())
            .try_lock(&mut worker, b"reaper", Duration::from_secs(1))
            .expect("a lock")
    );
    assert!(
        wurk.or_else_oom(own_error())
            .zadd(&mut worker, b"retry", 1.0, b"job")
            .expect("a retry")
    );
    assert!(
        wurk.or_else_oom(own_error())
            .promote(&mut worker, &Promotion::new(b"retry", b"queue:a", b"job"))
            .expect("a promotion")
    );
    wurk.or_else_oom(own_error())
        .beat(&mut worker, &heartbeat)
        .expect("a heartbeat");
    let refused = wurk
        .or_else_oom(own_error())
        .zadd(&mut worker, b"other", 1.0, b"job")
        .expect_err("a key that no pattern matches");
    assert_eq!(refused.code(), Some("NOPERM"), "{refused}");
}

/// In scripts and functions the permissions of the caller apply.
pub fn scripts_grant_no_permissions(binary: &Binary) {
    let (_server, mut con, mut worker) = start(binary);
    con.must("ACL SETUSER worker +eval +fcall");
    let library = "#!lua name=try\nredis.register_function('try', function(keys, args) return redis.call(unpack(args)) end)";
    con.call(&["FUNCTION", "LOAD", library]);
    let before = digest(&mut con);
    for call in [["WURK.LOCK", "other", "1000"], ["SET", "reaper", "1"]] {
        let words = call.map(|word| format!("'{word}'")).join(",");
        let reply = worker.call(&["EVAL", &format!("return redis.call({words})"), "0"]);
        assert!(reply.error().is_some(), "{call:?}: {reply}");
        let reply = worker.call(&[&["FCALL", "try", "0"], &call[..]].concat());
        assert!(reply.error().is_some(), "{call:?}: {reply}");
    }
    assert_eq!(digest(&mut con), before, "nothing has changed");
    // What the caller may do is allowed there too.
    let reply = worker.call(&[
        "EVAL",
        "return redis.call('WURK.LOCK', 'reaper', '1000')",
        "0",
    ]);
    assert_eq!(reply.to_string(), "OK");
    let reply = worker.call(&[
        "FCALL",
        "try",
        "0",
        "WURK.CLAIM",
        "processes",
        "host:1:f00",
        "queue:a",
        "queue:p",
        "i",
        "1",
        "60",
    ]);
    assert_eq!(reply.to_string(), r#"[(integer) 1, "job"]"#);
}
