//! The steps of the page, one after the other, on a full server.

use tempfile::TempDir;
use wurk_testkit::{Binary, Options, Resp, Server};

use super::{section, spans};
use crate::rescue::side::{self, Client, WORKER, has_filter};

/// The commands of each step, and a step in which the worker works.
fn steps() -> Vec<Vec<&'static str>> {
    let section = section("The server is full now");
    let steps = section.split("\n1. ").nth(1).expect("a first step");
    let steps = steps.split("\n\n").next().expect("the steps");
    let commands = ["ACL ", "CONFIG ", "INFO "];
    let numbered = (2..).map(|number| format!("\n{number}. "));
    let mut rest = steps;
    let mut found = Vec::new();
    for number in numbered {
        let (step, more) = rest.split_once(&number).unwrap_or((rest, ""));
        let spans = spans(step).into_iter();
        let is_command = |span: &&str| commands.iter().any(|name| span.starts_with(name));
        found.push(spans.filter(is_command).collect());
        if more.is_empty() {
            return found;
        }
        rest = more;
    }
    found
}

/// Sends a command as `redis-cli` does.
fn send(con: &mut Resp, command: &str) -> String {
    let words = command.split(' ');
    let words: Vec<_> = words.map(|word| word.trim_matches('"')).collect();
    con.call(&words).to_string()
}

/// A server that is full of jobs, from this configuration file.
fn full(options: &Options, config: &str) -> (Server, Resp) {
    let folder = TempDir::with_prefix("wurk-").expect("a folder");
    std::fs::write(folder.path().join("main.conf"), config).expect("a configuration");
    let server = options.try_start(folder).expect("a server");
    let mut con = server.connect();
    for number in 0..200 {
        con.must(&format!("LPUSH queue:mail {number}-{}", "x".repeat(5_000)));
    }
    let used = con.info("memory", "used_memory");
    con.must(&format!("CONFIG SET maxmemory {}", used * 98 / 100));
    con.must("ACL SETUSER producer on >secret ~* +@all");
    (server, con)
}

pub fn drain_a_full_server(binary: &Binary) {
    let steps = steps();
    let [first, user, name, connect, watch, keep] = &steps[..] else {
        panic!("{steps:?}")
    };
    assert_eq!((first.len(), user.len(), name.len()), (1, 1, 1));
    assert!(connect.is_empty());
    // 1, where the module is not loaded.
    let options = Options::new(binary).config("main.conf");
    let (_stock, mut stock) = full(&options, "");
    assert_eq!(send(&mut stock, first[0]), "[]");
    assert!(send(&mut stock, name[0]).starts_with("ERR "));

    let module = wurk_testkit::binary::module();
    let load = format!("loadmodule {}\n", module.display());
    let (server, mut con) = full(&options, &load);
    let reply = send(&mut con, first[0]);
    assert_eq!(reply, r#"["wurk.rescue-users", ""]"#);
    assert_eq!(send(&mut con, user[0]), "OK");
    // Connected before it is named, and stuck.
    let mut worker = Client::worker(binary, &server);
    let claim = "LMOVE queue:mail working RIGHT LEFT";
    let stuck = worker.say(claim).to_string();
    assert!(stuck.starts_with("OOM "), "{stuck}");
    assert_eq!(send(&mut con, name[0]), "OK");
    let log = "wurk.rescue-users: on a full server, commands are run for worker";
    assert!(spans(section("The server is full now")).contains(&log));
    assert!(server.log().contains(log));
    let mut producer = server.connect();
    producer.must("AUTH producer secret");
    let refused = producer.say("LPUSH queue:mail more").to_string();
    assert!(refused.starts_with("OOM "), "{refused}");
    let before = con.info("memory", "used_memory");
    let mut done = 0;
    while let Some(job) = worker.say(claim).bytes() {
        let acknowledged = worker
            .con
            .call(&[b"LREM", b"working".as_slice(), b"1", job]);
        done += acknowledged.integer().expect("a number");
    }
    assert_eq!(done, 200);
    // 5.
    assert_eq!(watch, &["INFO wurk", "INFO memory"]);
    let step = section("The server is full now");
    for field in ["wurk_rescues", "wurk_rescues_refused", "used_memory"] {
        assert!(spans(step).contains(&field), "{field}");
    }
    assert!(con.info("wurk", "wurk_rescues") > 0);
    assert_eq!(con.info("wurk", "wurk_rescues_refused"), 0);
    assert!(con.info("memory", "used_memory") < before);
    // 6.
    let [rewrite, _aclfile, off] = keep[..] else {
        panic!("{keep:?}")
    };
    assert_eq!(send(&mut con, rewrite), "OK");
    let server = options.start_over(server.stop());
    let mut con = server.connect();
    let reply = send(&mut con, first[0]);
    assert_eq!(reply, r#"["wurk.rescue-users", "worker"]"#);
    let mut worker = Client::worker(binary, &server);
    assert_eq!(send(&mut con, off), "OK");
    con.must("CONFIG SET maxmemory 1");
    let refused = worker.say("SET k v").to_string();
    assert!(refused.starts_with("OOM "), "{refused}");
}

/// A user in an `aclfile` is kept by `ACL SAVE`.
pub fn keep_a_user_in_a_file(binary: &Binary) {
    let folder = TempDir::with_prefix("wurk-").expect("a folder");
    let file = folder.path().join("users.acl");
    std::fs::write(&file, "").expect("a file");
    let options = Options::new(binary).module();
    let options = options.set("aclfile", &[&file.to_string_lossy()]);
    let server = options.try_start(folder).expect("a server");
    let mut con = server.connect();
    let steps = steps();
    assert_eq!(send(&mut con, steps[1][0]), "OK");
    assert_eq!(send(&mut con, steps[5][1]), "OK");
    let server = options.start_over(server.stop());
    let _worker = Client::login(binary, server.connect(), WORKER);
}

/// `default`, where no URL can be changed: who has not logged in, and nobody else.
pub fn name_default_in_need(binary: &Binary) {
    let (server, mut con) = side::full(binary);
    con.must("CONFIG SET wurk.rescue-users default");
    let mut anybody = server.connect();
    let rescue = if has_filter(binary) {
        ""
    } else {
        "WURK.RESCUE "
    };
    assert_eq!(anybody.say(&format!("{rescue}SET k v")).to_string(), "OK");
    anybody.must("AUTH producer secret");
    let refused = anybody.say(&format!("{rescue}SET k v")).to_string();
    assert!(refused.starts_with("OOM "), "{refused}");
}
