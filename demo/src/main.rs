//! Fills a Redis until it refuses writes, shows the error that a worker gets then, and
//! drains it by the client; then once more, its jobs all due for a retry; then by workers
//! that know nothing of wurk. With a library's name: by the workers of that library.
//! Prints a table at the end of each, and fails if a job is lost.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `fill` | pushes jobs until the server refuses |
//! | `drain` | workers drain the queues |
//! | `ledger` | accounts for each job, and prints the table |
//! | `retries` | a server whose jobs all wait for a retry |
//! | `rescue` | plain workers, whose user is named |
//! | `library` | the workers of a queue library, whose user is named |
//! | `progress` | progress bars, and numbers for people |

mod drain;
mod fill;
mod ledger;
mod library;
mod progress;
mod rescue;
mod retries;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use redis::RedisResult;
use wurk_client::Queue;
use wurk_testkit::{Binary, Options};

/// Fills a Redis until it refuses writes, and drains it.
#[derive(Parser)]
struct Arguments {
    /// The server's program [default: one of `make servers`, or in PATH]
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
    /// Do not load the module: drain by the scripts
    #[arg(long)]
    no_module: bool,
    /// Show a queue library with its own workers: celery, rq, bullmq, sidekiq …
    #[arg(long, value_name = "NAME")]
    library: Option<String>,
    /// Memory that the server may use, in MiB
    #[arg(long, default_value_t = 64)]
    maxmemory: u32,
    /// Workers that drain it
    #[arg(long, default_value_t = 4)]
    workers: usize,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Some(binary) = server(&arguments) else {
        eprintln!("no server found: run 'make servers', or name one with --server");
        return ExitCode::from(2);
    };
    match run(&arguments, &binary) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("the demo ended early: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The named server, or the first one that can show the most.
fn server(arguments: &Arguments) -> Option<Binary> {
    match &arguments.server {
        Some(path) => Binary::at(path),
        None => {
            let all = Binary::all();
            let find = |suits: fn(&Binary) -> bool| all.iter().find(|binary| suits(binary));
            let plain = || find(Binary::loads_modules);
            let found = if arguments.no_module && arguments.library.is_none() {
                plain().or(all.first())
            } else {
                find(rescue::is_possible).or_else(plain)
            };
            found.cloned()
        }
    }
}

fn run(arguments: &Arguments, binary: &Binary) -> RedisResult<bool> {
    let with_module = !arguments.no_module && binary.loads_modules();
    let maxmemory = format!("{}mb", arguments.maxmemory);
    let mut options = Options::new(binary)
        .set("maxmemory", &[&maxmemory])
        .set("maxmemory-policy", &["noeviction"]);
    let (major, minor, patch) = binary.version;
    println!(
        "{} {major}.{minor}.{patch}, maxmemory {maxmemory} noeviction, {}",
        binary.name.split('-').next().unwrap_or(&binary.name),
        if with_module {
            "with the module"
        } else if arguments.library.is_some() {
            "without the module"
        } else {
            "without the module: by script"
        },
    );
    if let Some(name) = &arguments.library {
        return Ok(match library::find(name, binary, with_module) {
            Ok(library) => library::show(library, &options, with_module),
            Err(why) => {
                eprintln!("{why}");
                false
            }
        });
    }
    if with_module {
        options = options.module();
    }
    let server = options.start();
    let client = redis::Client::open(server.url())?;
    let queues = ["queue:critical", "queue:default", "queue:bulk"]
        .map(|name| Queue::new(name, format!("{name}|demo|{}|f00|0", server.id())));
    let mut con = client.get_connection()?;
    let (pushed, refused) = fill::until_refused(&server, &mut con, &queues)?;
    let worked = drain::with_workers(&client, &queues, &refused, arguments.workers, pushed.len())?;
    let every_kind = worked.iter().any(|worked| worked.retried > 0)
        && worked.iter().any(|worked| worked.requeued > 0);
    let settled = ledger::settle(&mut con, &queues, &pushed, worked)? && every_kind;
    let settled = retries::show(&server, &client, &mut con, &queues, arguments.workers)? && settled;
    if !with_module {
        println!("\nplain workers, which know nothing of wurk, need the module: not shown");
        return Ok(settled);
    }
    if !rescue::is_possible(binary) {
        println!("\nplain workers, which know nothing of wurk, need 7.2 or later: not shown");
        return Ok(settled);
    }
    Ok(rescue::show(&server, &mut con, &queues, arguments.workers)? && settled)
}
