//! The client on a server that has no strategy for it, as Dragonfly.

use std::sync::{Arc, Mutex};

use wurk_client::{Claimed, Queue, Rescuer, Wurk, is_oom};

use crate::support::caller::{HEARTBEAT, own_error, queues};
use crate::support::dragonfly_mock::{DragonflyMock, serve};

/// No job is lost, and the caller gets its own error back.
pub fn loses_no_job() {
    let mock = DragonflyMock {
        public: [b"a".to_vec(), b"b".to_vec()].into(),
        private: [b"mine".to_vec()].into(),
        ..DragonflyMock::default()
    };
    let shared = Arc::new(Mutex::new(mock));
    let port = serve(Arc::clone(&shared));
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}/")).expect("an address");
    let mut con = client.get_connection().expect("a connection");
    let oom = redis::cmd("RPUSH")
        .arg("q")
        .arg("x")
        .exec(&mut con)
        .expect_err("a full server");
    assert!(is_oom(&oom), "{oom}");

    let (wurk, queues) = (Wurk::new(), queues());
    for _ in 0..2 {
        let error = wurk
            .or_else_oom(own_error())
            .claim(&mut con, &HEARTBEAT, &queues)
            .expect_err("no fallback");
        assert_eq!(error, own_error());
        let error = wurk
            .or_else_oom(own_error())
            .requeue(&mut con, &Claimed::new(&Queue::new(b"q", b"q:p"), b"mine"))
            .expect_err("no fallback");
        assert_eq!(error, own_error());
        let error = wurk
            .or_else_oom(own_error())
            .try_lock(&mut con, b"l", HEARTBEAT.ttl)
            .expect_err("no fallback");
        assert_eq!(error, own_error());
        let error = wurk
            .or_else_oom(own_error())
            .zadd(&mut con, b"z", 1.0, b"m")
            .expect_err("no fallback");
        assert_eq!(error, own_error());
    }
    let error = wurk
        .requeue(&mut con, &Claimed::new(&Queue::new(b"q", b"q:p"), b"mine"))
        .expect_err("no fallback");
    assert!(
        is_oom(&error),
        "{error}: the server's own, if the caller brought none"
    );

    let mock = shared.lock().expect("the mock");
    assert_eq!(
        mock.public,
        [b"a".to_vec(), b"b".to_vec()],
        "no job has moved"
    );
    assert_eq!(mock.private, [b"mine".to_vec()], "none is lost");
    for name in [".ZREMRANGEBYRANK", ".HSET", ".RPUSH", ".SET", ".ZADD"] {
        assert!(
            mock.seen.iter().any(|seen| seen == name),
            "no script has called {name}"
        );
    }
    assert!(
        !mock.seen.iter().any(|seen| seen == ".LREM"),
        "nothing is removed before it is pushed"
    );
}

/// A command that is carried in vain ends with the server's own words, and has moved
/// nothing.
pub fn rescues_nothing() {
    let mock = DragonflyMock {
        public: [b"a".to_vec()].into(),
        ..DragonflyMock::default()
    };
    let shared = Arc::new(Mutex::new(mock));
    let port = serve(Arc::clone(&shared));
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}/")).expect("an address");
    let mut con = Rescuer::with_limit(0).wrap(client.get_connection().expect("a connection"));
    for _ in 0..2 {
        let push = redis::cmd("RPUSH").arg("q").arg("x").take();
        let error = push.exec(&mut con).expect_err("a full server");
        assert_eq!(error.detail(), Some("Out of memory"), "{error}");
        let mut pipeline = redis::pipe();
        pipeline
            .add_command(push.clone())
            .cmd("SET")
            .arg("k")
            .arg("v");
        let error = pipeline.exec(&mut con).expect_err("a full server");
        assert!(is_oom(&error), "{error}");
    }
    let job: String = redis::cmd("LMOVE")
        .arg(&["q", "q:p", "RIGHT", "LEFT"])
        .query(&mut con)
        .expect("a move");
    assert_eq!(job, "a");
    let mock = shared.lock().expect("the mock");
    assert!(mock.public.is_empty(), "nothing was pushed");
    assert!(
        mock.seen.iter().any(|seen| seen == ".RPUSH"),
        "{:?}",
        mock.seen
    );
}
