//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Parser;

/// A worker that loses no job.
#[derive(Parser)]
pub(crate) struct Arguments {
    /// The server
    #[arg(long, default_value = "redis://127.0.0.1/")]
    pub(crate) url: String,
    /// A queue and its weight
    #[arg(long = "queue", value_name = "NAME=WEIGHT", required = true)]
    pub(crate) queues: Vec<Weighted>,
    /// Jobs worked on at once
    #[arg(long, default_value_t = 4)]
    pub(crate) threads: usize,
    /// The file to append a job's jid to when it is done
    #[arg(long)]
    pub(crate) done: PathBuf,
    /// How long a job takes, in milliseconds
    #[arg(long, default_value_t = 0)]
    pub(crate) work: u64,
    /// One in this many jobs fails; 0 for none
    #[arg(long, default_value_t = 0)]
    pub(crate) fail_one_in: u32,
    /// Seconds without a heartbeat after which a process counts as dead
    #[arg(long, default_value_t = 60)]
    pub(crate) ttl: u64,
}

#[derive(Clone)]
pub(crate) struct Weighted {
    pub(crate) name: String,
    pub(crate) weight: u32,
}

impl FromStr for Weighted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, weight) = text.split_once('=').unwrap_or((text, "1"));
        let weight = weight
            .parse()
            .map_err(|_| format!("{weight} is not a weight"))?;
        Ok(Self {
            name: name.to_owned(),
            weight,
        })
    }
}
