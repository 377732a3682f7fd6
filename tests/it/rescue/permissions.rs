//! Permissions: a rescued user can do what it could do on a server that is not
//! full, and nothing else; nobody else gains anything.

use wurk_testkit::{Binary, Options, Reply, Resp, Server};

use super::side::{self, Client, WORKER, add_user, has_filter, rescues_scripts};
use crate::support::inspect::digest;
use crate::support::wait::wait_until;

/// Permissions of a worker, and commands, each allowed by some of them and denied
/// by others.
const PERMISSIONS: [&str; 8] = [
    "~* +@all",
    "~q* +@all",
    "~* -@all +wurk.rescue +lmove +set +eval +evalsha +fcall",
    "~* +@all -set -lmove -eval",
    "%R~q %W~p +@all",
    "-@all (~q* +@all) (~p* +@list +wurk.rescue)",
    "~* +@all -xgroup|create -function|load",
    "resetkeys +@all",
];

const COMMANDS: [&[&str]; 14] = [
    &["SET", "q", "v"],
    &["SET", "other", "v"],
    &["LMOVE", "ql", "pl", "RIGHT", "LEFT"],
    &["LMOVE", "q", "p", "RIGHT", "LEFT"],
    &["LMOVE", "pl", "other", "RIGHT", "LEFT"],
    &["BLMOVE", "ql", "pl", "RIGHT", "LEFT", "0.001"],
    &["BRPOPLPUSH", "ql", "ql", "0.001"],
    &["MSET", "q", "1", "other", "2"],
    &["XGROUP", "CREATE", "qx", "g", "0", "MKSTREAM"],
    &["EVAL", "return redis.call('SET', KEYS[1], 'v')", "1", "q"],
    &["EVAL", "return redis.call('SET', 'other', 'v')", "0"],
    &[
        "EVAL",
        "return redis.pcall('XADD', KEYS[1], '1-1', 'a', 'b')",
        "1",
        "qs",
    ],
    &["SUNIONSTORE", "qt", "q1", "other"],
    &["COPY", "ql", "qc", "REPLACE"],
];

fn prepare(con: &mut Resp, permissions: &str) {
    con.must("FLUSHALL");
    for list in ["ql", "pl", "q", "p"] {
        con.must(&format!("RPUSH {list} a b"));
    }
    add_user(con, WORKER, permissions);
}

/// Beside the same user on a server that is never full: replies, errors, data. What
/// is denied there is denied here; the text may name `wurk.rescue` instead.
pub fn are_those_of_the_user(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    let plain = Options::new(binary).module().start();
    let mut plain_con = plain.connect();
    for permissions in PERMISSIONS {
        for command in COMMANDS {
            if command[0] == "EVAL" && !rescues_scripts(binary) {
                continue;
            }
            let shown = [(&server, &mut con, true), (&plain, &mut plain_con, false)].map(
                |(server, con, rescued)| {
                    con.must("CONFIG SET maxmemory 0");
                    prepare(con, permissions);
                    let mut client = Client::login(binary, server.connect(), WORKER);
                    let reply = if rescued {
                        con.must("CONFIG SET maxmemory 1");
                        client.call(command)
                    } else {
                        client.con.call(command)
                    };
                    (code(&reply), digest(con))
                },
            );
            assert_eq!(shown[0], shown[1], "{command:?} with {permissions}");
        }
    }
}

/// A reply, or the code of a refusal.
fn code(reply: &Reply) -> String {
    match reply.error() {
        Some(error) if error.starts_with("NOPERM ") => "NOPERM".to_owned(),
        // Of a script: what it may not call, or which key.
        Some(error) if error.contains("ACL failure in script") => "denied in a script".to_owned(),
        _ => format!("{reply:?}"),
    }
}

/// Whatever it sends: the server's own OOM, and nothing is written.
pub fn a_user_who_is_not_named_gains_nothing(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    con.must("CONFIG SET maxmemory 0");
    con.must("RPUSH q a b");
    con.must("CONFIG SET maxmemory 1");
    let mut producer = server.connect();
    producer.must("AUTH producer secret");
    let before = digest(&mut con);
    for command in [
        &["SET", "x", "y"][..],
        &["LMOVE", "q", "p", "RIGHT", "LEFT"],
        &["BLMOVE", "q", "p", "RIGHT", "LEFT", "1"],
        &["BLMOVE", "nothing", "p", "RIGHT", "LEFT", "1"],
        &["EVAL", "return redis.call('SET', 'x', 'y')", "0"],
        &["XGROUP", "CREATE", "x", "g", "0", "MKSTREAM"],
    ] {
        let plain = producer.call(command);
        assert!(
            plain.to_string().starts_with("OOM command not allowed"),
            "{command:?}: {plain}"
        );
        let rescue: Vec<&str> = ["WURK.RESCUE"].iter().chain(command).copied().collect();
        let reply = producer.call(&rescue);
        assert_eq!(reply, plain, "{command:?}");
    }
    // What no full server refuses, and what ends in itself.
    let deep = ["WURK.RESCUE"].repeat(100_000);
    for rescue in [
        &["WURK.RESCUE", "GET", "x"][..],
        &["WURK.RESCUE", "DEL", "q"],
        &["WURK.RESCUE", "FLUSHALL"],
        &["WURK.RESCUE", "nosuch"],
        &["WURK.RESCUE", "WURK.RESCUE", "SET", "x", "y"],
        &["WURK.RESCUE", "CONFIG", "SET", "maxmemory", "0"],
        &["WURK.RESCUE", "XGROUP", "DESTROY", "x", "g"],
        &["WURK.RESCUE", ""],
        &["WURK.RESCUE", "set\0"],
        &deep,
    ] {
        for user in ["producer", WORKER] {
            producer.must(&format!("AUTH {user} secret"));
            let reply = producer.call(rescue).to_string();
            assert!(reply.starts_with("ERR WURK.RESCUE takes "), "{reply}");
        }
    }
    let reply = producer.say("WURK.RESCUE").to_string();
    assert_eq!(
        reply,
        "ERR wrong number of arguments for 'wurk.rescue' command"
    );
    // Keys are asked for without a word of it being run.
    for line in [
        "COMMAND GETKEYS WURK.RESCUE",
        "COMMAND GETKEYS WURK.RESCUE nosuch",
        "COMMAND GETKEYS WURK.RESCUE SET",
        "COMMAND GETKEYS WURK.RESCUE EVAL x 5 a",
        "COMMAND GETKEYS WURK.RESCUE WURK.RESCUE SET x y",
    ] {
        let reply = con.say(line);
        assert!(
            reply.error().is_some() || reply.items().is_empty(),
            "{line}: {reply}"
        );
    }
    con.call(&[&["COMMAND", "GETKEYS"][..], &deep].concat());
    assert_eq!(digest(&mut con), before, "nothing is written");
}

/// Who a client is, is asked at each command.
pub fn a_client_that_changes_its_user(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    con.must("ACL SETUSER default on nopass ~* +@all");
    let mut con_of_nobody = server.connect();
    let reply = con_of_nobody.say("SET x y").to_string();
    assert!(reply.starts_with("OOM "), "{reply}");
    let mut client = Client::login(binary, con_of_nobody, WORKER);
    let rescued = |client: &mut Client| client.say("SET x y").error().is_none();
    assert!(rescued(&mut client), "after AUTH");
    client.con.must("AUTH producer secret");
    assert!(!rescued(&mut client), "after AUTH");
    client.con.must("HELLO 3 AUTH worker secret");
    assert!(rescued(&mut client), "after HELLO");
    client.con.must("RESET");
    assert!(!rescued(&mut client), "after RESET");
    client.con.must("AUTH worker secret");
    assert!(rescued(&mut client));
    // In a transaction it changes when that is run, not when it is queued.
    client.con.must("AUTH producer secret");
    nearly_full(&mut con);
    for line in ["MULTI", "AUTH worker secret", "SET x y", "EXEC"] {
        client.con.must(line);
    }
    con.must("CONFIG SET maxmemory 1");
    assert!(rescued(&mut client), "after EXEC");
    // The permissions of the moment.
    for _ in 0..2 {
        con.must("ACL SETUSER worker -wurk.rescue");
        let reply = client.say("SET x y").to_string();
        let refusal = if has_filter(binary) {
            "OOM "
        } else {
            "NOPERM "
        };
        assert!(reply.starts_with(refusal), "{reply}");
        con.must("ACL SETUSER worker +wurk.rescue");
        assert!(rescued(&mut client));
    }
    con.must("ACL SETUSER worker -set");
    assert!(client.say("SET x y").to_string().starts_with("NOPERM "));
    con.must("ACL SETUSER worker +set");
    assert!(rescued(&mut client));
    // Deleted: its clients are disconnected; a new one of that name is another.
    con.must("ACL DELUSER worker");
    assert!(client.con.try_call(&["PING"]).is_err());
    add_user(&mut con, WORKER, "~* +@all");
    assert!(rescued(&mut Client::worker(binary, &server)));
}

/// Where `AUTH` has another name, a client has its user's rights a moment later.
pub fn a_client_that_logs_in_by_another_name(binary: &Binary) {
    let server = side::options(binary)
        .set("rename-command", &["AUTH", "LOGIN"])
        .start();
    let mut con = server.connect();
    add_user(&mut con, WORKER, "~* +@all");
    con.must("CONFIG SET maxmemory 1");
    let mut client = server.connect();
    let reply = client.say("SET x y").to_string();
    assert!(reply.starts_with("OOM "), "{reply}");
    client.must("LOGIN worker secret");
    wait_until("its commands are rescued", || {
        client.say("SET x y").error().is_none() == has_filter(binary)
    });
}

/// A named user without `+wurk.rescue`: refused as ever on a full server, and not
/// denied anything on one that is not.
pub fn a_named_user_without_the_permission(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    add_user(&mut con, WORKER, "~* +@all -wurk.rescue");
    con.must("CONFIG SET maxmemory 0");
    con.must("RPUSH q a b c");
    let mut client = server.connect();
    client.must("AUTH worker secret");
    for line in ["SET x y", "BLMOVE q p RIGHT LEFT 1", "EVAL return(1) 0"] {
        con.must("CONFIG SET maxmemory 0");
        client.must(line);
        nearly_full(&mut con);
        let reply = client.say(line).to_string();
        assert!(!reply.starts_with("NOPERM "), "{line}: {reply}");
        con.must("CONFIG SET maxmemory 1");
        let reply = client.say(line).to_string();
        assert!(!reply.starts_with("NOPERM "), "{line}: {reply}");
    }
    assert!(client.say("SET x y").to_string().starts_with("OOM "));
    assert!(
        client
            .say("WURK.RESCUE SET x y")
            .to_string()
            .starts_with("NOPERM ")
    );
}

/// Sets maxmemory so that memory is left, but less than one percent.
fn nearly_full(con: &mut Resp) {
    con.must("CONFIG SET maxmemory 0");
    con.call(&["SET", "filler", &"f".repeat(8_000_000)]);
    let used = con.info("memory", "used_memory");
    con.must(&format!("CONFIG SET maxmemory {}", used * 1_005 / 1_000));
}

/// Inside a script each command is checked for the user, and a script that is not
/// rescued cannot call `WURK.RESCUE`.
pub fn scripts_gain_none(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    add_user(&mut con, WORKER, "~* +@all -incr -rpush");
    let mut client = Client::worker(binary, &server);
    let before = digest(&mut con);
    for script in [
        "return redis.call('INCR', 'x')",
        "return redis.call('RPUSH', 'x', 'a')",
        "#!lua flags=allow-oom\nreturn redis.call('INCR', 'x')",
        "return redis.call('WURK.RESCUE', 'SET', 'x', 'y')",
        "return redis.call('WURK.RESCUE', 'EVAL', 'return 1', 0)",
    ] {
        let reply = client.call(&["EVAL", script, "0"]);
        assert!(reply.error().is_some(), "{script}: {reply}");
    }
    assert_eq!(digest(&mut con), before, "nothing is written");
    let reply = client.call(&["EVAL", "return redis.call('SET', 'x', 'y')", "0"]);
    if rescues_scripts(binary) {
        assert_eq!(reply.to_string(), "OK");
    } else {
        assert!(reply.to_string().starts_with("OOM "), "{reply}");
        assert_eq!(client.say("SET x y").to_string(), "OK");
    }
    // A script of somebody else runs beside it as ever.
    let mut producer = server.connect();
    producer.must("AUTH producer secret");
    let reply = producer.call(&[
        "EVAL",
        "return redis.call('WURK.RESCUE', 'SET', 'x', 'z')",
        "0",
    ]);
    assert!(reply.error().is_some(), "{reply}");
    assert_eq!(con.say("GET x").to_string(), r#""y""#);
}

/// What the server tells of the keys of a call.
pub fn keys_are_those_of_the_command(binary: &Binary) {
    let server: Server = side::options(binary).start();
    let mut con = server.connect();
    for command in [
        "SET k v",
        "LMOVE q p RIGHT LEFT",
        "MSET a 1 b 2",
        "EVAL x 2 a b c",
        "EVALSHA x 1 a c",
        "FCALL f 1 a",
        "ZUNIONSTORE d 2 a b",
        "SORT l STORE d",
        "XGROUP CREATE x g 0",
        "BLMOVE q p RIGHT LEFT 0",
        "COPY a b",
        "BITOP AND d a b",
        "SUNIONSTORE d a b",
    ] {
        for ask in ["GETKEYS", "GETKEYSANDFLAGS"] {
            // In whatever order.
            let [theirs, ours] = ["", "WURK.RESCUE "].map(|rescue| {
                let keys = con.say(&format!("COMMAND {ask} {rescue}{command}"));
                let mut keys: Vec<_> = keys.items().iter().map(Reply::to_string).collect();
                keys.sort();
                keys
            });
            assert!(!theirs.is_empty(), "{ask} {command}");
            assert_eq!(ours, theirs, "{ask} {command}");
        }
    }
}
