//! A cluster: each call goes to the right node at the first attempt.

use redis::cluster::ClusterClient;
use wurk_client::{Claimed, Promotion, Queue, Wurk};
use wurk_testkit::{Binary, Resp, Server};

use crate::support::backend::{BACKENDS, Backend};
use crate::support::caller::{HEARTBEAT, heartbeat, own_error};
use crate::support::cluster::{TIMEOUT, start};

pub fn sends_to_the_right_node(binary: &Binary) {
    for backend in BACKENDS {
        if backend == Backend::Module && !binary.loads_modules() {
            continue;
        }
        let nodes = start(&backend.options(binary));
        let addresses: Vec<_> = nodes
            .iter()
            .map(|node| format!("redis://127.0.0.1:{}/", node.port))
            .collect();
        let client = ClusterClient::new(addresses).expect("addresses");
        let mut con = client.get_connection().expect("a cluster");
        for number in 0..30 {
            let job = format!("job-{number}");
            redis::cmd("LPUSH")
                .arg(format!("{{{number}}}q"))
                .arg(&job)
                .exec(&mut con)
                .expect("a push");
        }
        for node in &nodes {
            let mut con = node.connect();
            con.must("CONFIG SET maxmemory 1");
            con.must("CONFIG RESETSTAT");
        }

        let wurk = Wurk::new();
        for number in 0..30 {
            let at = |name: &str| format!("{{{number}}}{name}").into_bytes();
            let (processes, identity, lock) = (at("ps"), at("id"), at("l"));
            let heartbeat = heartbeat(&processes, &identity);
            let queues = [
                Queue::new(at("empty"), at("empty:p")),
                Queue::new(at("q"), at("q:p")),
            ];
            let claimed = if number % 2 == 0 {
                wurk.or_else_oom(own_error())
                    .claim(&mut con, &heartbeat, &queues)
            } else {
                wurk.or_else_oom(own_error())
                    .claim_timeout(&mut con, &heartbeat, &queues, TIMEOUT)
            };
            let job = claimed.expect("a claim").expect("a job").job;
            assert_eq!(job, format!("job-{number}").into_bytes(), "{backend:?}");
            assert!(
                wurk.requeue(
                    &mut con,
                    &Claimed::new(&Queue::new(at("q"), at("q:p")), job.as_slice())
                )
                .expect("a requeue")
            );
            assert!(
                wurk.try_lock(&mut con, &lock, HEARTBEAT.ttl)
                    .expect("a lock")
            );
            assert!(wurk.zadd(&mut con, &at("z"), 1.0, &job).expect("a member"));
            let (due, queue) = (at("due"), at("q2"));
            assert!(wurk.zadd(&mut con, &due, 1.0, &job).expect("a member"));
            let promotion = Promotion::new(&due, &queue, &job);
            for expected in [true, false] {
                let promoted = wurk.promote(&mut con, &promotion);
                assert_eq!(promoted.expect("a promotion"), expected);
            }
            wurk.beat(&mut con, &heartbeat).expect("a heartbeat");
            assert!(
                !wurk
                    .acknowledge(
                        &mut con,
                        &Claimed::new(&Queue::new("", at("q:p")), job.as_slice())
                    )
                    .expect("an acknowledgement")
            );
            let held = wurk.claim_many(&mut con, &heartbeat, &queues, 2);
            let held = held.expect("a claim");
            assert_eq!(held.len(), 1);
            assert!(wurk.requeue(&mut con, &held[0]).expect("a requeue"));
            let turn = wurk.acknowledge_and_claim(&mut con, &held, &heartbeat, &queues, 1);
            let turn = turn.expect("a turn");
            assert_eq!(turn.acknowledged, [Ok(false)]);
            assert!(wurk.requeue(&mut con, &turn.claimed[0]).expect("a requeue"));
        }
        asynchronously(&nodes, &wurk);
        for node in &nodes {
            assert_no_redirect(&mut node.connect(), backend);
        }
        // The server refuses keys of two slots.
        let queues = [Queue::new("{1}q", "{2}q:p")];
        let error = wurk
            .or_else_oom(own_error())
            .claim(&mut con, &HEARTBEAT, &queues)
            .expect_err("two slots");
        assert_eq!(error.code(), Some("CROSSSLOT"), "{backend:?}: {error}");
    }
}

/// The same over an asynchronous connection, which claims the requeued jobs.
fn asynchronously(nodes: &[Server], wurk: &Wurk) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let addresses: Vec<_> = nodes
            .iter()
            .map(|node| format!("redis://127.0.0.1:{}/", node.port))
            .collect();
        let client = ClusterClient::builder(addresses)
            .connection_timeout(TIMEOUT)
            .response_timeout(TIMEOUT)
            .build()
            .expect("addresses");
        let mut con = client.get_async_connection().await.expect("a cluster");
        for number in 0..30 {
            let at = |name: &str| format!("{{{number}}}{name}").into_bytes();
            let (processes, identity) = (at("ps"), at("id"));
            let heartbeat = heartbeat(&processes, &identity);
            let queues = [Queue::new(at("q"), at("q:p"))];
            let claimed = if number % 2 == 0 {
                wurk.or_else_oom(own_error())
                    .claim_async(&mut con, &heartbeat, &queues)
                    .await
            } else {
                wurk.or_else_oom(own_error())
                    .claim_timeout_async(&mut con, &heartbeat, &queues, TIMEOUT)
                    .await
            };
            let job = claimed.expect("a claim").expect("a job").job;
            for expected in [true, false] {
                let back = wurk
                    .requeue_async(
                        &mut con,
                        &Claimed::new(&Queue::new(at("q"), at("q:p")), job.as_slice()),
                    )
                    .await;
                assert_eq!(back.expect("a requeue"), expected);
            }
            let again = wurk.claim_async(&mut con, &heartbeat, &queues).await;
            assert_eq!(again.expect("a claim").expect("a job").job, job);
            let locked = wurk.try_lock_async(&mut con, &at("l"), HEARTBEAT.ttl).await;
            assert!(!locked.expect("a lock"), "it is held");
            let added = wurk.zadd_async(&mut con, &at("z"), 2.0, &job).await;
            assert!(!added.expect("a member"), "it is there");
            let (set, queue) = (at("z"), at("q3"));
            let promotion = Promotion::new(&set, &queue, &job);
            for expected in [true, false] {
                let promoted = wurk.promote_async(&mut con, &promotion).await;
                assert_eq!(promoted.expect("a promotion"), expected);
            }
            let done = [Claimed::new(&queues[0], "of another time")];
            let turn = wurk
                .acknowledge_and_claim_async(&mut con, &done, &heartbeat, &queues, 3)
                .await
                .expect("a turn");
            assert_eq!(turn.acknowledged, [Ok(false)]);
            assert!(turn.claimed.is_empty(), "its job is in flight");
            let written = wurk.beat_async(&mut con, &heartbeat).await;
            written.expect("a heartbeat");
            assert!(
                wurk.acknowledge_async(
                    &mut con,
                    &Claimed::new(&Queue::new("", at("q:p")), job.as_slice())
                )
                .await
                .expect("an acknowledgement")
            );
        }
    });
}

fn assert_no_redirect(con: &mut Resp, backend: Backend) {
    let errors = con.say("INFO errorstats").to_string();
    assert!(
        !errors.contains("errorstat_MOVED") && !errors.contains("errorstat_ASK"),
        "{backend:?}: {errors}"
    );
}
