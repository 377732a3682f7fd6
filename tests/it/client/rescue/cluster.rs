//! A cluster whose nodes are all full: a rescue declares its keys, and goes to the node
//! of its command.

use redis::cluster::ClusterClient;
use wurk_client::Rescuer;
use wurk_testkit::{Binary, Options};

use crate::client::connections::block_on;
use crate::support::cluster::{TIMEOUT, start};

/// Enough for each of three nodes.
const KEYS: usize = 30;

pub fn reaches_the_node_of_the_command(binary: &Binary) {
    let nodes = start(&Options::new(binary));
    for node in &nodes {
        let mut con = node.connect();
        con.must("CONFIG SET maxmemory 1");
        con.must("CONFIG RESETSTAT");
    }
    let addresses: Vec<_> = nodes
        .iter()
        .map(|node| format!("redis://127.0.0.1:{}/", node.port))
        .collect();
    let client = ClusterClient::builder(addresses)
        .connection_timeout(TIMEOUT)
        .response_timeout(TIMEOUT)
        .build()
        .expect("addresses");
    let rescuer = Rescuer::with_limit(0);
    let mut con = rescuer.wrap_cluster(client.get_connection().expect("a cluster"));
    for number in 0..KEYS {
        let key = format!("key-{number}");
        let set = redis::cmd("SET").arg(&key).arg("v").arg("GET").take();
        assert_eq!(set.query::<Option<String>>(&mut con), Ok(None));
        assert_eq!(set.query::<Option<String>>(&mut con), Ok(Some("v".into())));
        let append = "return redis.call('APPEND', KEYS[1], ARGV[1])";
        let append = redis::cmd("EVAL")
            .arg(append)
            .arg(1)
            .arg(&key)
            .arg("w")
            .take();
        assert_eq!(append.query::<i64>(&mut con), Ok(2));
    }
    block_on(async {
        let con = client.get_async_connection().await.expect("a cluster");
        let mut con = rescuer.wrap_cluster(con);
        for number in 0..KEYS {
            let mut transaction = redis::pipe();
            transaction
                .atomic()
                .cmd("RPUSH")
                .arg(format!("{{{number}}}list"))
                .arg("job")
                .cmd("INCR")
                .arg(format!("{{{number}}}count"));
            let replies = transaction.query_async::<(i64, i64)>(&mut con).await;
            assert_eq!(replies, Ok((1, 1)));
        }
    });
    let mut keys = 0;
    for node in &nodes {
        let mut con = node.connect();
        let own = con.must("DBSIZE").integer().expect("a number");
        assert!(own > 0, "each has some");
        keys += own;
        let errors = con.say("INFO errorstats").to_string();
        assert!(!errors.contains("errorstat_MOVED"), "{errors}");
    }
    assert_eq!(keys, 3 * KEYS as i64);
}
