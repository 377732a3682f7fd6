use std::time::{Duration, Instant};

use redis::cluster::ClusterClient;
use wurk_client::{Claimed, Queue, Wurk};
use wurk_testkit::{Binary, Options, Resp, Server};

use crate::door::{DOORS, Door};
use crate::roads::{HEARTBEAT, calls, heartbeat, own_error};
use crate::stream::{in_step, wait_until};

pub const SLOTS: u32 = 16_384;

/// How long a node may stand still, in milliseconds.
const NODE_TIMEOUT: &str = "10000";

/// How long to wait for what comes at once, were it not for a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Three primaries, each with a third of the slots.
pub fn start(options: &Options) -> Vec<Server> {
    let options = options
        .clone()
        .port()
        .set("cluster-enabled", &["yes"])
        .set("cluster-node-timeout", &[NODE_TIMEOUT])
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
    wait_for_all(&nodes, 3);
    nodes
}

/// Waits until every node knows `count` nodes and every slot.
fn wait_for_all<'s>(nodes: impl IntoIterator<Item = &'s Server>, count: usize) {
    for node in nodes {
        let mut con = node.connect();
        wait_until("every node knows every slot", || {
            let info = con.say("CLUSTER INFO").to_string();
            info.contains("cluster_state:ok")
                && info.contains("cluster_slots_assigned:16384")
                && info.contains(&format!("cluster_known_nodes:{count}"))
        });
    }
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
                    .claim_timeout(&mut con, &heartbeat, &queues, PATIENCE)
            };
            let job = claimed.expect("a claim").expect("a job").job;
            assert_eq!(job, format!("job-{number}").into_bytes(), "{door:?}");
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
            assert!(
                !wurk
                    .acknowledge(
                        &mut con,
                        &Claimed::new(&Queue::new("", at("q:p")), job.as_slice())
                    )
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
            .or_else_oom(own_error())
            .claim(&mut con, &HEARTBEAT, &queues)
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
        let client = ClusterClient::builder(addresses)
            .connection_timeout(PATIENCE)
            .response_timeout(PATIENCE)
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
                    .claim_timeout_async(&mut con, &heartbeat, &queues, PATIENCE)
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

fn assert_no_redirect(con: &mut Resp, door: Door) {
    let errors = con.say("INFO errorstats").to_string();
    assert!(
        !errors.contains("errorstat_MOVED") && !errors.contains("errorstat_ASK"),
        "{door:?}: {errors}"
    );
}

/// Three primaries, each with a replica that has no module, one of which takes
/// its primary's place.
pub fn a_replica_takes_over(binary: &Binary) {
    let nodes = start(&Options::new(binary).module());
    let mut first = nodes[0].connect();
    let options = Options::new(binary)
        .port()
        .set("cluster-enabled", &["yes"])
        .set("cluster-node-timeout", &[NODE_TIMEOUT])
        .set("repl-diskless-sync-delay", &["0"]);
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
    // Given up after five seconds where the others do not answer.
    let mut asked: Option<Instant> = None;
    wait_until("the replica is a primary", || {
        if asked.is_none_or(|asked| asked.elapsed() > Duration::from_secs(6)) {
            there.say("CLUSTER FAILOVER");
            asked = Some(Instant::now());
        }
        there.say("ROLE").to_string().contains("master")
    });
    let mut jobs = Vec::new();
    wait_until("the others have come", || {
        // The connection that there was goes on.
        if let Ok(Some(claimed)) = wurk.claim(&mut con, &heartbeat, &queues) {
            jobs.push(claimed.job);
        }
        jobs.len() == 2
    });
    assert_eq!(jobs, [b"b", b"c"]);
    assert_eq!(
        there.say(&format!("LLEN {{{tag}}}p")).integer(),
        Some(3),
        "where the replica is asked by script"
    );
}

/// The cluster's connection sends again what it has had no reply to, unless it
/// is told not to; then nothing else does.
pub fn a_lost_reply_is_not_asked_for_again(binary: &Binary) {
    let nodes = start(&Options::new(binary).module());
    let tag = "{1}";
    let mut owner = nodes
        .iter()
        .map(Server::connect)
        .find_map(|mut con| {
            let push = con.say(&format!("LPUSH {tag}q a b"));
            push.error().is_none().then_some(con)
        })
        .expect("the node of a slot");
    let client = ClusterClient::builder([format!("redis://127.0.0.1:{}/", nodes[0].port)])
        .retries(0)
        .response_timeout(Duration::from_secs(1))
        .build()
        .expect("an address");
    let mut con = client.get_connection().expect("a cluster");
    let at = |name: &str| format!("{tag}{name}").into_bytes();
    let (processes, identity) = (at("ps"), at("id"));
    let heartbeat = heartbeat(&processes, &identity);
    let queues = [Queue::new(at("q"), at("p"))];
    let sleep = [b"DEBUG".to_vec(), b"SLEEP".to_vec(), b"3".to_vec()];
    owner
        .send_raw(&redis::pack_command(&sleep))
        .expect("a server");
    let error = Wurk::new()
        .or_else_oom(own_error())
        .claim(&mut con, &heartbeat, &queues)
        .expect_err("no reply in time");
    assert!(error.is_timeout(), "{error}");
    owner.read().expect("a reply");
    wait_until("the call has been served", || {
        owner.say(&format!("LLEN {tag}p")).integer() == Some(1)
    });
    assert_eq!(calls(&mut owner, "wurk.claim"), 1);
}

/// Which keys a call has, as the server tells a client.
pub fn keys_are_told(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let mut con = server.connect();
    for (call, keys) in [
        ("WURK.CLAIM ps id q p i 1 60", "ps id q p"),
        ("WURK.CLAIM ps id q p r s i 1 60", "ps id q p r s"),
        ("WURK.BCLAIM ps id q p r s i 1 60 0", "ps id q p r s"),
        ("WURK.REQUEUE p q j", "p q"),
        ("WURK.LOCK l 60", "l"),
        ("WURK.ZADD z 1 m", "z"),
    ] {
        let told = con.must(&format!("COMMAND GETKEYS {call}"));
        let told: Vec<_> = told
            .items()
            .iter()
            .map(|key| String::from_utf8_lossy(key.bytes().expect("a key")).into_owned())
            .collect();
        assert_eq!(told.join(" "), keys, "{call}");
    }
}
