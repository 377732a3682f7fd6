//! What is rescued, what is not, and what a caller gets then: its own error.

use redis::{Connection, ConnectionLike, RedisResult, Script};
use wurk_client::{Rescue, Rescuer, is_oom};
use wurk_testkit::{Binary, Options, Resp, Server};

use super::{connect, rescuing};
use crate::support::full_server::as_user;
use crate::support::inspect::{calls, digest};
use crate::support::lossy_proxy::LossyProxy;

fn full(options: &Options) -> (Server, Resp) {
    let server = options.clone().port().start();
    let mut con = server.connect();
    con.must("RPUSH q a b");
    con.must("CONFIG SET maxmemory 1");
    (server, con)
}

/// A pipeline that met a full server keeps its order: what has run before its time does
/// not run again, and what it needed does not run after it.
pub fn keep_the_order_of_a_pipeline(binary: &Binary) {
    let (server, mut con) = full(&Options::new(binary));
    let mut worker = rescuing(&server, 2);
    let mut pipeline = redis::pipe();
    pipeline.set("b", "v").expire("b", 10_000).set("c", "v");
    let packed = pipeline.get_packed_pipeline();
    let replies = worker.req_packed_commands(&packed, 0, 3).expect("replies");
    let first = replies[0]
        .clone()
        .extract_error()
        .expect_err("its own error");
    assert!(is_oom(&first), "{first}");
    assert_eq!(con.say("EXISTS b").integer(), Some(0), "not for ever");
    assert_eq!(con.say("EXISTS c").integer(), Some(1), "rescued by itself");
    // The server is known to be full now.
    pipeline.query::<()>(&mut worker).expect("one script");
    assert!(con.say("TTL b").integer() > Some(9_000));
}

pub fn return_the_callers_own_error(binary: &Binary) {
    let (server, mut con) = full(&Options::new(binary));
    con.must("ACL SETUSER limited reset on >secret ~* +@all -eval -evalsha");
    let before = digest(&mut con);
    let mut plain = as_user(&server, "limited");
    let mut rescued = Rescuer::with_limit(0).wrap(as_user(&server, "limited"));
    for _ in 0..2 {
        let set = redis::cmd("SET").arg("k").arg("v").take();
        let same = |ours: RedisResult<()>, theirs: RedisResult<()>| {
            let theirs = theirs.expect_err("refused").to_string();
            assert_eq!(ours.expect_err("refused").to_string(), theirs);
        };
        same(set.exec(&mut rescued), set.exec(&mut plain));
        let mut transaction = redis::pipe();
        transaction.atomic().set("k", "v").incr("n", 1);
        same(transaction.exec(&mut rescued), transaction.exec(&mut plain));
        let mut pipeline = redis::pipe();
        pipeline.set("k", "v").llen("q");
        same(pipeline.exec(&mut rescued), pipeline.exec(&mut plain));
    }
    assert_eq!(digest(&mut con), before);
}

/// Inside a script it would end Redis 6.2.
pub fn leave_incrbyfloat_alone_before_7_0(binary: &Binary) {
    let (server, mut con) = full(&Options::new(binary));
    let mut worker = rescuing(&server, 2);
    let add = redis::cmd("INCRBYFLOAT").arg("k").arg("0.5").take();
    let error = add.exec(&mut worker).expect_err("its own error");
    assert!(is_oom(&error), "{error}");
    let mut transaction = redis::pipe();
    transaction.atomic().set("k", "1").add_command(add);
    let error = transaction.exec(&mut worker).expect_err("its own error");
    assert!(is_oom(&error), "{error}");
    assert_eq!(con.say("EXISTS k").integer(), Some(0));
}

/// A server far past its limit is not filled further; jobs still move.
pub fn stop_at_the_limit(binary: &Binary) {
    let (server, mut con) = full(&Options::new(binary));
    let mut worker = Rescue::new(connect(&server, 2));
    let set = redis::cmd("SET").arg("k").arg("v").take();
    let error = set
        .exec(&mut worker)
        .expect_err("past 10 percent of a byte");
    assert!(is_oom(&error));
    let job: String = redis::cmd("LMOVE")
        .arg(&["q", "p", "LEFT", "RIGHT"])
        .query(&mut worker)
        .expect("a move");
    assert_eq!(job, "a");
    // Within the limit it goes on, once the server has been asked again.
    let used = con.info("memory", "used_memory");
    con.must(&format!("CONFIG SET maxmemory {}", used * 99 / 100));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    set.exec(&mut worker).expect("a rescue");
}

pub fn run_the_callers_own_scripts(binary: &Binary) {
    let (server, mut con) = full(&Options::new(binary));
    // Loaded by another connection, so that the text is not known.
    let text = "return redis.call('SET', KEYS[1], ARGV[1])";
    con.call(&["SCRIPT", "LOAD", text]);
    let mut worker = rescuing(&server, 2);
    let reply: String = Script::new(text)
        .key("k")
        .arg("v")
        .invoke(&mut worker)
        .expect("a rescue");
    assert_eq!(reply, "OK");
    if binary.loads_modules() {
        let text = "#!lua flags=no-cluster\nreturn redis.call('APPEND', KEYS[1], 'w')";
        let reply: i64 = Script::new(text)
            .key("k")
            .invoke(&mut worker)
            .expect("a rescue");
        assert_eq!(reply, 2);
    }
    // In a transaction too.
    let mut transaction = redis::pipe();
    transaction
        .atomic()
        .incr("n", 1)
        .invoke_script(Script::new(text).key("m").arg("v"));
    transaction.exec(&mut worker).expect("a rescue");
    assert_eq!(con.say("EXISTS n m").integer(), Some(2));
}

/// The rescue itself is sent once.
pub fn are_not_sent_twice(binary: &Binary) {
    let (server, mut con) = full(&Options::new(binary));
    let proxy = LossyProxy::new(server.port, "EVAL");
    let client =
        redis::Client::open(format!("redis://127.0.0.1:{}/", proxy.port)).expect("an address");
    let mut worker = Rescuer::with_limit(0).wrap(client.get_connection().expect("a connection"));
    let error = redis::cmd("INCR")
        .arg("n")
        .exec(&mut worker)
        .expect_err("no reply");
    assert!(error.is_io_error(), "{error}");
    assert_eq!(proxy.seen("EVAL"), 1);
    assert_eq!(proxy.seen("INCR"), 1);
    let expected = if binary.loads_modules() { "1" } else { "nil" };
    assert!(con.say("GET n").to_string().contains(expected) || !binary.loads_modules());
}

/// What is not refused is sent as it is, and nothing beside it.
pub fn cost_nothing_with_room(binary: &Binary) {
    let server = Options::new(binary).start();
    let mut con = server.connect();
    let mut worker = rescuing(&server, 2);
    let before = con.info("stats", "total_commands_processed");
    for _ in 0..10 {
        redis::cmd("SET")
            .arg("k")
            .arg("v")
            .exec(&mut worker)
            .expect("a write");
        redis::pipe()
            .set("k", "v")
            .get("k")
            .exec(&mut worker)
            .expect("writes");
        redis::pipe()
            .atomic()
            .set("k", "v")
            .exec(&mut worker)
            .expect("writes");
    }
    let sent = con.info("stats", "total_commands_processed") - before;
    assert_eq!(sent, 10 * (1 + 2 + 3) + 1);
}

/// Where the module is loaded it is asked first; a user who is not named goes on by
/// script, and what the operator's limit says is the answer.
pub fn ask_the_module_first(binary: &Binary) {
    let options = Options::new(binary).module_with(&["rescue-limit", "0"]);
    let (server, mut con) = full(&options);
    con.must("ACL SETUSER worker reset on >secret ~* +@all");
    let set = redis::cmd("SET").arg("k").arg("v").take();
    let rescued = |con: Connection| Rescuer::with_limit(0).wrap(con);
    let mut worker = rescued(as_user(&server, "worker"));
    set.exec(&mut worker).expect("a rescue by script");
    assert_eq!(calls(&mut con, "wurk.rescue"), 1);
    assert_eq!(calls(&mut con, "eval"), 1);
    set.exec(&mut worker).expect("a rescue");
    assert_eq!(calls(&mut con, "wurk.rescue"), 1, "it is not asked again");
    if binary.version >= (7, 2, 0) {
        // Nothing that this user sends is refused.
        con.must("CONFIG SET wurk.rescue-users worker");
        set.exec(&mut rescued(as_user(&server, "worker")))
            .expect("the module");
        assert_eq!(calls(&mut con, "eval"), 2);
        con.must("CONFIG SET wurk.rescue-limit 1");
        let error = set
            .exec(&mut rescued(as_user(&server, "worker")))
            .expect_err("the limit");
        assert!(error.to_string().contains("wurk.rescue-limit"), "{error}");
        assert_eq!(calls(&mut con, "eval"), 2);
    }
}
