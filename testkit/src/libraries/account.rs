//! Where each job is.

use std::collections::{HashMap, HashSet};

use super::folder::Folder;
use super::memory::FILLER;
use crate::reply::Reply;
use crate::resp::Resp;

/// How many jobs are where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The server took them from the producer.
    pub accepted: usize,
    /// They have run.
    pub done: usize,
    /// They have run more than once.
    pub twice: usize,
    /// They have run more often than that.
    pub more: usize,
    /// They have not run, and stand in a value of the library's keys.
    pub left: usize,
    /// They have not run, and stand nowhere.
    pub lost: usize,
    /// They have run, or stand in a value, and were never accepted.
    pub unknown: usize,
}

impl Account {
    /// Accounts for each job, of one server or of all nodes of a cluster.
    ///
    /// # Panics
    /// If a connection fails.
    pub fn settle<'c>(folder: &Folder, nodes: impl IntoIterator<Item = &'c mut Resp>) -> Self {
        let mut accepted: HashSet<_> = folder.accepted().into_iter().collect();
        let mut runs = HashMap::<_, usize>::new();
        for id in folder.done() {
            *runs.entry(id).or_default() += 1;
        }
        let found: HashSet<_> = nodes.into_iter().flat_map(in_keys).collect();
        let uncertain = folder.uncertain().into_iter();
        accepted.extend(uncertain.filter(|id| runs.contains_key(id) || found.contains(id)));
        let left = found.iter().filter(|id| !runs.contains_key(*id)).count();
        let known = |id: &&String| accepted.contains(*id);
        let here = |id: &&String| runs.contains_key(*id) || found.contains(*id);
        let ran: HashSet<_> = runs.keys().collect();
        let all: HashSet<_> = ran.into_iter().chain(&found).collect();
        Self {
            accepted: accepted.len(),
            done: runs.len(),
            twice: runs.values().filter(|runs| **runs > 1).count(),
            more: runs.values().filter(|runs| **runs > 2).count(),
            left,
            lost: accepted.iter().filter(|id| !here(id)).count(),
            unknown: all.into_iter().filter(|id| !known(id)).count(),
        }
    }

    /// Whether each job has run, and none twice.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.done == self.accepted && self.twice + self.left + self.lost + self.unknown == 0
    }
}

/// The jobs whose ids stand in the values of keys that are no filler's.
fn in_keys(con: &mut Resp) -> Vec<String> {
    let mut found = Vec::new();
    for key in keys(con) {
        let kind = con.call(&[b"TYPE", key.as_slice()]).to_string();
        let read: &[&[u8]] = match kind.as_str() {
            "string" => &[b"GET", &key],
            "list" => &[b"LRANGE", &key, b"0", b"-1"],
            "hash" => &[b"HGETALL", &key],
            "set" => &[b"SMEMBERS", &key],
            "zset" => &[b"ZRANGE", &key, b"0", b"-1"],
            "stream" => &[b"XRANGE", &key, b"-", b"+"],
            "none" => continue, // It has expired.
            kind => panic!("a key of the type {kind}"),
        };
        ids(&con.call(read), &mut found);
    }
    found
}

fn keys(con: &mut Resp) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut cursor = "0".to_owned();
    loop {
        let reply = con.call(&["SCAN", &cursor, "COUNT", "1000"]);
        let [next, page] = reply.items() else {
            panic!("SCAN: {reply}")
        };
        let page = page.items().iter().filter_map(Reply::bytes);
        let own = page.filter(|key| !key.starts_with(FILLER.as_bytes()));
        keys.extend(own.map(<[u8]>::to_vec));
        cursor = next.bytes().unwrap_or(b"0").escape_ascii().to_string();
        if cursor == "0" {
            return keys;
        }
    }
}

/// Collects the ids in a value. Each library's serializer leaves them as they are, in
/// the value or, as Celery's and RQ's, in a description beside it.
fn ids(value: &Reply, found: &mut Vec<String>) {
    for item in value.items() {
        ids(item, found);
    }
    let bytes = value.bytes().unwrap_or_default();
    for (at, _) in bytes
        .windows(4)
        .enumerate()
        .filter(|(_, part)| part == b"job-")
    {
        let id = bytes.get(at..at + 10).unwrap_or_default();
        if id.len() == 10 && id[4..].iter().all(u8::is_ascii_digit) {
            found.push(String::from_utf8_lossy(id).into_owned());
        }
    }
}
