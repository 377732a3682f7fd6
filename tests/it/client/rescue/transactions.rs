//! Transactions that a full server refuses: all or nothing, and only if what was watched
//! is unchanged.

use redis::{Connection, RedisResult};
use wurk_client::{Rescue, Rescuer};
use wurk_testkit::{Binary, Options, Resp, Server};

use super::{connect, rescuing};
use crate::client::connections::block_on;

fn full(binary: &Binary) -> (Server, Resp, Rescue<Connection>) {
    let server = Options::new(binary).start();
    let mut con = server.connect();
    con.must("SET watched before");
    con.must("CONFIG SET maxmemory 1");
    let worker = rescuing(&server, 2);
    (server, con, worker)
}

fn watch(con: &mut Rescue<Connection>) {
    let watch = redis::cmd("WATCH").arg("watched").arg("absent").take();
    watch.exec(con).expect("a watch");
}

/// `None` if a watched key has changed.
fn transaction(con: &mut Rescue<Connection>) -> RedisResult<Option<(i64, String)>> {
    let mut pipeline = redis::pipe();
    pipeline.atomic().incr("counter", 1).set("b", "value");
    pipeline.query(con)
}

/// So that the server is known to be full.
fn refused_once(con: &mut Rescue<Connection>) {
    redis::cmd("SET")
        .arg("k")
        .arg("v")
        .exec(con)
        .expect("a rescue");
}

pub fn are_one_script(binary: &Binary) {
    let (_server, mut con, mut worker) = full(binary);
    let replies = transaction(&mut worker).expect("a rescue");
    assert_eq!(replies, Some((1, "OK".to_owned())));
    // An error inside is the reply to that command, as ever.
    let mut pipeline = redis::pipe();
    pipeline.atomic().incr("b", 1).incr("counter", 1);
    let error = pipeline.query::<()>(&mut worker).expect_err("no integer");
    assert_eq!(error.code(), Some("ERR"), "{error}");
    assert_eq!(con.say("GET counter").bytes(), Some(b"2".as_slice()));
}

pub fn run_if_what_was_watched_is_unchanged(binary: &Binary) {
    let (server, mut con, mut worker) = full(binary);
    refused_once(&mut worker);
    watch(&mut worker);
    assert_eq!(
        transaction(&mut worker).expect("a rescue"),
        Some((1, "OK".into()))
    );
    // It watches nothing any more.
    con.must("DEL watched");
    assert_eq!(
        transaction(&mut worker).expect("a rescue"),
        Some((2, "OK".into()))
    );

    let change: [fn(&mut Resp); 4] = [
        |con| drop(con.must("CONFIG SET maxmemory 0")),
        |con| drop(con.must("SET absent here")),
        |con| drop(con.must("SET watched after")),
        |con| drop(con.must("EXPIRE watched 10000")),
    ];
    for (number, change) in change.iter().enumerate().skip(1) {
        if number == 3 && !binary.loads_modules() {
            continue; // Before 7.0 nobody can ask when a key expires.
        }
        con.must("CONFIG SET maxmemory 0");
        con.must("DEL absent");
        con.must("SET watched before");
        con.must("CONFIG SET maxmemory 1");
        refused_once(&mut worker);
        watch(&mut worker);
        con.must("CONFIG SET maxmemory 0");
        change(&mut con);
        con.must("CONFIG SET maxmemory 1");
        assert_eq!(
            transaction(&mut worker).expect("no error"),
            None,
            "{number}"
        );
        assert_eq!(
            con.say("GET counter").bytes(),
            Some(b"2".as_slice()),
            "{number}"
        );
    }
    drop(server);
}

/// What was watched before the server was known to be full may have changed.
pub fn keep_their_error_if_nobody_knows(binary: &Binary) {
    let (_server, mut con, mut worker) = full(binary);
    watch(&mut worker);
    let error = transaction(&mut worker).expect_err("refused");
    assert!(wurk_client::is_oom(&error), "{error}");
    assert_eq!(
        con.say("EXISTS counter b").integer(),
        Some(0),
        "nothing has run"
    );
    // Nor is it asked for what a pipeline watches.
    let mut pipeline = redis::pipe();
    pipeline.cmd("GET").arg("watched");
    pipeline.cmd("watch").arg("watched").cmd("GET").arg("b");
    pipeline.exec(&mut worker).expect("a pipeline");
    let error = transaction(&mut worker).expect_err("refused");
    assert!(wurk_client::is_oom(&error), "{error}");
    assert_eq!(con.say("EXISTS counter b").integer(), Some(0));
    // Now it is known, and the library's next try works.
    watch(&mut worker);
    assert_eq!(
        transaction(&mut worker).expect("a rescue"),
        Some((1, "OK".into()))
    );
}

/// The same of an asynchronous connection: known or not, changed or not.
pub fn watch_asynchronously_too(binary: &Binary) {
    let (server, mut con, _) = full(binary);
    block_on(async {
        let client = redis::Client::open(server.url()).expect("an address");
        let worker = client.get_multiplexed_async_connection().await;
        let mut worker = Rescuer::with_limit(0).wrap(worker.expect("a connection"));
        let watch = redis::cmd("WATCH").arg("watched").arg("absent").take();
        let mut pipeline = redis::pipe();
        pipeline.cmd("GET").arg("b").add_command(watch.clone());
        let mut transaction = redis::pipe();
        transaction.atomic().incr("counter", 1);

        pipeline.exec_async(&mut worker).await.expect("a pipeline");
        let refused = transaction.exec_async(&mut worker).await;
        let error = refused.expect_err("nobody knows how it was");
        assert!(wurk_client::is_oom(&error), "{error}");
        watch.exec_async(&mut worker).await.expect("a watch");
        let replies = transaction.query_async::<(i64,)>(&mut worker).await;
        assert_eq!(replies.expect("a rescue"), (1,));
        watch.exec_async(&mut worker).await.expect("a watch");
        con.must("CONFIG SET maxmemory 0");
        con.must("SET watched after");
        con.must("CONFIG SET maxmemory 1");
        let replies = transaction.query_async::<Option<(i64,)>>(&mut worker).await;
        assert_eq!(replies.expect("no error"), None);
    });
    assert_eq!(con.say("GET counter").bytes(), Some(b"1".as_slice()));
}

/// EXEC that ran is not sent again, whatever a script inside it was refused.
pub fn that_ran_are_not_sent_again(binary: &Binary) {
    let server = Options::new(binary).start();
    let mut con = server.connect();
    con.must("SET grows 1");
    let used = con.info("memory", "used_memory");
    let mut worker = rescuing(&server, 2);
    let limit = format!("CONFIG SET maxmemory {}", used + 200_000);
    con.must(&limit);
    // The first makes the server full; the script behind it is refused inside.
    let mut pipeline = redis::pipe();
    pipeline
        .atomic()
        .cmd("SETRANGE")
        .arg("big")
        .arg(1_000_000)
        .arg("x")
        .cmd("EVAL")
        .arg("return redis.call('INCR', KEYS[1])")
        .arg(1)
        .arg("counter");
    let reply = pipeline.query::<(i64, i64)>(&mut worker);
    let ran = con.say("STRLEN big").integer();
    assert_eq!(ran, Some(1_000_001), "{reply:?}");
    assert!(con.say("GET counter").bytes() <= Some(b"1".as_slice()));
    drop(connect(&server, 2));
}
