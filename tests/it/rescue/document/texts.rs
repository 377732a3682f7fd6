//! What the documents quote of the server's log, of errors and of `INFO`.

use std::fs;

use tempfile::TempDir;
use wurk_testkit::{Binary, Options};

use super::{section, spans};
use crate::documents::is_like;
use crate::readme::blocks;
use crate::rescue::side::{self, Client};

const TROUBLESHOOTING: &str = include_str!("../../../../docs/troubleshooting.md");
const COMMANDS: &str = include_str!("../../../../docs/commands.md");

/// Each line about the setting that the server logs is explained, and no other.
pub fn of_the_log(binary: &Binary) {
    let (_, log) = TROUBLESHOOTING
        .split_once("\n## A line of the server's log\n")
        .expect("its section");
    let rows = log.lines().filter(|line| line.starts_with("| `"));
    let known: Vec<_> = rows.map(|row| spans(row)[0]).collect();

    let server = Options::new(binary).module().start();
    let mut con = server.connect();
    con.must("CONFIG SET wurk.rescue-users default");
    con.call(&["CONFIG", "SET", "wurk.rescue-users", ""]);
    let log = server.log();
    let logged = log
        .lines()
        .filter_map(|line| line.split_once("wurk.rescue-users: "));
    let logged: Vec<_> = logged
        .map(|(_, line)| format!("wurk.rescue-users: {line}"))
        .collect();
    let expected = if side::has_filter(binary) { 3 } else { 4 };
    assert_eq!(logged.len(), expected, "{logged:?}");
    for line in logged {
        let like = known.iter().filter(|known| is_like(&line, known));
        assert_eq!(like.count(), 1, "docs/troubleshooting.md: {line}");
    }

    // A server that does not start.
    let started = |options: Options| {
        let folder = TempDir::with_prefix("wurk-").expect("a folder");
        let setting = "wurk.rescue-users worker\n";
        fs::write(folder.path().join("main.conf"), setting).expect("a configuration");
        options.try_start(folder)
    };
    for options in [
        Options::new(binary).module_with(&["rescue-user", "worker"]),
        Options::new(binary).config("main.conf"),
    ] {
        let log = started(options).expect_err("it ends");
        let known = known.iter();
        let known = known.filter(|known| !known.starts_with("wurk … loaded"));
        let explained = log.lines().any(|line| {
            let mut known = known.clone();
            let from_wurk = line.find("wurk 0").map_or(line, |at| &line[at..]);
            known.any(|known| is_like(from_wurk, known) || line.ends_with(known))
        });
        assert!(explained, "docs/troubleshooting.md explains none of {log}");
    }
}

/// The errors of `WURK.RESCUE` in `docs/commands.md`, and that of the limit on this page.
pub fn of_errors(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    con.must("CONFIG SET wurk.rescue-limit 1");
    let mut worker = Client::worker(binary, &server);
    let (_, errors) = COMMANDS.split_once("\n## Errors\n").expect("its section");
    let rows = errors
        .lines()
        .filter(|line| line.starts_with("| `WURK.RESCUE` "));
    let rows: Vec<_> = rows
        .map(|row| *spans(row).last().expect("an error"))
        .collect();
    let refused = worker.say("SET k v").to_string();
    let replies = [
        refused.clone(),
        worker.con.say("WURK.RESCUE GET k").to_string(),
    ];
    assert_eq!(rows, replies);
    assert_eq!(con.say("WURK.RESCUE nosuch").to_string(), replies[1]);
    let [limit] = blocks(section("The limit"), "text")[..] else {
        panic!("one block")
    };
    assert_eq!(limit.trim(), refused);
    // As the limit is measured.
    assert_eq!(con.say("CONFIG SET wurk.rescue-limit 0").to_string(), "OK");
    assert_eq!(worker.say("SET k v").to_string(), "OK");
    assert!(con.info("wurk", "wurk_bytes_past_maxmemory_peak") > 0);
    let measured = spans(section("The limit"));
    for quoted in [
        "CONFIG SET wurk.rescue-limit 0",
        "wurk_bytes_past_maxmemory_peak",
    ] {
        assert!(measured.contains(&quoted), "{quoted}");
    }
}
