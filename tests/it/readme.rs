//! What README shows, run as it stands there.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use tempfile::TempDir;
use wurk_testkit::binary::workspace;
use wurk_testkit::{Binary, Options, Reply, Resp, Server};

use crate::support::interpreters::{self, interpreters, lines, run};

const README: &str = include_str!("../../README.md");
const OPERATIONS: &str = include_str!("../../docs/operations.md");

/// The blocks of a language, in order.
pub fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let start = format!("```{language}\n");
    text.split(&start)
        .skip(1)
        .map(|rest| rest.split_once("```").expect("its end").0)
        .collect()
}

/// README's first block of a language.
pub fn block(language: &str) -> &'static str {
    blocks(README, language)[0]
}

/// README's program in Rust: here it is compiled, below it is compared.
#[allow(dead_code)]
#[rustfmt::skip]
fn program() -> redis::RedisResult<()> {
    use wurk_client::{Heartbeat, Queue, Wurk, redis};

    let mut con = redis::Client::open("redis://127.0.0.1/")?.get_connection()?;
    let wurk = Wurk::new(); // one for each server, shared by threads
    let queues = [Queue::new("queue:mail", "queue:mail|host|1|f00|0")];
    let heartbeat = Heartbeat::new(b"processes", b"host:1:f00");

    let lmove = redis::cmd("LMOVE").arg("queue:mail").arg("queue:mail|host|1|f00|0").arg("RIGHT").arg("LEFT").take();
    let job: Option<Vec<u8>> = wurk.query_or(&mut con, &lmove, |wurk, con| {
        Ok(wurk.claim(con, &heartbeat, &queues)?.map(|claimed| claimed.job))
    })?;
    drop(job);
    Ok(())
}

pub fn shows_a_program_that_compiles() {
    let lines = |text: &'static str| text.lines().map(str::trim).collect::<Vec<_>>();
    let (shown, compiled) = (lines(block("rust")), lines(include_str!("readme.rs")));
    assert!(
        compiled.windows(shown.len()).any(|part| part == shown),
        "README's program is not the one that is compiled here"
    );
}

/// The words of a line, as a shell reads it.
fn words(line: &str) -> Vec<String> {
    let output = Command::new("sh")
        .args([
            "-c",
            &format!("for word in {line}; do printf '%s\\n' \"$word\"; done"),
        ])
        .output();
    lines(&output.expect("a shell"))
}

/// As `redis-cli` shows it.
fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Error(text) => format!("(error) {text}"),
        Reply::Array(items) => {
            let items = (1..).zip(items);
            let lines: Vec<_> = items.map(|(at, item)| format!("{at}) {item}")).collect();
            lines.join("\n")
        }
        reply => reply.to_string(),
    }
}

/// Sends a line as `redis-cli` does, `--eval FILE key ... , argument ...` too.
fn send(con: &mut Resp, line: &str) -> String {
    let words = words(line);
    let mut words: Vec<_> = words.iter().map(String::as_str).collect();
    if words[0] != "--eval" {
        return shown(&con.call(&words));
    }
    let script = fs::read_to_string(workspace().join(words[1])).expect("a script");
    let comma = words.iter().position(|word| *word == ",");
    let keys = comma.unwrap_or(words.len()) - 2;
    comma.map(|at| words.remove(at));
    let count = keys.to_string();
    shown(&con.call(&[&["EVAL", &script, &count], &words[2..]].concat()))
}

/// The same by `redis-cli`, as it shows replies in a terminal.
fn by_redis_cli(server: &Server, line: &str) -> String {
    let line = format!("redis-cli -p {} --no-raw {line}", server.port);
    lines(&run("sh", &["-c", &line]))
        .join("\n")
        .trim_end()
        .to_owned()
}

fn has_redis_cli() -> bool {
    let version = Command::new("redis-cli").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

const JOB: &str = r#"{"class":"Mail::Deliver","args":[7],"jid":"5a1f"}"#;

/// Runs a console block on a full server with a job in `queue:mail`, with the
/// replies that it shows: over the wire, and by `redis-cli` if that is installed.
fn runs(options: &Options, session: &str) {
    let options = options.clone().port();
    for by_program in [false, true] {
        if by_program && !has_redis_cli() {
            assert!(
                !interpreters::are_required(),
                "no redis-cli: run 'tools/need languages'"
            );
            eprintln!("not run: no redis-cli");
            continue;
        }
        let server = options.start();
        let mut con = server.connect();
        con.call(&["RPUSH", "queue:mail", JOB]);
        con.must("CONFIG SET maxmemory 1");
        for part in session.split("$ redis-cli ").skip(1) {
            let (line, expected) = part.split_once('\n').expect("a reply");
            let reply = if by_program {
                by_redis_cli(&server, line)
            } else {
                send(&mut con, line)
            };
            assert_eq!(reply, expected.trim_end(), "{line}");
        }
    }
}

/// README's first screen, on a server without the module.
pub fn takes_a_job_from_a_stock_server(binary: &Binary) {
    let session = block("console");
    assert_eq!(session.matches("$ redis-cli ").count(), 3);
    let script = "client/lua/claim.lua";
    assert!(session.contains(&format!("--eval {script} ")));
    if binary.loads_modules() {
        return runs(&Options::new(binary), session);
    }
    // Before 7.0 with the script that README's line makes.
    let folder = TempDir::with_prefix("wurk-").expect("a folder");
    symlink(workspace().join("client"), folder.path().join("client")).expect("a link");
    let made = blocks(README, "sh")
        .into_iter()
        .find(|block| block.contains("before-7.0"))
        .expect("the line for 6.2");
    let output = Command::new("sh")
        .args(["-c", made])
        .current_dir(&folder)
        .output();
    lines(&output.expect("a shell"));
    let script_before_7 = folder.path().join("claim-6.2.lua");
    let script_before_7 = script_before_7.to_str().expect("a path");
    runs(
        &Options::new(binary),
        &session.replace(script, script_before_7),
    );
}

/// A program's lines, with the server at `port`.
pub fn at_port(program: &str, port: u16) -> String {
    let python = ("redis.Redis(", format!("redis.Redis(port={port}, "));
    let ruby = ("Redis.new(", format!("Redis.new(port: {port}, "));
    let replaced = [python, ruby]
        .iter()
        .fold(program.to_owned(), |text, (from, to)| {
            text.replace(from, to)
        });
    assert_ne!(replaced, program, "it connects to another server");
    replaced
}

pub fn shows_what_happens(binary: &Binary) {
    let options = Options::new(binary).module();
    let sessions = [
        &blocks(README, "console")[1..],
        &blocks(OPERATIONS, "console"),
    ]
    .concat();
    assert_eq!(sessions.len(), 2);
    for session in sessions {
        runs(&options, session);
    }

    // The other languages' lines, at this server's port.
    let server = options.port().start();
    let mut con = server.connect();
    for (language, interpreter) in interpreters() {
        con.must("CONFIG SET maxmemory 0");
        con.call(&["RPUSH", "queue:mail", JOB]);
        con.must("CONFIG SET maxmemory 1");
        let program = at_port(block(language), server.port);
        let flag = if language == "python" { "-c" } else { "-e" };
        lines(&run(interpreter, &[flag, &program]));
        assert_eq!(
            con.say("EXISTS queue:mail queue:mail|host|1|f00|0")
                .integer(),
            Some(0)
        );
        assert_eq!(
            con.say("HGET host:1:f00 beat").to_string(),
            r#""1700000000.5""#
        );
        con.must("DEL host:1:f00");
    }
}
