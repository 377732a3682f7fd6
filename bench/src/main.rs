//! What a claim costs, beside the alternatives: real servers, every engine in every
//! round, the median of several rounds.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `engine`, `environment` | the ways to make a claim; the server alone, with an AOF, with a replica |
//! | `pipeline` | connections that keep a server busy, and the CPU time that it takes |
//! | `cost` | the server's time per call, with the data that it needs |
//! | `tables` | that time by number of queues, with AOF and a replica; the other commands |
//! | `growth` | that time by the size of what a claim touches |
//! | `rate` | calls per second at one and at fifty connections, and their cost |
//! | `jobs` | jobs per second of one worker, beside queue libraries |
//! | `pickup`, `waiting` | how soon a waiting worker has its job, and what many waiting clients cost |
//! | `client`, `count` | what the client costs beyond the redis crate alone: time and allocations |
//! | `wrapped` | what a connection that rescues its commands costs |
//! | `memory` | a full server while it drains |
//! | `rescue` | what `wurk.rescue-users` costs those who are named, and those who are not |
//! | `comparison`, `side_by_side`, `filtered` | its tables, their measuring, its servers: full or not, with a filter or without |
//! | `pin` | all of it on one processor |
//! | `plot` | plots of the cost by number of queues, and of the draining server |

mod client;
mod comparison;
mod cost;
mod count;
mod engine;
mod environment;
mod filtered;
mod growth;
mod jobs;
mod memory;
mod pickup;
mod pin;
mod pipeline;
mod plot;
mod rate;
mod rescue;
mod side_by_side;
mod tables;
mod waiting;
mod wrapped;

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use wurk_testkit::Binary;

/// Measures what a claim costs, beside the alternatives.
#[derive(Parser)]
struct Arguments {
    /// Servers by name, as `make servers` calls them
    #[arg(long, default_values_t = ["redis-7.0", "redis-8.2", "valkey-9.1"].map(String::from))]
    server: Vec<String>,
    /// Parts to run
    #[arg(long, value_enum, default_values_t = Part::value_variants().to_vec())]
    part: Vec<Part>,
    /// Rounds; the median is shown
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// The folder for the plots
    #[arg(long, default_value = "docs")]
    pictures: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Queues,
    Others,
    Growth,
    Rate,
    Jobs,
    Pickup,
    Client,
    Memory,
    Rescue,
}

fn main() {
    let arguments = Arguments::parse();
    let all = Binary::all();
    let wanted =
        |binary: &&Binary| binary.loads_modules() && arguments.server.contains(&binary.name);
    let binaries: Vec<_> = all.iter().filter(wanted).cloned().collect();
    if binaries.is_empty() {
        eprintln!(
            "none of {} is installed: run 'make servers'",
            arguments.server.join(", ")
        );
        std::process::exit(2);
    }
    println!("{}", machine());
    for part in &arguments.part {
        for (first, binary) in binaries.iter().enumerate() {
            match part {
                Part::Queues => {
                    let curves = tables::by_queues(binary, arguments.rounds);
                    plot::cost(&arguments.pictures, binary, &curves);
                }
                Part::Others => tables::other_commands(binary, arguments.rounds),
                Part::Growth => growth::tables(binary, arguments.rounds),
                Part::Rate => rate::tables(binary, arguments.rounds.div_ceil(2)),
                Part::Jobs => jobs::table_of_rates(binary, arguments.rounds.div_ceil(2)),
                Part::Pickup => {
                    pickup::table(binary);
                    waiting::table(binary);
                }
                Part::Client => {
                    client::table(binary, arguments.rounds);
                    wrapped::table(binary, arguments.rounds);
                }
                Part::Memory if first == 0 => {
                    plot::memory(&arguments.pictures, &memory::curves(binary))
                }
                Part::Memory => {}
                // An older server does not tell a filter whose command it is.
                Part::Rescue if binary.version >= (7, 2, 0) => {
                    pin::to_one_processor(|| rescue::tables(binary, arguments.rounds));
                }
                Part::Rescue => {}
            }
        }
    }
}

/// The processor and the number of cores.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{cores} x {}",
        model.map_or("unknown processor", |(_, model)| model)
    )
}
