//! A Sentinel replaces the primary by a replica without the module during a drain.

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use redis::sentinel::{SentinelClient, SentinelServerType};
use redis::{Connection, RedisError, RedisResult};
use wurk_client::Wurk;
use wurk_testkit::{Binary, Options};

use crate::support::caller::{HEARTBEAT, own_error, queues};
use crate::support::inspect::calls;
use crate::support::wait::{in_step, wait_until};

const JOBS: usize = 400;

/// The primary has the module, and its replica has not. The primary is killed during a
/// drain, and the worker continues on the replica.
pub fn by_sentinel_during_a_drain(binary: &Binary) {
    let options = Options::new(binary).primary();
    let primary = options.clone().module_if_supported().start();
    let replica = options.replica_of(primary.port).start();
    let mut there = replica.connect();
    in_step(&mut there);
    let mut here = primary.connect();
    let mut pushed = HashSet::new();
    for number in 0..JOBS {
        here.must(&format!("LPUSH q job-{number}"));
        pushed.insert(format!("job-{number}").into_bytes());
    }
    for con in [&mut here, &mut there] {
        con.must("CONFIG SET maxmemory 1");
    }
    let sentinel = Options::new(binary).sentinel_of(primary.port).start();
    let mut watch = sentinel.connect();
    wait_until("the Sentinel knows the replica", || {
        watch.say("SENTINEL REPLICAS main").items().len() == 1
    });

    let address = format!("redis://127.0.0.1:{}/", sentinel.port);
    let mut client = SentinelClient::build(vec![address], "main", None, SentinelServerType::Master)
        .expect("an address");
    let (wurk, queues) = (Wurk::new(), queues());
    let mut done = HashSet::new();
    let mut work = |con: &mut Connection, count: usize| -> RedisResult<usize> {
        for finished in 0..count {
            let Some(claimed) = wurk
                .or_else_oom(own_error())
                .claim(con, &HEARTBEAT, &queues)?
            else {
                return Ok(finished);
            };
            assert!(wurk.acknowledge(con, &claimed)?);
            assert!(done.insert(claimed.job), "a job done twice");
        }
        Ok(count)
    };
    let mut con = client.get_connection().expect("the primary");
    assert_eq!(work(&mut con, JOBS / 2).expect("the first half"), JOBS / 2);
    let by_module = calls(&mut here, "wurk.claim");
    assert_eq!(by_module > 0, binary.loads_modules());
    // A replica may lack the last writes of a primary that dies; this test is not about
    // those.
    here.must("WAIT 1 20000");
    drop(primary.kill());
    // Set only now: a primary that is slow for a moment must stay the primary.
    watch.must("SENTINEL SET main down-after-milliseconds 500");

    let lost: RedisError = work(&mut con, 1).expect_err("a primary that is gone");
    assert!(lost.is_io_error(), "{lost}: the connection's own error");
    let deadline = Instant::now() + Duration::from_secs(60);
    let finished = loop {
        assert!(
            Instant::now() < deadline,
            "no new primary: {}",
            sentinel.log()
        );
        let result = client
            .get_connection()
            .and_then(|mut con| work(&mut con, JOBS));
        match result {
            Ok(finished) => break finished,
            // The replica is not promoted yet.
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    };
    assert!(finished <= JOBS / 2);
    assert_eq!(done, pushed, "every job, each once");
    // The Sentinel has closed all connections to the new primary.
    let mut there = replica.connect();
    assert!(calls(&mut there, "eval") >= 1, "the replica has no module");
    assert_eq!(there.say("EXISTS q q:p").integer(), Some(0));
}
