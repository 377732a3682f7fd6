//! A cluster in which a replica without the module takes over.

use std::time::{Duration, Instant};

use redis::cluster::ClusterClient;
use wurk_client::{Queue, Wurk};
use wurk_testkit::{Binary, Options};

use crate::support::caller::heartbeat;
use crate::support::cluster::{NODE_TIMEOUT, start, wait_for_all};
use crate::support::wait::{in_step, wait_until};

/// Each primary has a replica without the module, and one of these is promoted.
pub fn continues_on_the_promoted_replica(binary: &Binary) {
    let nodes = start(&Options::new(binary).module());
    let mut first = nodes[0].connect();
    let options = Options::new(binary)
        .primary()
        .set("cluster-enabled", &["yes"])
        .set("cluster-node-timeout", &[NODE_TIMEOUT]);
    let replicas: Vec<_> = nodes.iter().map(|_| options.start()).collect();
    for (node, replica) in nodes.iter().zip(&replicas) {
        let id = node.connect().must("CLUSTER MYID");
        let id = String::from_utf8_lossy(id.bytes().expect("an id")).into_owned();
        let mut there = replica.connect();
        there.must(&format!("CLUSTER MEET 127.0.0.1 {}", node.port));
        wait_until("the replica has met its primary", || {
            there.say(&format!("CLUSTER REPLICATE {id}")).to_string() == "OK"
        });
    }
    for replica in &replicas {
        in_step(&mut replica.connect());
    }
    wait_for_all(nodes.iter().chain(&replicas), 6);
    let mut there = replicas[0].connect();
    let addresses: Vec<_> = nodes[1..]
        .iter()
        .map(|node| format!("redis://127.0.0.1:{}/", node.port))
        .collect();
    let client = ClusterClient::new(addresses).expect("addresses");
    let tag = (0..)
        .find(|tag| first.must(&format!("CLUSTER KEYSLOT {{{tag}}}")).integer() < Some(5_000))
        .expect("a tag");
    let at = |name: &str| format!("{{{tag}}}{name}").into_bytes();
    let queues = [Queue::new(at("q"), at("p"))];
    let (processes, identity) = (at("ps"), at("id"));
    let heartbeat = heartbeat(&processes, &identity);
    for job in ["a", "b", "c"] {
        first.call(&[b"LPUSH".as_slice(), &queues[0].public, job.as_bytes()]);
    }
    for con in [&mut first, &mut there] {
        con.must("CONFIG SET maxmemory 1");
    }
    let wurk = Wurk::new();
    let mut con = client.get_connection().expect("a cluster");
    assert_eq!(
        wurk.claim(&mut con, &heartbeat, &queues)
            .expect("a claim")
            .expect("a job")
            .job,
        b"a"
    );
    first.must("WAIT 1 20000");
    // The server gives up after five seconds if the others do not reply.
    let mut asked: Option<Instant> = None;
    wait_until("the replica is a primary", || {
        if asked.is_none_or(|asked| asked.elapsed() > Duration::from_secs(6)) {
            there.say("CLUSTER FAILOVER");
            asked = Some(Instant::now());
        }
        there.say("ROLE").to_string().contains("master")
    });
    let mut jobs = Vec::new();
    wait_until("the other jobs are claimed", || {
        // The existing connection continues.
        if let Ok(Some(claimed)) = wurk.claim(&mut con, &heartbeat, &queues) {
            jobs.push(claimed.job);
        }
        jobs.len() == 2
    });
    assert_eq!(jobs, [b"b", b"c"]);
    assert_eq!(
        there.say(&format!("LLEN {{{tag}}}p")).integer(),
        Some(3),
        "the replica is used by script"
    );
}
