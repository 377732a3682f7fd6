//! `wurk.rescue-limit`: what grows stops there, what only moves goes on.

use wurk_testkit::{Binary, Resp};

use super::side::{self, Client, WORKER};
use crate::support::inspect::digest;

const MAXMEMORY: i64 = 6 << 20;
const REFUSED: &str =
    "OOM command not allowed when used memory > 'maxmemory' + 'wurk.rescue-limit' percent.";

/// A server of 6 MiB that is full, with a limit of 10 percent.
fn full(binary: &Binary) -> (wurk_testkit::Server, Resp) {
    let server = wurk_testkit::Options::new(binary)
        .module_with(&["rescue-users", WORKER])
        .start();
    let mut con = server.connect();
    assert_eq!(
        con.say("CONFIG GET wurk.rescue-limit").to_string(),
        r#"["wurk.rescue-limit", "10"]"#
    );
    side::add_user(&mut con, WORKER, "~* +@all");
    con.must("RPUSH q a b c d");
    con.must("SADD ps x");
    con.must(&format!("CONFIG SET maxmemory {MAXMEMORY}"));
    let filler = "f".repeat(4_000);
    let mut number = 0;
    while con
        .call(&["SET", &format!("filler:{number}"), &filler])
        .error()
        .is_none()
    {
        number += 1;
    }
    (server, con)
}

fn grow(client: &mut Client) -> usize {
    let value = "v".repeat(2_000);
    for number in 0..10_000 {
        let reply = client.call(&["RPUSH", "made", &format!("{number}-{value}")]);
        if let Some(error) = reply.error() {
            assert_eq!(error, REFUSED);
            return number;
        }
    }
    panic!("nothing stops it");
}

pub fn holds_what_grows(binary: &Binary) {
    let (server, mut con) = full(binary);
    let mut client = Client::worker(binary, &server);
    assert!(grow(&mut client) > 10, "it has room at first");
    let used = con.info("memory", "used_memory");
    assert!(
        used > MAXMEMORY * 108 / 100 && used < MAXMEMORY * 112 / 100,
        "{used} of {MAXMEMORY}"
    );
    let before = digest(&mut con);
    for line in [
        "SET x y",
        "EVAL return(redis.call('SET','x','y')) 0",
        "XADD s * a b",
        "SADD ps y",
    ] {
        assert_eq!(client.say(line).error(), Some(REFUSED), "{line}");
    }
    // A script that does not grow runs, as it does for everybody on a full server.
    for line in [
        "EVAL return(redis.call('LLEN','q')) 0",
        "EVAL return(redis.call('LREM','q',1,'none')) 0",
    ] {
        assert!(client.say(line).integer().is_some(), "{line}");
    }
    assert_eq!(digest(&mut con), before, "nothing is written");
    assert!(con.info("wurk", "wurk_rescues_refused") >= 5);
    // What only moves goes on, until nothing is left.
    for (line, job) in [
        ("LMOVE q p RIGHT LEFT", "d"),
        ("RPOPLPUSH q p", "c"),
        ("BLMOVE q p RIGHT LEFT 1", "b"),
        ("BRPOPLPUSH q p 1", "a"),
    ] {
        assert_eq!(client.say(line).to_string(), format!("\"{job}\""), "{line}");
    }
    // None, and another one, at run time.
    con.must("CONFIG SET wurk.rescue-limit 0");
    assert_eq!(client.say("SET x y").to_string(), "OK");
    con.must("CONFIG SET wurk.rescue-limit 1");
    assert_eq!(client.say("SET x y").error(), Some(REFUSED));
    for bad in ["-1", "ten", "100001"] {
        assert!(
            con.call(&["CONFIG", "SET", "wurk.rescue-limit", bad])
                .error()
                .is_some()
        );
    }
    con.must("CONFIG SET maxmemory 0");
    assert_eq!(client.say("SET x y").to_string(), "OK");
}

/// A worker whose jobs make two jobs each: the server stays below the limit, and no
/// job is lost on the way.
pub fn jobs_that_make_jobs_stay_below(binary: &Binary) {
    let (server, mut con) = full(binary);
    let mut client = Client::worker(binary, &server);
    let payload = "p".repeat(3_000);
    let (mut made, mut done) = (4, 0);
    let mut refused = 0;
    for number in 0..3_000 {
        let job = client.say("LMOVE q p RIGHT LEFT");
        let Some(job) = job.bytes() else { break };
        let both = (0..2).all(|which| {
            let next = format!("{number}-{which}-{payload}");
            let reply = client.call(&["LPUSH", "q", &next]);
            if reply.error().is_none() {
                made += 1;
            }
            reply.error().is_none()
        });
        if both {
            client.con.call(&[b"LREM".as_slice(), b"p", b"1", job]);
            done += 1;
        } else {
            refused += 1; // It stays in flight, as a worker that fails leaves it.
            if refused > 50 {
                break;
            }
        }
        let used = con.info("memory", "used_memory");
        assert!(used < MAXMEMORY * 112 / 100, "{used} of {MAXMEMORY}");
    }
    assert!(refused > 0, "it never came to the limit");
    let left = ["q", "p"].map(|key| con.say(&format!("LLEN {key}")).integer().unwrap_or(0));
    assert_eq!(left.iter().sum::<i64>() + done, made, "no job is lost");
}
