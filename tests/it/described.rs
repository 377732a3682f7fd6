use std::collections::HashMap;

use tempfile::TempDir;
use wurk_testkit::{Binary, Options, Reply};

use crate::stream::wait_until;

/// Name, arity, flags, first key, last key, step, and the categories from 7.2 on.
type Row = (
    &'static str,
    i64,
    &'static [&'static str],
    [i64; 3],
    &'static [&'static str],
);

/// A key, and its rights as `COMMAND GETKEYSANDFLAGS` tells them.
type Key = (&'static str, &'static [&'static str]);

const COMMANDS: &[Row] = &[
    (
        "wurk.claim",
        -8,
        &["module", "write"],
        [1, -4, 1],
        &["@list", "@slow", "@write"],
    ),
    (
        "wurk.bclaim",
        -9,
        &["blocking", "module", "write"],
        [1, -5, 1],
        &["@blocking", "@list", "@slow", "@write"],
    ),
    (
        "wurk.requeue",
        4,
        &["module", "write"],
        [1, 2, 1],
        &["@list", "@slow", "@write"],
    ),
    (
        "wurk.lock",
        3,
        &["fast", "module", "write"],
        [1, 1, 1],
        &["@fast", "@string", "@write"],
    ),
    (
        "wurk.zadd",
        4,
        &["fast", "module", "write"],
        [1, 1, 1],
        &["@fast", "@sortedset", "@write"],
    ),
];

/// A call, and what it may do with each of its keys: the least that it needs.
const KEYS: &[(&str, &[Key])] = &[
    (
        "wurk.claim ps id q p r s i 1.5 60",
        &[
            ("ps", &["RW", "insert"]),
            ("id", &["RW", "update"]),
            ("q", &["RW", "access", "delete"]),
            ("p", &["RW", "access", "delete"]),
            ("r", &["RW", "access", "delete"]),
            ("s", &["RW", "access", "delete"]),
        ],
    ),
    (
        "wurk.bclaim ps id q p i 1.5 60 0",
        &[
            ("ps", &["RW", "insert"]),
            ("id", &["RW", "update"]),
            ("q", &["RW", "access", "delete"]),
            ("p", &["RW", "access", "delete"]),
        ],
    ),
    (
        "wurk.requeue p q j",
        &[("p", &["RW", "access", "delete"]), ("q", &["RW", "insert"])],
    ),
    ("wurk.lock l 60", &[("l", &["RW", "insert"])]),
    ("wurk.zadd z 1 m", &[("z", &["RW", "update"])]),
];

pub fn as_the_contract_says(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let mut con = server.connect();
    for (name, arity, flags, positions, categories) in COMMANDS {
        let info = con.say(&format!("COMMAND INFO {name}"));
        let info = info.items()[0].items();
        assert_eq!(info[0].to_string(), format!("\"{name}\""));
        assert_eq!(info[1].integer(), Some(*arity), "{name}");
        assert_eq!(
            sorted(&info[2]),
            *flags,
            "{name}: no denyoom, no movablekeys"
        );
        assert_eq!(
            [3, 4, 5].map(|i| info[i].integer()),
            positions.map(Some),
            "{name}"
        );
        if binary.version >= (7, 2, 0) {
            assert_eq!(sorted(&info[6]), *categories, "{name}");
        } else {
            assert!(
                sorted(&info[6]).is_empty(),
                "{name}: cannot be set before 7.2"
            );
        }

        let docs = con.say(&format!("COMMAND DOCS {name}"));
        let docs = map(&docs.items()[1]);
        for field in ["summary", "complexity"] {
            assert!(
                docs[field].bytes().is_some_and(|text| text.len() > 3),
                "{name}: {field}"
            );
        }
        assert_eq!(
            docs["since"].to_string(),
            format!("\"{}\"", env!("CARGO_PKG_VERSION"))
        );
        assert_eq!(
            arguments(&docs["arguments"]),
            expected_arguments(name),
            "{name}"
        );
    }
    for (line, keys) in KEYS {
        let reply = con.say(&format!("COMMAND GETKEYSANDFLAGS {line}"));
        let found: Vec<_> = reply
            .items()
            .iter()
            .map(|key| (text(&key.items()[0]), sorted(&key.items()[1])))
            .collect();
        let keys: Vec<_> = keys
            .iter()
            .map(|(key, flags)| {
                (
                    key.to_string(),
                    flags.iter().map(ToString::to_string).collect::<Vec<_>>(),
                )
            })
            .collect();
        assert_eq!(found, keys, "{line}");
    }
}

fn expected_arguments(name: &str) -> &'static str {
    match name {
        "wurk.claim" => {
            "processes:key identity:key lists:block*[public:key private:key] info:string beat:string ttl:integer"
        }
        "wurk.bclaim" => {
            "processes:key identity:key lists:block*[public:key private:key] info:string beat:string ttl:integer timeout:double"
        }
        "wurk.requeue" => "private:key public:key job:string",
        "wurk.lock" => "key:key ttl:integer",
        "wurk.zadd" => "key:key score:double member:string",
        _ => panic!("{name}"),
    }
}

/// Arguments in one line: `name:type`, with a star where they repeat.
fn arguments(reply: &Reply) -> String {
    let arguments = reply.items().iter().map(|argument| {
        let argument = map(argument);
        let star = if argument.contains_key("flags") {
            "*"
        } else {
            ""
        };
        let inner = argument
            .get("arguments")
            .map_or(String::new(), |inner| format!("[{}]", arguments(inner)));
        format!(
            "{}:{}{star}{inner}",
            text(&argument["name"]),
            text(&argument["type"])
        )
    });
    arguments.collect::<Vec<_>>().join(" ")
}

fn map(reply: &Reply) -> HashMap<String, Reply> {
    let (pairs, _) = reply.items().as_chunks::<2>();
    pairs
        .iter()
        .map(|[name, value]| (text(name), value.clone()))
        .collect()
}

fn sorted(reply: &Reply) -> Vec<String> {
    let mut texts: Vec<_> = reply.items().iter().map(text).collect();
    texts.sort();
    texts
}

fn text(reply: &Reply) -> String {
    String::from_utf8_lossy(reply.bytes().unwrap_or_default()).into_owned()
}

pub fn load_says_what_it_found(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let log = server.log();
    let lines: Vec<_> = log
        .lines()
        .filter(|line| line.contains("wurk 0") || line.contains("wurk 1"))
        .collect();
    let [line] = lines[..] else {
        panic!("not one line: {lines:?}")
    };
    let (kind, _) = binary.name.split_once('-').expect("a kind and a version");
    let (major, minor, patch) = binary.version;
    let expected = format!(
        "wurk {} loaded: {kind} {major}.{minor}.{patch}, maxmemory 0 noeviction",
        env!("CARGO_PKG_VERSION")
    );
    assert!(line.contains(&expected), "{line}");

    let modules = server.connect().say("MODULE LIST");
    let found = modules
        .items()
        .iter()
        .map(map)
        .find(|module| text(&module["name"]) == "wurk");
    let version = found.expect("it is listed")["ver"]
        .integer()
        .expect("a number");
    let parts = [version / 10_000, version / 100 % 100, version % 100].map(|part| part.to_string());
    assert_eq!(parts.join("."), env!("CARGO_PKG_VERSION"));
}

/// What the module sends on must not have another name here.
pub fn a_renamed_command_is_missed(binary: &Binary) {
    for name in ["LMOVE", "PEXPIREAT", "SADD", "LREM"] {
        let folder = TempDir::new().expect("a folder");
        let options = Options::new(binary)
            .module()
            .set("rename-command", &[name, "other"]);
        let log = options
            .try_start(folder)
            .expect_err("a command that is missing");
        let expected = format!("not loaded: required command {name} is unavailable");
        assert!(log.contains(&expected), "{log}");
    }
}

/// An option that is not the module's, found after it has been loaded.
pub fn a_strange_option_does_no_harm(binary: &Binary) {
    let server = Options::new(binary)
        .set("enable-module-command", &["yes"])
        .start();
    let mut con = server.connect();
    let module = wurk_testkit::binary::module().display().to_string();
    let reply = con.say(&format!("MODULE LOADEX {module} CONFIG wurk.nosuch 5"));
    assert!(reply.error().is_some(), "{reply}");
    con.must("PING");
    let modules = con.say("MODULE LIST").to_string();
    assert!(!modules.contains("wurk"), "{modules}");
    con.must(&format!(
        "MODULE LOADEX {module} CONFIG wurk.growth-limit 5"
    ));
    con.must("WURK.LOCK l 1000");
}

pub fn unload_is_refused(binary: &Binary) {
    let server = Options::new(binary)
        .set("enable-module-command", &["yes"])
        .start();
    let mut con = server.connect();
    // From the very first command on.
    let module = wurk_testkit::binary::module().display().to_string();
    let load_and_unload = [["MODULE", "LOAD", &module], ["MODULE", "UNLOAD", "wurk"]]
        .map(|words| redis::pack_command(&words.map(Vec::from)));
    con.send_raw(&load_and_unload.concat()).expect("a server");
    assert_eq!(con.read().expect("a reply").to_string(), "OK");
    assert!(con.read().expect("a reply").error().is_some());
    // Later too. It is in the server's rounds that this clock is set.
    let clock = con.info("server", "lru_clock");
    wait_until("a round", || con.info("server", "lru_clock") != clock);
    assert!(con.say("MODULE UNLOAD wurk").error().is_some());
    assert_eq!(con.say("WURK.LOCK l 1000").to_string(), "OK");
    assert!(
        server
            .log()
            .contains("wurk cannot be unloaded while the server runs")
    );
}

pub fn an_older_server_is_refused(binary: &Binary) {
    let folder = TempDir::new().expect("a folder");
    let log = Options::new(binary)
        .module()
        .try_start(folder)
        .expect_err("too old for the module");
    let lines: Vec<_> = log
        .lines()
        .filter(|line| line.contains("not loaded:"))
        .collect();
    let [line] = lines[..] else {
        panic!("not one line: {log}")
    };
    assert!(
        line.contains("it needs Redis 7.0 or later, Valkey or Redict; this server lacks "),
        "{line}"
    );
}
