//! What the server does beside its calls: nothing, an AOF, a replica.

use std::thread;
use std::time::Duration;

use wurk_testkit::{Binary, Options, Server};

use crate::cost::Bench;

/// A server alone, with an AOF, or with a replica.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Environment {
    Alone,
    Aof,
    Replica,
}

impl Environment {
    pub(crate) const ALL: [Self; 3] = [Self::Alone, Self::Aof, Self::Replica];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Aof => "AOF everysec",
            Self::Replica => "with a replica",
        }
    }

    /// Starts the server, and its replica if there is one.
    pub(crate) fn start(self, binary: &Binary) -> (Bench, Option<Server>) {
        let options = Options::new(binary).module();
        match self {
            Self::Alone => (Bench::start(&options), None),
            Self::Aof => (Bench::start(&options.set("appendonly", &["yes"])), None),
            Self::Replica => {
                let mut bench = Bench::start(&options.port());
                let port = bench.server.port.to_string();
                let replica = Options::new(binary)
                    .set("replicaof", &["127.0.0.1", &port])
                    .start();
                let online = |bench: &mut Bench| {
                    let info = bench.con.say("INFO replication").to_string();
                    info.contains("state=online")
                };
                while !online(&mut bench) {
                    thread::sleep(Duration::from_millis(20));
                }
                (bench, Some(replica))
            }
        }
    }
}
