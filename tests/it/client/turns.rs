//! Acknowledgements and claims in one write: one round trip a job, nothing sent twice.

use redis::{Client, Connection};
use wurk_client::{Claimed, Queue, Turn, Wurk};
use wurk_testkit::{Binary, Options, Resp, Server};

use super::connections::{backends, block_on, full_server, with_timeout};
use crate::support::caller::{HEARTBEAT, own_error, queues};
use crate::support::full_server::as_user;
use crate::support::inspect::calls;
use crate::support::lossy_proxy::LossyProxy;

fn connect(server: &Server) -> Connection {
    let client = Client::open(server.url()).expect("an address");
    client.get_connection().expect("a connection")
}

fn names<'t>(claimed: &'t [Claimed<'_>]) -> Vec<&'t [u8]> {
    claimed
        .iter()
        .map(|claimed| claimed.job.as_slice())
        .collect()
}

/// How often the server has read from a client.
fn reads(con: &mut Resp) -> i64 {
    con.info("stats", "total_reads_processed")
}

/// What `q:p` holds.
fn private(con: &mut Resp) -> String {
    con.say("LRANGE q:p 0 -1").to_string()
}

/// A turn over connections of both kinds.
fn run<'q>(
    asynchronous: bool,
    server: &Server,
    wurk: &Wurk,
    done: &[Claimed<'_>],
    queues: &'q [Queue],
    count: usize,
) -> redis::RedisResult<Turn<'q>> {
    let client = Client::open(server.url()).expect("an address");
    if !asynchronous {
        let mut con = client.get_connection()?;
        return wurk.acknowledge_and_claim(&mut con, done, &HEARTBEAT, queues, count);
    }
    block_on(async {
        let mut con = client
            .get_multiplexed_async_connection_with_config(&with_timeout())
            .await?;
        wurk.acknowledge_and_claim_async(&mut con, done, &HEARTBEAT, queues, count)
            .await
    })
}

pub fn acknowledge_and_claim(binary: &Binary) {
    for backend in backends(binary) {
        for asynchronous in [false, true] {
            let (server, mut con) = full_server(backend.options(binary));
            let (wurk, queues) = (Wurk::new(), queues());
            let turn = |done: &[Claimed<'_>], count| {
                run(asynchronous, &server, &wurk, done, &queues, count).expect("a turn")
            };
            let first = turn(&[], 3);
            assert_eq!(names(&first.claimed), [b"e", b"d", b"c"], "{backend:?}");
            // Also where the acknowledgements go with claims that are sent again.
            let fresh = Wurk::new();
            let done = &first.claimed[..2];
            let second = run(asynchronous, &server, &fresh, done, &queues, 1);
            let second = second.expect("a turn");
            assert_eq!(second.acknowledged, [Ok(true), Ok(true)]);
            assert_eq!(names(&second.claimed), [b"b"]);
            assert_eq!(calls(&mut con, "lrem"), 2, "each is sent once");
            assert_eq!(private(&mut con), r#"["b", "c"]"#);
            let third = turn(&first.claimed, 4);
            assert_eq!(third.acknowledged, [Ok(false), Ok(false), Ok(true)]);
            assert_eq!(names(&third.claimed), [b"a"], "there are no more");
            assert_eq!(private(&mut con), r#"["a", "b"]"#);
            let last = turn(&[third.claimed, second.claimed].concat(), 0);
            assert_eq!(last.acknowledged, [Ok(true), Ok(true)]);
            assert!(last.claimed.is_empty());
            assert_eq!(con.say("EXISTS q q:p").integer(), Some(0));
        }
    }
}

pub fn are_one_write(binary: &Binary) {
    for backend in backends(binary) {
        let (server, mut con) = full_server(backend.options(binary));
        let (wurk, queues) = (Wurk::new(), queues());
        let mut worker = connect(&server);
        let claimed = wurk.claim_many(&mut worker, &HEARTBEAT, &queues, 2);
        let claimed = claimed.expect("jobs");
        assert_eq!(claimed.len(), 2);
        let before = reads(&mut con);
        let turn = wurk
            .acknowledge_and_claim(&mut worker, &claimed, &HEARTBEAT, &queues, 2)
            .expect("a turn");
        assert_eq!(turn.claimed.len(), 2);
        // The other is that of this question.
        assert_eq!(reads(&mut con) - before, 2, "{backend:?}");
    }
}

/// A job that was claimed is returned, and the error behind it met by the next turn.
pub fn no_error_hides_a_job(binary: &Binary) {
    for backend in backends(binary) {
        let (server, mut con) = full_server(backend.options(binary));
        con.must("CONFIG SET maxmemory 0");
        con.must("SET stray text");
        let queues = [Queue::new("q", "q:p"), Queue::new("stray", "stray")];
        let (wurk, mut worker) = (Wurk::new(), connect(&server));
        let mut claim = || wurk.claim_many(&mut worker, &HEARTBEAT, &queues, 6);
        assert_eq!(claim().expect("jobs").len(), 5, "{backend:?}");
        let error = claim().expect_err("the stray key");
        assert_eq!(error.code(), Some("WRONGTYPE"), "{backend:?}");
        // Nor is an acknowledgement that fails hidden.
        con.must("LPUSH q f");
        let done = [Claimed::new(&queues[1], "a")];
        let turn = wurk
            .acknowledge_and_claim(&mut worker, &done, &HEARTBEAT, &queues, 1)
            .expect("a job");
        let refused = turn.acknowledged[0].as_ref().expect_err("no list");
        assert_eq!(refused.code(), Some("WRONGTYPE"), "{backend:?}");
        assert_eq!(names(&turn.claimed), [b"f"], "{backend:?}");
    }
}

/// Without a strategy the caller gets its own error; what was done is acknowledged.
pub fn end_with_the_callers_own_error(binary: &Binary) {
    let (server, mut con) = full_server(Options::new(binary));
    con.must("ACL SETUSER limited reset on >secret ~* +@all -@scripting");
    con.must("CONFIG SET maxmemory 0");
    con.must("RPUSH q:p done");
    con.must("CONFIG SET maxmemory 1");
    let (wurk, queues) = (Wurk::new().or_else_oom(own_error()), queues());
    let done = [Claimed::new(&queues[0], "done")];
    let mut worker = as_user(&server, "limited");
    let result = wurk.acknowledge_and_claim(&mut worker, &done, &HEARTBEAT, &queues, 2);
    assert_eq!(result.expect_err("no scripts"), own_error());
    assert_eq!(con.say("EXISTS q:p").integer(), Some(0));
    assert_eq!(con.say("LLEN q").integer(), Some(5));
}

/// Whichever reply is lost, nothing is sent again, and every job is in a list.
pub fn whose_reply_is_lost_are_not_sent_again(binary: &Binary) {
    for backend in backends(binary) {
        for lost in ["LREM", "claim"] {
            let (server, mut con) = full_server(backend.options(binary));
            let (wurk, queues) = (Wurk::new(), queues());
            let claimed = wurk
                .claim_many(&mut connect(&server), &HEARTBEAT, &queues, 1)
                .expect("a job");
            assert_eq!(names(&claimed), [b"e"]);
            let claim = match calls(&mut con, "eval") {
                0 => "WURK.CLAIM",
                _ => "EVAL",
            };
            let lost = if lost == "claim" { claim } else { lost };
            let proxy = LossyProxy::new(server.port, lost);
            let client = Client::open(format!("redis://127.0.0.1:{}/", proxy.port));
            let mut worker = client.expect("an address").get_connection().expect("one");
            let error = wurk
                .or_else_oom(own_error())
                .acknowledge_and_claim(&mut worker, &claimed, &HEARTBEAT, &queues, 1)
                .expect_err("no reply");
            assert!(error.is_io_error(), "{backend:?}, {lost}: {error}");
            assert_eq!(proxy.seen("LREM"), 1, "{backend:?}");
            assert!(proxy.seen(claim) <= 1, "{backend:?}");
            // What the next connection finds in its private list.
            let expected = if lost == "LREM" { "[]" } else { r#"["d"]"# };
            assert_eq!(private(&mut con), expected, "{backend:?}");
        }
    }
}
