//! A rescued user of a cluster: redirections, and a slot that moves, are answered as
//! for the command alone.

use wurk_testkit::{Binary, Resp, Server};

use super::side::{self, Client, WORKER, add_user};
use crate::support::cluster::start;

/// Commands whose keys are in the slot of `{a}`, in another one, or in two.
const COMMANDS: [&[&str]; 9] = [
    &["SET", "{a}x", "y"],
    &["SET", "{b}x", "y"],
    &["LMOVE", "{a}q", "{a}p", "RIGHT", "LEFT"],
    &["LMOVE", "{a}q", "{b}p", "RIGHT", "LEFT"],
    &["BLMOVE", "{b}q", "{b}p", "RIGHT", "LEFT", "1"],
    &["BLMOVE", "{a}q", "{b}p", "RIGHT", "LEFT", "1"],
    &["EVAL", "return redis.call('TYPE', KEYS[1])", "1", "{a}q"],
    &["EVAL", "return redis.call('TYPE', KEYS[1])", "1", "{b}q"],
    &["EVAL", "return 1", "2", "{a}q", "{b}q"],
];

/// What each node replies to each command, full and rescued, and not full.
fn replies(binary: &Binary, nodes: &[Server], full: bool, asking: bool) -> Vec<String> {
    let mut replies = Vec::new();
    for node in nodes {
        let mut con = node.connect();
        con.must(&format!("CONFIG SET maxmemory {}", usize::from(full)));
        let mut client = Client::login(binary, node.connect(), WORKER);
        for command in COMMANDS {
            if command[0] == "EVAL" && !side::rescues_scripts(binary) {
                continue;
            }
            if asking {
                client.con.must("ASKING");
            }
            let reply = if full {
                client.call(command)
            } else {
                client.con.call(command)
            };
            replies.push(format!("{}: {command:?}: {reply:?}", node.port));
        }
    }
    replies
}

/// The lists again, wherever they are now.
fn fill(nodes: &[Server]) {
    for node in nodes {
        let mut con = node.connect();
        con.must("CONFIG SET maxmemory 0");
        for tag in ["{a}", "{b}"] {
            for line in ["DEL TAGx TAGq TAGp", "RPUSH TAGq 1 2 3 4"] {
                let line = line.replace("TAG", tag);
                con.must("ASKING");
                con.say(&line);
            }
        }
    }
}

fn both(binary: &Binary, nodes: &[Server], asking: bool, what: &str) -> Vec<String> {
    let shown = [false, true].map(|full| {
        fill(nodes);
        replies(binary, nodes, full, asking)
    });
    assert_eq!(shown[1], shown[0], "{what}: on full nodes, and on others");
    let [shown, _] = shown;
    shown
}

pub fn redirects_as_the_command_alone(binary: &Binary) {
    let nodes = start(&side::options(binary));
    let mut cons: Vec<Resp> = nodes.iter().map(Server::connect).collect();
    for con in &mut cons {
        add_user(con, WORKER, "~* &* +@all");
    }
    let shown = both(binary, &nodes, false, "slots in place").join("\n");
    for code in ["MOVED ", "CROSSSLOT ", ": OK"] {
        assert!(shown.contains(code), "no {code}: {shown}");
    }

    fill(&nodes);
    // The slot of `{a}` is on its way to another node, and no key has gone yet.
    let slot = cons[0]
        .must("CLUSTER KEYSLOT {a}")
        .integer()
        .expect("a slot");
    let from = cons
        .iter_mut()
        .position(|con| con.say("SET {a} x").error().is_none())
        .expect("the owner of the slot");
    cons[from].must("DEL {a}");
    let to = (from + 1) % nodes.len();
    let ids: Vec<_> = cons
        .iter_mut()
        .map(|con| {
            let id = con.must("CLUSTER MYID");
            String::from_utf8_lossy(id.bytes().expect("an id")).into_owned()
        })
        .collect();
    cons[to].must(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", ids[from]));
    cons[from].must(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", ids[to]));
    for asking in [false, true] {
        let shown = both(binary, &nodes, asking, "a slot that moves").join("\n");
        let code = if asking { ": OK" } else { "ASK " };
        assert!(shown.contains(code), "no {code}: {shown}");
    }
}
