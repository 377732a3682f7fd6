//! What the server knows of the commands: `COMMAND INFO`, `DOCS`, `GETKEYS`.

use wurk_testkit::{Binary, Options, Reply};

use crate::support::inspect::{map, text};

/// Name, arity, flags, first key, last key, step, and the categories from 7.2 on.
type Row = (
    &'static str,
    i64,
    &'static [&'static str],
    [i64; 3],
    &'static [&'static str],
);

/// A key, and its flags in the reply to `COMMAND GETKEYSANDFLAGS`.
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
    (
        "wurk.promote",
        -4,
        &["module", "write"],
        [1, 2, 1],
        &["@list", "@slow", "@sortedset", "@write"],
    ),
    (
        "wurk.beat",
        6,
        &["fast", "module", "write"],
        [1, 2, 1],
        &["@fast", "@hash", "@write"],
    ),
    (
        "wurk.rescue",
        -2,
        &[
            "module",
            "movablekeys",
            "no_mandatory_keys",
            "noscript",
            "stale",
        ],
        [0, 0, 0],
        &["@slow", "@write"],
    ),
];

/// A call, and the least permissions that it needs for each of its keys.
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
    (
        "wurk.promote z q j",
        &[("z", &["RW", "access", "delete"]), ("q", &["RW", "insert"])],
    ),
    (
        "wurk.beat ps id i 1.5 60",
        &[("ps", &["RW", "insert"]), ("id", &["RW", "update"])],
    ),
];

pub fn is_as_the_contract_says(binary: &Binary) {
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
        "wurk.promote" => "scheduled:key public:key job:string payload:string?",
        "wurk.beat" => "processes:key identity:key info:string beat:string ttl:integer",
        "wurk.rescue" => "command:string arg:string?*",
        _ => panic!("{name}"),
    }
}

/// The arguments in one line: `name:type`, with a star if they repeat, and a question
/// mark if they may be left out.
fn arguments(reply: &Reply) -> String {
    let arguments = reply.items().iter().map(|argument| {
        let argument = map(argument);
        let flags = argument.get("flags").map(sorted).unwrap_or_default();
        let has = |flag: &str| flags.iter().any(|known| known == flag);
        let optional = if has("optional") { "?" } else { "" };
        let star = if has("multiple") { "*" } else { "" };
        let inner = argument
            .get("arguments")
            .map_or(String::new(), |inner| format!("[{}]", arguments(inner)));
        format!(
            "{}:{}{optional}{star}{inner}",
            text(&argument["name"]),
            text(&argument["type"])
        )
    });
    arguments.collect::<Vec<_>>().join(" ")
}

fn sorted(reply: &Reply) -> Vec<String> {
    let mut texts: Vec<_> = reply.items().iter().map(text).collect();
    texts.sort();
    texts
}

/// `COMMAND GETKEYS`, which cluster clients use for other commands.
pub fn getkeys_finds_every_key(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let mut con = server.connect();
    for (call, keys) in [
        ("WURK.CLAIM ps id q p i 1 60", "ps id q p"),
        ("WURK.CLAIM ps id q p r s i 1 60", "ps id q p r s"),
        ("WURK.BCLAIM ps id q p r s i 1 60 0", "ps id q p r s"),
        ("WURK.REQUEUE p q j", "p q"),
        ("WURK.LOCK l 60", "l"),
        ("WURK.ZADD z 1 m", "z"),
        ("WURK.PROMOTE z q j", "z q"),
        ("WURK.PROMOTE z q j payload", "z q"),
        ("WURK.BEAT ps id i 1 60", "ps id"),
    ] {
        let found = con.must(&format!("COMMAND GETKEYS {call}"));
        let found: Vec<_> = found
            .items()
            .iter()
            .map(|key| String::from_utf8_lossy(key.bytes().expect("a key")).into_owned())
            .collect();
        assert_eq!(found.join(" "), keys, "{call}");
    }
}
