//! The lines for the server's configuration.

use std::fs;

use tempfile::TempDir;
use wurk_testkit::{Binary, Options, Server};

use super::{section, spans};
use crate::readme::blocks;
use crate::rescue::side::{Client, WORKER};

/// The worker is rescued, the producer refused.
fn is_configured(binary: &Binary, server: &Server) {
    let mut con = server.connect();
    let named = con.say("CONFIG GET wurk.rescue-users").items()[1].to_string();
    assert_eq!(named, r#""worker mailer""#);
    let limit = con.say("CONFIG GET wurk.rescue-limit").items()[1].to_string();
    assert_eq!(limit, r#""10""#);
    con.must("RPUSH queue:mail a");
    let used = con.info("memory", "used_memory");
    con.must(&format!("CONFIG SET maxmemory {}", used * 98 / 100));
    let mut worker = Client::login(binary, server.connect(), WORKER);
    let job = worker.say("LMOVE queue:mail working RIGHT LEFT");
    assert_eq!(job.to_string(), r#""a""#);
    let mut producer = server.connect();
    producer.must("AUTH producer other");
    for line in ["LPUSH queue:mail b", "WURK.RESCUE LPUSH queue:mail b"] {
        let reply = producer.say(line).to_string();
        assert!(reply.starts_with("OOM "), "{line}: {reply}");
    }
    con.must("CONFIG SET maxmemory 0");
}

/// As it is, and after a `CONFIG REWRITE`.
pub fn is_as_the_page_says(binary: &Binary) {
    let section = section("In the configuration");
    let [lines] = blocks(section, "text")[..] else {
        panic!("one block")
    };
    let module = wurk_testkit::binary::module();
    let installed = "/usr/lib/redis/modules/wurk.so";
    assert_eq!(lines.matches(installed).count(), 1);
    let lines = lines.replace(installed, &module.to_string_lossy());
    let folder = TempDir::with_prefix("wurk-").expect("a folder");
    fs::write(folder.path().join("main.conf"), lines).expect("a configuration");
    let options = Options::new(binary).config("main.conf");
    let server = options.try_start(folder).expect("a server");
    is_configured(binary, &server);
    server.connect().must("CONFIG REWRITE");
    let server = options.start_over(server.stop());
    is_configured(binary, &server);
    // At run time.
    let mut con = server.connect();
    con.call(&["CONFIG", "SET", "wurk.rescue-users", ""]);
    let at_run_time = spans(section).into_iter();
    let at_run_time = at_run_time.filter_map(|span| span.strip_prefix("CONFIG SET "));
    let [setting] = at_run_time.collect::<Vec<_>>()[..] else {
        panic!("one setting")
    };
    let (name, value) = setting.split_once(' ').expect("a value");
    let reply = con.call(&["CONFIG", "SET", name, value.trim_matches('"')]);
    assert_eq!(reply.to_string(), "OK");
    is_configured(binary, &server);
}
