//! Checks whether a server's workers will get their jobs when it is full, and
//! reports what it found, what that means, and what to do. Changes nothing.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `connect` | the address, and TLS |
//! | `probe` | the questions to the server, none of which writes |
//! | `answers` | their replies |
//! | `state` | server states that refuse every command, or every write |
//! | `permissions` | which of the module's commands the user may run |
//! | `rescued_users` | whether the users in `wurk.rescue-users` can be rescued |
//! | `script_permissions` | which commands the user may run inside a script |
//! | `findings` | what the replies mean |
//! | `report` | the findings as a table or as JSON |
//!
//! Exit status: 0 no warnings, 1 warnings, 2 cannot connect or authenticate, 64
//! wrong usage.

mod answers;
mod connect;
mod findings;
mod permissions;
mod probe;
mod report;
mod rescued_users;
mod script_permissions;
mod state;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use connect::{Server, Tls};
use findings::Level;

/// Checks whether a server's workers will get their jobs when it is full.
#[derive(Parser)]
#[command(name = "wurk-doctor", version)]
struct Arguments {
    /// The server, e.g. redis://user:password@host:6379/0, rediss://... for TLS
    url: String,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// How long to wait for a reply, in seconds
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
    let answers = match probe::all(&server, timeout) {
        Ok(answers) => answers,
        Err(error) => {
            if arguments.json {
                println!("{}", report::error(&error));
            } else if error.code().is_some() {
                eprintln!("refused: {error}");
            } else {
                eprintln!("no answer: {error}");
            }
            return ExitCode::from(2);
        }
    };
    let findings = findings::all(&answers);
    if arguments.json {
        println!("{}", report::json(&findings));
    } else {
        println!("{}", report::table(&findings));
        println!("{}", report::summary(&findings));
    }
    ExitCode::from(u8::from(report::count(&findings, Level::Warn) > 0))
}
