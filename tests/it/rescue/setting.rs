//! `wurk.rescue-users`: who is named, when a filter is registered, and what keeps
//! the setting.

use std::fs;

use tempfile::TempDir;
use wurk_testkit::{Binary, Options, Resp};

use super::side::{self, Client, WORKER, has_filter};
use crate::support::programs;
use crate::support::wait::wait_until;

fn named(con: &mut Resp) -> String {
    con.say("CONFIG GET wurk.rescue-users").items()[1].to_string()
}

fn name(con: &mut Resp, names: &str) {
    let reply = con.call(&["CONFIG", "SET", "wurk.rescue-users", names]);
    assert_eq!(reply.to_string(), "OK");
}

pub fn names_users(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let mut con = server.connect();
    assert_eq!(named(&mut con), r#""""#, "nobody at first");
    for (given, shown) in [
        ("worker", r#""worker""#),
        ("  one \t two  ", r#""one two""#),
        ("w\u{e9}rk", r#""w\xc3\xa9rk""#),
        ("", r#""""#),
    ] {
        name(&mut con, given);
        assert_eq!(named(&mut con), shown, "{given:?}");
    }
    name(&mut con, "default sidekiq");
    let log = server.log();
    for line in [
        "wurk.rescue-users: on a full server, commands are run for default sidekiq",
        "wurk.rescue-users: 'default' is every client that has not logged in",
        "wurk.rescue-users: nobody",
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }
    let warning = "wurk.rescue-users: before 7.2 only commands sent by WURK.RESCUE are run";
    assert_eq!(log.contains(warning), !has_filter(binary));
}

/// As arguments of the module, in any order, with quotes around the names or without.
pub fn is_an_argument_of_the_module(binary: &Binary) {
    for (arguments, names) in [
        ("rescue-users|a b|growth-limit|5|rescue-limit|7", "a b"),
        ("rescue-users|a|b|growth-limit|5|rescue-limit|7", "a b"),
        ("growth-limit|5|rescue-limit|7|rescue-users|a|b c", "a b c"),
        ("growth-limit|5|rescue-users|rescue-limit|7", ""),
    ] {
        let words: Vec<_> = arguments.split('|').collect();
        let server = Options::new(binary).module_with(&words).start();
        let mut con = server.connect();
        assert_eq!(named(&mut con), format!("{names:?}"), "{arguments}");
        for (setting, value) in [("growth-limit", "5"), ("rescue-limit", "7")] {
            let shown = con.say(&format!("CONFIG GET wurk.{setting}")).to_string();
            assert_eq!(shown, format!(r#"["wurk.{setting}", "{value}"]"#));
        }
    }
}

/// How many filters the module has, as `INFO modules` shows it.
fn filters(con: &mut Resp) -> String {
    let modules = con.must("INFO modules").to_string();
    let (_, wurk) = modules.split_once("name=wurk,").expect("the module");
    let (_, filters) = wurk.split_once("filters=").expect("its filters");
    filters.chars().take_while(char::is_ascii_digit).collect()
}

/// While nobody is named there is no filter, and nobody is rescued.
pub fn filters_only_while_a_user_is_named(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    let mut client = Client::worker(binary, &server);
    // The one that sees the first command is gone soon.
    name(&mut con, "");
    wait_until("there is no filter", || filters(&mut con) == "0");
    let mut rescued = |con: &mut Resp| {
        let before = con.info("wurk", "wurk_rescues");
        let refused = client.con.say("SET x y").error().is_some();
        let rescues = con.info("wurk", "wurk_rescues") - before;
        assert_eq!(rescues == 1, !refused, "rescued, or refused");
        !refused
    };
    // Known as somebody else's client, it is rescued from the moment it is named.
    name(&mut con, "other");
    assert!(!rescued(&mut con));
    for round in 0..3 {
        name(&mut con, WORKER);
        let filter = usize::from(has_filter(binary)).to_string();
        assert_eq!(filters(&mut con), filter, "round {round}");
        assert_eq!(rescued(&mut con), has_filter(binary), "round {round}");
        name(&mut con, "other");
        assert!(!rescued(&mut con), "round {round}");
        name(&mut con, "");
        assert_eq!(filters(&mut con), "0", "round {round}");
        assert!(!rescued(&mut con), "round {round}");
    }
    // A thousand times: nothing is kept.
    let settle = |con: &mut Resp, times: usize| {
        for _ in 0..times {
            name(con, "some users of a full server");
            name(con, "");
        }
        con.must("MEMORY PURGE");
        con.info("memory", "used_memory")
    };
    let before = settle(&mut con, 100);
    let after = settle(&mut con, 1_000);
    assert!(after - before < 20_000, "{before}, then {after}");
}

/// `CONFIG REWRITE`, which drops the quotes of a module's arguments, keeps it, and a
/// restart knows it again.
pub fn survives_a_rewrite(binary: &Binary) {
    let folder = TempDir::with_prefix("wurk-").expect("a folder");
    let module = wurk_testkit::binary::module();
    let line = format!(
        "loadmodule {} rescue-users \"three {WORKER}\"\n",
        module.display()
    );
    fs::write(folder.path().join("main.conf"), line).expect("a configuration");
    let options = Options::new(binary).config("main.conf");
    let server = options.try_start(folder).expect("a server");
    let mut con = server.connect();
    assert_eq!(named(&mut con), format!("\"three {WORKER}\""));
    name(&mut con, "one two");
    con.must("CONFIG SET wurk.rescue-limit 25");
    con.must("CONFIG REWRITE");
    let server = options.start_over(server.stop());
    let mut con = server.connect();
    assert_eq!(named(&mut con), r#""one two""#);
    let limit = con.say("CONFIG GET wurk.rescue-limit").items()[1].to_string();
    assert_eq!(limit, r#""25""#);
    // Nobody, too, although the arguments of the module name somebody.
    name(&mut con, "");
    con.must("CONFIG REWRITE");
    let server = options.start_over(server.stop());
    assert_eq!(named(&mut server.connect()), r#""""#);
}

/// Commands of another module: refused on a full server, rescued while it is there.
pub fn follows_modules(binary: &Binary) {
    let meddler = programs::meddler().display().to_string();
    let server = side::options(binary)
        .set("enable-module-command", &["yes"])
        .start();
    let mut con = server.connect();
    side::add_user(&mut con, WORKER, "~* +@all");
    con.must("CONFIG SET maxmemory 1");
    let mut client = Client::worker(binary, &server);
    let unknown = client.con.say("WURK.RESCUE MEDDLER.SET k v").to_string();
    assert!(unknown.starts_with("ERR WURK.RESCUE takes "), "{unknown}");
    con.must(&format!("MODULE LOAD {meddler}"));
    assert!(con.say("MEDDLER.SET k v").to_string().starts_with("OOM "));
    assert_eq!(client.say("MEDDLER.SET k v").to_string(), "OK");
    assert_eq!(con.say("GET k").to_string(), r#""v""#);
    con.must("MODULE UNLOAD meddler");
    let unknown = client.con.say("WURK.RESCUE MEDDLER.SET k v").to_string();
    assert!(unknown.starts_with("ERR WURK.RESCUE takes "), "{unknown}");
    let unknown = client.con.say("MEDDLER.SET k v").to_string();
    assert!(unknown.starts_with("ERR unknown command"), "{unknown}");
}
