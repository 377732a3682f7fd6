//! States of a server in which a rescued command is answered as the command alone.

use std::fs;
use std::thread;
use std::time::Duration;

use wurk_testkit::{Binary, Options, Resp};

use super::side::{self, Client, WORKER, add_user, rescues_scripts};
use crate::support::inspect::digest;
use crate::support::wait::{in_step, wait_until};

/// One of each kind: a command, a wait, a script that writes and one that reads,
/// and what scripts may not call.
const COMMANDS: [&[&str]; 6] = [
    &["SET", "x", "y"],
    &["BLMOVE", "q", "p", "RIGHT", "LEFT", "1"],
    &["EVAL", "return redis.call('SET', KEYS[1], 'y')", "1", "x"],
    &["EVAL", "return redis.call('GET', KEYS[1])", "1", "x"],
    &[
        "EVAL",
        "#!lua flags=no-writes\nreturn redis.call('GET', KEYS[1])",
        "1",
        "x",
    ],
    &[
        "FUNCTION",
        "LOAD",
        "#!lua name=states\nredis.register_function('f', function() return 1 end)",
    ],
];

/// By a rescued worker of a full server, and by a plain client of the same server
/// while it is not full: the same replies, and nothing written.
fn as_the_commands_alone(
    binary: &Binary,
    server: &wurk_testkit::Server,
    con: &mut Resp,
    code: &str,
) {
    let before = digest(con);
    for command in COMMANDS {
        if command[0] == "EVAL" && !rescues_scripts(binary) {
            continue;
        }
        con.must("CONFIG SET maxmemory 0");
        let theirs = Client::worker(binary, server).con.call(command);
        con.must("CONFIG SET maxmemory 1");
        let ours = Client::worker(binary, server).call(command);
        assert_eq!(
            format!("{ours:?}"),
            format!("{theirs:?}"),
            "{code}: {command:?}"
        );
    }
    let set = Client::worker(binary, server).call(COMMANDS[0]).to_string();
    assert!(set.starts_with(code), "{set} where {code} is due");
    assert_eq!(digest(con), before, "{code}: nothing is written");
}

pub fn a_server_that_may_not_write(binary: &Binary) {
    let primary = side::options(binary).primary().start();
    let mut con = primary.connect();
    add_user(&mut con, WORKER, "~* &* +@all");
    con.must("RPUSH q a b");
    con.must("CONFIG SET min-replicas-to-write 1");
    as_the_commands_alone(binary, &primary, &mut con, "NOREPLICAS ");
    con.must("CONFIG SET min-replicas-to-write 0");

    let replica = side::options(binary)
        .primary()
        .replica_of(primary.port)
        .start();
    let mut there = replica.connect();
    in_step(&mut there);
    add_user(&mut there, WORKER, "~* &* +@all");
    as_the_commands_alone(binary, &replica, &mut there, "READONLY ");
    // One that has lost its primary, and does not serve old data.
    there.must("CONFIG SET replica-serve-stale-data no");
    con.must("CONFIG SET maxmemory 0");
    drop(primary.stop());
    wait_until("it has noticed", || {
        there
            .say("INFO replication")
            .to_string()
            .contains("master_link_status:down")
    });
    for command in COMMANDS {
        let theirs = Client::worker(binary, &replica).con.call(command);
        let ours = Client::worker(binary, &replica)
            .con
            .call(&[&["WURK.RESCUE"], command].concat());
        let [ours, theirs] = [ours, theirs].map(|reply| format!("{reply:?}"));
        // 7.0 has another text for a script that is called from a module.
        if rescues_scripts(binary) {
            assert_eq!(ours, theirs, "MASTERDOWN: {command:?}");
        }
        let code = |reply: &str| reply.split(' ').next().map(str::to_owned);
        assert_eq!(code(&ours), code(&theirs), "{command:?}");
    }

    let server = side::options(binary).start();
    let mut con = server.connect();
    add_user(&mut con, WORKER, "~* &* +@all");
    con.must("RPUSH q a b");
    con.call(&["CONFIG", "SET", "save", "3600 1"]);
    fs::create_dir_all(server.folder().join("dump.rdb/x")).expect("a folder");
    wait_until("the save has failed", || {
        con.say("BGSAVE");
        con.say("INFO persistence")
            .to_string()
            .contains("rdb_last_bgsave_status:err")
    });
    as_the_commands_alone(binary, &server, &mut con, "MISCONF ");
}

/// A pause for writes holds what writes.
pub fn client_pause(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    let mut client = Client::worker(binary, &server);
    con.must("CLIENT PAUSE 60000 WRITE");
    let set = client.command(&["SET", "x", "y"]);
    client.con.send(&set).expect("a server");
    thread::sleep(Duration::from_millis(50));
    assert_eq!(con.say("EXISTS x").integer(), Some(0), "it is held");
    con.must("CLIENT UNPAUSE");
    assert_eq!(client.con.read().expect("a reply").to_string(), "OK");
}

/// A rescued script that does not end can be killed, until it has written.
pub fn script_kill(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    con.must("CONFIG SET busy-reply-threshold 10");
    let mut client = Client::worker(binary, &server);
    let script = client.command(&["EVAL", "while true do end", "0"]);
    client.con.send(&script).expect("a server");
    wait_until("it is busy", || {
        con.say("PING").to_string().starts_with("BUSY ")
    });
    assert_eq!(con.say("SCRIPT KILL").to_string(), "OK");
    let reply = client.con.read().expect("a reply").to_string();
    assert!(reply.contains("killed by user"), "{reply}");
    assert_eq!(con.say("PING").to_string(), "PONG");
    assert_eq!(client.say("SET x y").to_string(), "OK");
}

/// A client that caches is told of what a rescued user writes.
pub fn client_tracking(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    let mut reader = server.connect3();
    reader.must("CLIENT TRACKING ON");
    let commands = [
        &["SET", "x", "y"][..],
        &["EVAL", "return redis.call('SET', KEYS[1], 'z')", "1", "x"],
    ];
    for command in commands
        .iter()
        .take(if rescues_scripts(binary) { 2 } else { 1 })
    {
        reader.must("GET x");
        let mut client = Client::worker(binary, &server);
        assert_eq!(client.call(command).to_string(), "OK");
        let push = reader.read().expect("an invalidation").to_string();
        assert!(
            push.contains("invalidate") && push.contains(r#""x""#),
            "{push}"
        );
    }
    con.must("PING");
}

/// What a client that caches is told of its own writes, and of what a script of its
/// own has read.
pub fn client_tracking_of_ones_own(binary: &Binary) {
    // Not `BCAST NOLOOP`, with which a rescued client is told of its own writes too:
    // the server takes them for those of the module.
    for mode in ["ON", "ON NOLOOP", "ON BCAST", "ON OPTOUT"] {
        let (server, mut con) = side::full(binary);
        let shown = [true, false].map(|full| {
            con.must("CONFIG SET maxmemory 0");
            con.must("FLUSHALL");
            con.must("SET x 0");
            con.must(&format!("CONFIG SET maxmemory {}", usize::from(full)));
            let mut client = Client::login(binary, server.connect3(), WORKER);
            client.con.must(&format!("CLIENT TRACKING {mode}"));
            client.con.must("GET x");
            let set = ["SET", "x", "1"];
            let set = if full {
                client.command(&set)
            } else {
                set.map(Vec::from).to_vec()
            };
            client.con.send(&set).expect("a server");
            // Broadcasts come at the end of the server's round.
            thread::sleep(Duration::from_millis(5));
            client.con.send(&["PING"]).expect("a server");
            let mut replies = Vec::new();
            loop {
                let reply = client.con.read().expect("a reply").to_string();
                if reply == "PONG" {
                    return replies;
                }
                replies.push(reply);
            }
        });
        assert_eq!(shown[0], shown[1], "{mode}: rescued, and plain");
    }
}

/// Commands that other threads read and parse.
pub fn io_threads(binary: &Binary) {
    let server = side::options(binary).set("io-threads", &["4"]).start();
    let mut con = server.connect();
    add_user(&mut con, WORKER, "~* &* +@all");
    con.must("CONFIG SET maxmemory 1");
    let clients: Vec<_> = (0..8)
        .map(|number| {
            let mut client = Client::worker(binary, &server);
            thread::spawn(move || {
                for round in 0..500 {
                    let key = format!("k{number}");
                    for command in [
                        &["RPUSH", &key, "job"][..],
                        &["EVAL", "return redis.call('LLEN', KEYS[1])", "1", &key],
                        &["WURK.RESCUE"],
                        &["WURK.RESCUE", "SET"],
                    ] {
                        let reply = client.call(command);
                        let fine = command[0] == "WURK.RESCUE" || reply.error().is_none();
                        assert!(fine, "round {round}: {command:?}: {reply}");
                    }
                }
            })
        })
        .collect();
    for client in clients {
        client.join().expect("a client");
    }
    for number in 0..8 {
        assert_eq!(con.say(&format!("LLEN k{number}")).integer(), Some(500));
    }
}

/// A server that evicts does so before a rescued command as before any other.
pub fn eviction(binary: &Binary) {
    let server = Options::new(binary)
        .module_with(&["rescue-users", WORKER])
        .set("maxmemory-policy", &["allkeys-random"])
        .start();
    let mut con = server.connect();
    add_user(&mut con, WORKER, "~* &* +@all");
    let used = con.info("memory", "used_memory");
    let maxmemory = used + (2 << 20);
    con.must(&format!("CONFIG SET maxmemory {maxmemory}"));
    let mut client = Client::worker(binary, &server);
    let value = "v".repeat(4_000);
    for number in 0..2_000 {
        let reply = client.call(&["SET", &format!("k{number}"), &value]);
        assert_eq!(reply.to_string(), "OK");
    }
    assert!(con.info("stats", "evicted_keys") > 500);
    let used = con.info("memory", "used_memory");
    assert!(used < maxmemory * 110 / 100, "{used} of {maxmemory}");
}

/// `maxmemory` comes and goes.
pub fn maxmemory_at_run_time(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    let mut worker = Client::worker(binary, &server);
    let mut producer = server.connect();
    producer.must("AUTH producer secret");
    for _ in 0..3 {
        con.must("CONFIG SET maxmemory 1");
        assert_eq!(worker.say("SET x y").to_string(), "OK");
        assert!(producer.say("SET x y").to_string().starts_with("OOM "));
        con.must("CONFIG SET maxmemory 0");
        assert_eq!(worker.say("SET x y").to_string(), "OK");
        assert_eq!(producer.say("SET x y").to_string(), "OK");
    }
}
