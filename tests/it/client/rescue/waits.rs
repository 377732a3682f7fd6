//! Moves that wait for a job, on a server that refuses them.

use std::thread;
use std::time::{Duration, Instant};

use redis::RedisResult;
use wurk_testkit::{Binary, Options, Server};

use super::rescuing;

fn full(binary: &Binary) -> Server {
    let server = Options::new(binary).start();
    server.connect().must("CONFIG SET maxmemory 1");
    server
}

fn wait(server: &Server, timeout: &str) -> RedisResult<Option<String>> {
    let mut worker = rescuing(server, 2);
    let words = ["q", "p", "RIGHT", "LEFT", timeout];
    redis::cmd("BLMOVE").arg(&words).query(&mut worker)
}

pub fn end_with_the_job_or_the_timeout(binary: &Binary) {
    let server = full(binary);
    let began = Instant::now();
    assert_eq!(wait(&server, "0.3").expect("a timeout"), None);
    assert!(began.elapsed() >= Duration::from_millis(300));
    for timeout in ["0", "60"] {
        thread::scope(|scope| {
            let waiting = scope.spawn(|| wait(&server, timeout));
            thread::sleep(Duration::from_millis(150));
            let mut con = server.connect();
            con.must("CONFIG SET maxmemory 0");
            con.must("LPUSH q job");
            con.must("CONFIG SET maxmemory 1");
            let job = waiting.join().expect("an end").expect("a rescue");
            assert_eq!(job.as_deref(), Some("job"));
        });
    }
    assert_eq!(server.connect().say("LLEN p").integer(), Some(2));
}

/// Once there is room the server does the waiting.
pub fn are_the_servers_own_with_room(binary: &Binary) {
    let server = full(binary);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| wait(&server, "0"));
        let mut con = server.connect();
        thread::sleep(Duration::from_millis(100));
        con.must("CONFIG SET maxmemory 0");
        crate::support::wait::wait_until("it waits in the server", || {
            con.info("clients", "blocked_clients") == 1
        });
        con.must("LPUSH q job");
        assert_eq!(
            waiting.join().expect("an end").expect("a job").as_deref(),
            Some("job")
        );
    });
}

/// What the server says of a timeout that is no number.
pub fn with_a_wrong_timeout_are_not_rescued(binary: &Binary) {
    let error = wait(&full(binary), "soon").expect_err("no number");
    assert!(wurk_client::is_oom(&error), "{error}");
}
