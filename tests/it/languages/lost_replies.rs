//! A call whose reply is lost is sent once, by README's programs and by the examples:
//! the job that it claimed is in the private list, and no second one with it. A call
//! that waits is not cut off.

use std::time::Instant;

use wurk_testkit::{Binary, Options, Resp, Server};

use crate::languages::workers::{all_options, worker};
use crate::readme::{at_port, block};
use crate::support::interpreters::{interpreters, lines, run};
use crate::support::lossy_proxy::LossyProxy;

const LANGUAGES: &str = include_str!("../../../docs/clients.md");

/// A full server with two jobs in `queue:mail`.
fn full_server(options: &Options) -> (Server, Resp) {
    let server = options.clone().port().start();
    let mut con = server.connect();
    con.must("RPUSH queue:mail first second");
    con.must("CONFIG SET maxmemory 1");
    (server, con)
}

/// The flag of an interpreter before a program text.
fn flag(language: &str) -> &'static str {
    if language == "python" { "-c" } else { "-e" }
}

/// The number of jobs in the private lists of `queue:mail`.
fn in_flight(con: &mut Resp) -> i64 {
    let lists = con.say("KEYS queue:mail|*");
    let lists = lists.items().iter().map(ToString::to_string);
    let lists: Vec<_> = lists.collect();
    let lengths = lists
        .iter()
        .map(|list| con.call(&["LLEN", list.trim_matches('"')]).integer());
    lengths.map(|length| length.expect("a length")).sum()
}

pub fn readme_does_not_send_again(binary: &Binary) {
    for (language, interpreter) in interpreters() {
        let (server, mut con) = full_server(&Options::new(binary).module());
        let proxy = LossyProxy::new(server.port, "WURK.CLAIM");
        let program = at_port(block(language), proxy.port);
        let output = run(interpreter, &[flag(language), &program]);
        assert!(!output.status.success(), "{language}: no reply, no error");
        assert_eq!(proxy.seen("WURK.CLAIM"), 1, "{language}");
        assert_eq!(in_flight(&mut con), 1, "{language}");
        assert_eq!(con.say("LLEN queue:mail").integer(), Some(1), "{language}");
    }
}

pub fn workers_do_not_send_again(binary: &Binary) {
    for (language, interpreter) in interpreters() {
        for options in all_options(binary) {
            let (server, mut con) = full_server(&options);
            let unknown = con.say("COMMAND INFO wurk.claim").items()[0].is_nil();
            let command = if unknown { "EVAL" } else { "WURK.CLAIM" };
            // Before 7.0 the reply that is lost is that the script does not compile.
            let proxy = LossyProxy::new(server.port, command);
            let (example, url) = worker(language, proxy.port);
            let output = run(interpreter, &[&example, &url, "mail"]);
            assert!(!output.status.success(), "{language}: no reply, no error");
            assert_eq!(proxy.seen(command), 1, "{language}");
            let claimed = i64::from(!unknown || binary.loads_modules());
            assert_eq!(in_flight(&mut con), claimed, "{language}");
            let left = con.say("LLEN queue:mail").integer();
            assert_eq!(left, Some(2 - claimed), "{language}");

            // Nor is the acknowledgement sent again, which could remove another job.
            let (server, mut con) = full_server(&options);
            let proxy = LossyProxy::new(server.port, "LREM");
            let (example, url) = worker(language, proxy.port);
            let output = run(interpreter, &[&example, &url, "mail"]);
            assert!(!output.status.success(), "{language}: no reply, no error");
            assert_eq!(proxy.seen("LREM"), 1, "{language}");
            // This proxy did not pass on the claim behind it.
            assert_eq!(in_flight(&mut con), 0, "{language}");
            assert_eq!(con.say("LLEN queue:mail").integer(), Some(1), "{language}");
        }
    }
}

/// The lines of `docs/clients.md`, wait longer than a library's usual timeout.
pub fn bclaim_is_waited_for(binary: &Binary) {
    for (language, interpreter) in interpreters() {
        let server = Options::new(binary).module().port().start();
        let mut con = server.connect();
        let (_, rest) = LANGUAGES
            .split_once(&format!("```{language}\n"))
            .expect("a block");
        let program = rest.split_once("```").expect("its end").0;
        let shorter = program.replace("wait = 30", "wait = 6");
        assert_ne!(shorter, program, "{language}");
        let start = Instant::now();
        let program = at_port(&shorter, server.port);
        lines(&run(interpreter, &[flag(language), &program]));
        // No job arrives, and the call times out.
        assert!(start.elapsed().as_secs() >= 6, "{language}");
        let stats = con.say("INFO commandstats").to_string();
        assert!(
            stats.contains("cmdstat_wurk.bclaim:calls=1,"),
            "{language}: {stats}"
        );
    }
}
