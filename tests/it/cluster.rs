use redis::cluster::ClusterClient;
use wurk_client::{Heartbeat, Queue, Wurk};
use wurk_testkit::{Binary, Options, Resp, Server};

use crate::door::{DOORS, Door};
use crate::roads::{HEARTBEAT, own_error};
use crate::stream::wait_until;

const SLOTS: u32 = 16_384;

/// Three primaries, each with a third of the slots.
pub fn start(options: &Options) -> Vec<Server> {
    let options = options
        .clone()
        .port()
        .set("cluster-enabled", &["yes"])
        .set("cluster-node-timeout", &["2000"])
        .set("cluster-require-full-coverage", &["no"]);
    let nodes: Vec<_> = (0..3).map(|_| options.start()).collect();
    for (number, node) in (0..).zip(&nodes) {
        let mut con = node.connect();
        let slots = SLOTS * number / 3..SLOTS * (number + 1) / 3;
        let words = ["CLUSTER".to_owned(), "ADDSLOTS".to_owned()];
        let command: Vec<_> = words
            .into_iter()
            .chain(slots.map(|slot| slot.to_string()))
            .collect();
        assert_eq!(con.call(&command).to_string(), "OK");
        con.must(&format!("CLUSTER MEET 127.0.0.1 {}", nodes[0].port));
    }
    for node in &nodes {
        let mut con = node.connect();
        wait_until("every node knows every slot", || {
            let info = con.say("CLUSTER INFO").to_string();
            info.contains("cluster_state:ok")
                && info.contains("cluster_slots_assigned:16384")
                && info.contains("cluster_known_nodes:3")
        });
    }
    nodes
}

pub fn is_asked_at_the_right_node(binary: &Binary) {
    for door in DOORS {
        if door == Door::Module && !binary.loads_modules() {
            continue;
        }
        let nodes = start(&door.options(binary));
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
            let heartbeat = Heartbeat {
                processes: &processes,
                identity: &identity,
                ..HEARTBEAT
            };
            let queues = [
                Queue::new(at("empty"), at("empty:p")),
                Queue::new(at("q"), at("q:p")),
            ];
            let claimed = wurk.claim(&mut con, &heartbeat, &queues, Some(own_error()));
            let job = claimed.expect("a claim").expect("a job").job;
            assert_eq!(job, format!("job-{number}").into_bytes(), "{door:?}");
            assert!(
                wurk.requeue(&mut con, &at("q:p"), &at("q"), &job, None)
                    .expect("a requeue")
            );
            assert!(
                wurk.lock(&mut con, &lock, HEARTBEAT.ttl, None)
                    .expect("a lock")
            );
            assert!(
                wurk.zadd(&mut con, &at("z"), 1.0, &job, None)
                    .expect("a member")
            );
            assert!(
                !wurk
                    .acknowledge(&mut con, &at("q:p"), &job)
                    .expect("an acknowledgement")
            );
        }
        asynchronously(&nodes, &wurk);
        for node in &nodes {
            assert_no_redirect(&mut node.connect(), door);
        }
        // Keys of two slots are the server's to refuse.
        let queues = [Queue::new("{1}q", "{2}q:p")];
        let error = wurk
            .claim(&mut con, &HEARTBEAT, &queues, Some(own_error()))
            .expect_err("two slots");
        assert_eq!(error.code(), Some("CROSSSLOT"), "{door:?}: {error}");
    }
}

/// The same over an asynchronous connection, which claims what was given back.
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
        let client = ClusterClient::new(addresses).expect("addresses");
        let mut con = client.get_async_connection().await.expect("a cluster");
        for number in 0..30 {
            let at = |name: &str| format!("{{{number}}}{name}").into_bytes();
            let (processes, identity) = (at("ps"), at("id"));
            let heartbeat = Heartbeat {
                processes: &processes,
                identity: &identity,
                ..HEARTBEAT
            };
            let queues = [Queue::new(at("q"), at("q:p"))];
            let claimed = wurk
                .claim_async(&mut con, &heartbeat, &queues, Some(own_error()))
                .await;
            let job = claimed.expect("a claim").expect("a job").job;
            assert!(
                wurk.acknowledge_async(&mut con, &at("q:p"), &job)
                    .await
                    .expect("an acknowledgement")
            );
        }
    });
}

fn assert_no_redirect(con: &mut Resp, door: Door) {
    let errors = con.say("INFO errorstats").to_string();
    assert!(
        !errors.contains("errorstat_MOVED") && !errors.contains("errorstat_ASK"),
        "{door:?}: {errors}"
    );
}
