//! Loading: what the log says, when it is refused, and that unloading is refused.

use tempfile::TempDir;
use wurk_testkit::{Binary, Options};

use crate::support::inspect::{map, text};
use crate::support::wait::wait_until;

pub fn logs_what_it_found(binary: &Binary) {
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

/// The commands that the module replicates must not be renamed.
pub fn refuses_without_a_required_command(binary: &Binary) {
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

/// MODULE LOADEX finds an unknown option only after it has loaded the module.
pub fn survives_an_unknown_option(binary: &Binary) {
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

pub fn cannot_be_undone(binary: &Binary) {
    let server = Options::new(binary)
        .set("enable-module-command", &["yes"])
        .start();
    let mut con = server.connect();
    // Right after it was loaded.
    let module = wurk_testkit::binary::module().display().to_string();
    let load_and_unload = [["MODULE", "LOAD", &module], ["MODULE", "UNLOAD", "wurk"]]
        .map(|words| redis::pack_command(&words.map(Vec::from)));
    con.send_raw(&load_and_unload.concat()).expect("a server");
    assert_eq!(con.read().expect("a reply").to_string(), "OK");
    assert!(con.read().expect("a reply").error().is_some());
    // Later too. The server's cron sets this clock.
    let clock = con.info("server", "lru_clock");
    wait_until("the cron runs", || con.info("server", "lru_clock") != clock);
    assert!(con.say("MODULE UNLOAD wurk").error().is_some());
    assert_eq!(con.say("WURK.LOCK l 1000").to_string(), "OK");
    assert!(
        server
            .log()
            .contains("wurk cannot be unloaded while the server runs")
    );
}

pub fn refuses_older_servers(binary: &Binary) {
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
