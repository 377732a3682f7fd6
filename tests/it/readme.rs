//! What README shows, run as it stands there.

use std::process::Command;

use wurk_testkit::{Binary, Options, Reply};

use crate::interpreters::{interpreters, lines, run};

const README: &str = include_str!("../../README.md");

/// The first block of a language.
pub fn block(language: &str) -> &'static str {
    let (_, rest) = README
        .split_once(&format!("```{language}\n"))
        .expect("a block");
    rest.split_once("```").expect("its end").0
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
    let server = Options::new(binary).module().port().start();
    let mut con = server.connect();
    let job = r#"{"class":"Mail::Deliver","args":[7],"jid":"5a1f"}"#;
    con.call(&["RPUSH", "queue:mail", job]);
    con.must("CONFIG SET maxmemory 1");
    let mut session = 0;
    for part in block("console").split("$ redis-cli ").skip(1) {
        let (line, expected) = part.split_once('\n').expect("a reply");
        assert_eq!(
            shown(&con.call(&words(line))),
            expected.trim_end(),
            "{line}"
        );
        session += 1;
    }
    assert_eq!(session, 3);

    // The other languages' lines, at this server's port.
    for (language, interpreter) in interpreters() {
        con.must("CONFIG SET maxmemory 0");
        con.call(&["RPUSH", "queue:mail", job]);
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
