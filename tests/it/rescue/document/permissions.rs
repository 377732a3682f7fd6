//! The permissions of the page: enough to work, none too many, and no help to a producer.

use wurk_testkit::{Binary, Options, Resp, Server};

use super::lines;
use crate::rescue::side::{Client, WORKER, rescues_scripts};

const SCRIPT: &str = "
    local job = redis.call('LMOVE', KEYS[1], KEYS[2], 'RIGHT', 'LEFT')
    redis.call('ZADD', KEYS[3], 1, job)
    return redis.call('LREM', KEYS[2], 1, job)";

/// A full server with jobs, and a connection of its operator.
fn full(binary: &Binary) -> (Server, Resp) {
    let server = Options::new(binary).module().start();
    let mut con = server.connect();
    con.must("RPUSH queue:mail a b c d e");
    con.must(&format!("CONFIG SET wurk.rescue-users {WORKER}"));
    con.must("CONFIG SET wurk.rescue-limit 0");
    con.must("CONFIG SET maxmemory 1");
    (server, con)
}

/// Takes a job, schedules its retry, and acknowledges it, as a worker with the
/// permissions of `line` does: by commands, or by scripts. The errors it meets.
fn work(binary: &Binary, server: &Server, con: &mut Resp, line: &str) -> Vec<String> {
    let mut client = Client::worker(binary, server);
    let replies = if line.contains("eval") {
        let sha = con.call(&["SCRIPT", "LOAD", SCRIPT]);
        let sha = sha.bytes().expect("a hash");
        [(b"EVAL".as_slice(), SCRIPT.as_bytes()), (b"EVALSHA", sha)]
            .map(|(name, script)| {
                let keys = [b"3".as_slice(), b"queue:mail", b"working", b"retry"];
                client.call(&[&[name, script], &keys[..]].concat())
            })
            .to_vec()
    } else {
        let job = client.say("LMOVE queue:mail working RIGHT LEFT");
        let job = job.bytes().unwrap_or(b"none").to_vec();
        let retry = [b"ZADD", b"retry".as_slice(), b"1", &job];
        let acknowledge = [b"LREM", b"working".as_slice(), b"1", &job];
        let retried = client.call(&retry);
        vec![retried, client.con.call(&acknowledge)]
    };
    let failed = replies.iter().filter(|reply| reply.integer() != Some(1));
    failed.map(ToString::to_string).collect()
}

pub fn are_enough_and_none_too_many(binary: &Binary) {
    let workers = lines("ACL SETUSER worker ");
    assert_eq!(workers.len(), 2);
    for line in workers {
        if line.contains("eval") && !rescues_scripts(binary) {
            continue;
        }
        let (server, mut con) = full(binary);
        con.must(line);
        let failed = work(binary, &server, &mut con, line);
        assert!(failed.is_empty(), "{line}: {failed:?}");
        let permissions = line.split(' ').filter(|word| word.starts_with('+'));
        for permission in permissions {
            con.must("ACL DELUSER worker");
            let others = line.split(' ').filter(|word| *word != permission);
            con.must(&others.collect::<Vec<_>>().join(" "));
            let failed = work(binary, &server, &mut con, line);
            assert!(!failed.is_empty(), "{line}: {permission} is too many");
            if permission == "+wurk.rescue" {
                let refused = |error: &String| error.starts_with("OOM ");
                let denied = |error: &String| error.starts_with("NOPERM ");
                // Refused as ever; on 7.0 it was sent as such.
                assert!(failed.iter().any(|e| refused(e) || denied(e)), "{failed:?}");
            }
        }
    }
}

/// Neither as it is nor with `+wurk.rescue`.
pub fn are_no_help_to_a_producer(binary: &Binary) {
    let [producer] = lines("ACL SETUSER producer ")[..] else {
        panic!("one line for a producer")
    };
    let (server, mut con) = full(binary);
    con.must("CONFIG SET maxmemory 0");
    con.must(producer);
    let mut client = server.connect();
    client.must("AUTH producer other");
    client.must("LPUSH queue:mail f");
    con.must("CONFIG SET maxmemory 1");
    let reply = client.say("LPUSH queue:mail g").to_string();
    assert!(reply.starts_with("OOM "), "{reply}");
    let reply = client.say("WURK.RESCUE LPUSH queue:mail g").to_string();
    assert!(reply.starts_with("NOPERM "), "{reply}");
    con.must("ACL SETUSER producer +wurk.rescue");
    for line in ["LPUSH queue:mail g", "WURK.RESCUE LPUSH queue:mail g"] {
        let reply = client.say(line).to_string();
        assert!(reply.starts_with("OOM "), "{line}: {reply}");
    }
}

/// Which users have `+wurk.rescue` without being given it.
pub fn of_groups_have_it(binary: &Binary) {
    let (_server, mut con) = full(binary);
    for (group, since) in [("+@all", (7, 0, 0)), ("+@write", (7, 2, 0))] {
        con.must(&format!("ACL SETUSER grouped reset {group}"));
        let reply = con.must("ACL DRYRUN grouped WURK.RESCUE SET").to_string();
        assert_eq!(reply == "OK", binary.version >= since, "{group}: {reply}");
    }
}
