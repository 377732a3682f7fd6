//! A cluster of three primaries.

use std::time::Duration;

use wurk_testkit::{Options, Server};

use crate::support::wait::wait_until;

pub const SLOTS: u32 = 16_384;

/// How long a node may be unreachable, in milliseconds.
pub const NODE_TIMEOUT: &str = "10000";

/// How long a call may take on a loaded machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Starts three primaries, each with a third of the slots.
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
pub fn wait_for_all<'s>(nodes: impl IntoIterator<Item = &'s Server>, count: usize) {
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
