//! What tests read from a server: its data, its counters, its clients.

use std::collections::HashMap;

use wurk_testkit::{Reply, Resp};

/// A digest of a server's data.
pub fn digest(con: &mut Resp) -> Reply {
    con.must("DEBUG DIGEST")
}

/// How often a command was called.
pub fn calls(con: &mut Resp, command: &str) -> u64 {
    let stats = con.say("INFO commandstats").to_string();
    let Some((_, stats)) = stats.split_once(&format!("cmdstat_{command}:calls=")) else {
        return 0;
    };
    stats
        .split(',')
        .next()
        .and_then(|calls| calls.parse().ok())
        .expect("a number")
}

/// The items of the reply to a command.
pub fn members(con: &mut Resp, line: &str) -> Vec<Vec<u8>> {
    con.must(line)
        .items()
        .iter()
        .filter_map(|item| item.bytes().map(<[u8]>::to_vec))
        .collect()
}

/// The number of blocked clients.
pub fn blocked(con: &mut Resp) -> i64 {
    con.info("clients", "blocked_clients")
}

/// A reply of names and values as a map.
pub fn map(reply: &Reply) -> HashMap<String, Reply> {
    let (pairs, _) = reply.items().as_chunks::<2>();
    pairs
        .iter()
        .map(|[name, value]| (text(name), value.clone()))
        .collect()
}

/// A string reply as text.
pub fn text(reply: &Reply) -> String {
    String::from_utf8_lossy(reply.bytes().unwrap_or_default()).into_owned()
}
