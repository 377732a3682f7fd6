//! A slot of a cluster moves to another node while workers claim jobs from it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use redis::RedisResult;
use redis::cluster::{ClusterClient, ClusterConnection};
use wurk_client::{Queue, Wurk};
use wurk_testkit::{Binary, Options, Resp, Server};

use crate::support::caller::heartbeat;
use crate::support::cluster::{SLOTS, TIMEOUT, start};
use crate::support::wait::wait_until;

const JOBS: usize = 2_000;

/// A cluster, and the slot that is migrated.
struct Move {
    nodes: Vec<Server>,
    cons: Vec<Resp>,
    ids: Vec<String>,
    slot: i64,
    from: usize,
    to: usize,
}

impl Move {
    fn new(binary: &Binary) -> Self {
        let nodes = start(&Options::new(binary).module());
        let mut cons: Vec<_> = nodes.iter().map(Server::connect).collect();
        let ids = cons.iter_mut().map(|con| {
            let id = con.must("CLUSTER MYID");
            String::from_utf8_lossy(id.bytes().expect("an id")).into_owned()
        });
        let ids = ids.collect();
        let slot = cons[0].must("CLUSTER KEYSLOT {m}q").integer();
        let slot = slot.expect("a slot");
        let from = (0..3)
            .find(|node| i64::from(SLOTS) * (*node as i64 + 1) / 3 > slot)
            .expect("its node");
        Self {
            nodes,
            cons,
            ids,
            slot,
            from,
            to: (from + 1) % 3,
        }
    }

    fn left(&mut self) -> i64 {
        self.cons[self.from].say("LLEN {m}q").integer().unwrap_or(0)
    }

    fn client(&self) -> ClusterClient {
        let addresses = self
            .nodes
            .iter()
            .map(|node| format!("redis://127.0.0.1:{}/", node.port));
        ClusterClient::new(addresses.collect::<Vec<_>>()).expect("addresses")
    }
}

/// Key by key with MIGRATE, which every server supports.
pub fn key_by_key(binary: &Binary) {
    while_workers_claim(Move::new(binary), |cluster| {
        let Move { slot, from, to, .. } = *cluster;
        let [source, target] = [from, to].map(|node| cluster.ids[node].clone());
        let cons = &mut cluster.cons;
        cons[to].must(&format!("CLUSTER SETSLOT {slot} IMPORTING {source}"));
        cons[from].must(&format!("CLUSTER SETSLOT {slot} MIGRATING {target}"));
        let port = cluster.nodes[to].port;
        wait_until("every key has moved", || {
            let keys = cons[from].must(&format!("CLUSTER GETKEYSINSLOT {slot} 100"));
            for key in keys.items() {
                let key = String::from_utf8_lossy(key.bytes().expect("a key")).into_owned();
                cons[from].must(&format!("MIGRATE 127.0.0.1 {port} {key} 0 5000"));
            }
            keys.items().is_empty()
        });
        for node in [to, from, 3 - to - from] {
            cons[node].must(&format!("CLUSTER SETSLOT {slot} NODE {target}"));
        }
    });
}

/// The whole slot at once, which Valkey 9 supports.
pub fn atomic(binary: &Binary) {
    while_workers_claim(Move::new(binary), |cluster| {
        let Move { slot, from, to, .. } = *cluster;
        let target = cluster.ids[to].clone();
        let source = &mut cluster.cons[from];
        source.must(&format!(
            "CLUSTER MIGRATESLOTS SLOTSRANGE {slot} {slot} NODE {target}"
        ));
        wait_until("the slot has moved", || {
            let all = source.must("CLUSTER GETSLOTMIGRATIONS").to_string();
            assert!(!all.contains("failed"), "{all}");
            all.contains("success")
        });
    });
}

/// Workers claim, wait for and requeue jobs while the slot moves: each job is done once.
fn while_workers_claim(mut cluster: Move, move_slot: impl FnOnce(&mut Move)) {
    let client = cluster.client();
    let mut con = client.get_connection().expect("a cluster");
    for number in 0..JOBS {
        redis::cmd("LPUSH")
            .arg("{m}q")
            .arg(format!("job-{number}"))
            .exec(&mut con)
            .expect("a push");
    }
    for con in &mut cluster.cons {
        con.must("CONFIG SET maxmemory 1");
    }
    let moved = AtomicBool::new(false);
    let mut done: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|number| {
                let (client, moved) = (&client, &moved);
                scope.spawn(move || work(client, number, moved))
            })
            .collect();
        wait_until("the workers have begun", || cluster.left() < JOBS as i64);
        assert!(cluster.left() > 0, "the queue is empty too soon");
        // A full server refuses the keys that arrive.
        let to = cluster.to;
        cluster.cons[to].must("CONFIG SET maxmemory 0");
        move_slot(&mut cluster);
        cluster.cons[to].must("CONFIG SET maxmemory 1");
        moved.store(true, Relaxed);
        let done = workers.into_iter().map(|worker| worker.join());
        done.flat_map(|done| done.expect("a worker")).collect()
    });
    done.sort();
    let mut expected: Vec<_> = (0..JOBS).map(|number| format!("job-{number}")).collect();
    expected.sort();
    assert_eq!(done, expected, "every job, once");
    let owner = &mut cluster.cons[cluster.to];
    assert!(owner.say("LLEN {m}q").error().is_none(), "it has moved");
}

/// Works until the queue is empty: worker 1 waits for jobs, worker 2 requeues each once.
fn work(client: &ClusterClient, number: usize, moved: &AtomicBool) -> Vec<String> {
    let wurk = Wurk::new();
    let mut con = client.get_connection().expect("a cluster");
    let (identity, private) = (format!("{{m}}id{number}"), format!("{{m}}p{number}"));
    let heartbeat = heartbeat(b"{m}ps", identity.as_bytes());
    let queues = [Queue::new("{m}q", private)];
    let (mut done, mut seen) = (Vec::new(), HashSet::new());
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let claimed = if number == 1 {
            let wait = Duration::from_millis(20);
            wurk.claim_timeout(&mut con, &heartbeat, &queues, wait)
        } else {
            wurk.claim(&mut con, &heartbeat, &queues)
        };
        match claimed {
            Ok(Some(claimed)) => {
                if number == 2 && seen.insert(claimed.job.clone()) {
                    until_moved(&mut con, |con| wurk.requeue(con, &claimed));
                } else {
                    until_moved(&mut con, |con| wurk.acknowledge(con, &claimed));
                    done.push(String::from_utf8_lossy(&claimed.job).into_owned());
                }
            }
            Ok(None) if moved.load(Relaxed) => return done,
            last => {
                assert!(Instant::now() < deadline, "{last:?}");
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// Repeats a call that is refused while its keys are being moved.
fn until_moved(
    con: &mut ClusterConnection,
    mut call: impl FnMut(&mut ClusterConnection) -> RedisResult<bool>,
) {
    wait_until("the keys are in one place", || match call(con) {
        Ok(was_there) => {
            assert!(was_there, "no other worker takes it");
            true
        }
        Err(_) => false,
    });
}
