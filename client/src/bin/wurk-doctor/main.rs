//! Asks a server whether its workers will get their jobs when it is full, says
//! what it found, what that means, and what to do. Changes nothing.
//!
//! | room | what is in it |
//! | --- | --- |
//! | `connect` | the way to the server, and what TLS needs |
//! | `ask` | the questions, none of which writes |
//! | `rights` | those about the module's commands |
//! | `inside` | those about what scripts call |
//! | `judge` | what the answers mean |
//!
//! Ends with 0 where it found nothing to mend, 1 where something is to be mended, 2 where the
//! server does not answer or not this user, 64 where it was not called as it should be.

mod ask;
mod connect;
mod inside;
mod judge;
mod rights;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use comfy_table::{Table, presets};
use connect::{Server, Tls};
use judge::{Finding, Level};

/// Asks a server whether its workers will get their jobs when it is full.
#[derive(Parser)]
#[command(name = "wurk-doctor", version)]
struct Arguments {
    /// The server, e.g. redis://user:password@host:6379/0, rediss://... for TLS
    url: String,
    /// The findings as JSON
    #[arg(long)]
    json: bool,
    /// How long the server may take to answer, in seconds
    #[arg(long, default_value_t = 5)]
    timeout: u64,
    #[command(flatten)]
    tls: Tls,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 64 } else { 0 });
        }
    };
    let server = match Server::new(&arguments.url, &arguments.tls) {
        Ok(server) => server,
        Err(error) => {
            eprintln!("wurk-doctor: {error}");
            return ExitCode::from(64);
        }
    };
    let timeout = Duration::from_secs(arguments.timeout.max(1));
    let answers = match ask::all(&server, timeout) {
        Ok(answers) => answers,
        Err(error) => {
            if arguments.json {
                println!(
                    "{}",
                    serde_json::json!({ "error": error.to_string(), "findings": [] })
                );
            } else if error.code().is_some() {
                eprintln!("refused: {error}");
            } else {
                eprintln!("no answer: {error}");
            }
            return ExitCode::from(2);
        }
    };
    let findings = judge::all(&answers);
    if arguments.json {
        println!("{}", json(&findings));
    } else {
        println!("{}", table(&findings));
    }
    let count = |level| {
        findings
            .iter()
            .filter(|finding| finding.level == level)
            .count()
    };
    let (mend, unseen) = (count(Level::Mend), count(Level::Unseen));
    if !arguments.json {
        println!("to mend: {mend}, not seen as this user: {unseen}");
    }
    ExitCode::from(u8::from(mend > 0))
}

fn table(findings: &[Finding]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_BORDERS_ONLY)
        .set_header(["", "found", "means", "do"]);
    for finding in findings {
        let mark = match finding.level {
            Level::Fine => "  ",
            Level::Mend => "! ",
            Level::Unseen => "? ",
        };
        let topic = format!("{mark}{}", finding.topic);
        table.add_row([
            topic.as_str(),
            &finding.found,
            &finding.means,
            &finding.todo,
        ]);
    }
    table
}

fn json(findings: &[Finding]) -> serde_json::Value {
    let findings: Vec<_> = findings
        .iter()
        .map(|finding| {
            serde_json::json!({
                "topic": finding.topic,
                "level": match finding.level {
                    Level::Fine => "fine",
                    Level::Mend => "mend",
                    Level::Unseen => "unseen",
                },
                "found": finding.found,
                "means": finding.means,
                "do": finding.todo,
            })
        })
        .collect();
    serde_json::json!({ "findings": findings })
}
