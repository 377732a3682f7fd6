//! A cluster whose reply is lost.

use std::time::Duration;

use redis::cluster::ClusterClient;
use wurk_client::{Queue, Wurk};
use wurk_testkit::{Binary, Options, Server};

use crate::support::caller::{heartbeat, own_error};
use crate::support::cluster::start;
use crate::support::inspect::calls;
use crate::support::wait::wait_until;

/// With `retries(0)` the connection sends nothing again, and neither does the client.
pub fn is_not_sent_again(binary: &Binary) {
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
