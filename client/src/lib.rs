//! Job queues on Redis or Valkey that keep working when the server is full.
//!
//! A server that has reached `maxmemory` under `noeviction` refuses `LMOVE`,
//! `ZADD`, `SET` and whatever else may grow memory, so workers that move a job to
//! claim it stand still, and the memory that they would free stays used. [`Wurk`]
//! makes the same key moves by the first of these that the server has:
//!
//! 1. the commands of the `wurk` module, `WURK.CLAIM` and the others;
//! 2. a script flagged `allow-oom`, from Redis 7.0 on;
//! 3. the same script after a write that changes nothing, before 7.0;
//! 4. nothing: the caller gets its own OOM error back, unchanged.
//!
//! A worker runs its usual commands, and these if one of them is refused:
//!
//! ```no_run
//! # fn main() -> redis::RedisResult<()> {
//! use wurk_client::{Heartbeat, Queue, Wurk, redis};
//!
//! let mut con = redis::Client::open("redis://127.0.0.1/")?.get_connection()?;
//! let wurk = Wurk::new(); // one for each server, shared by threads
//! let queues = [Queue::new("queue:mail", "queue:mail|host|1|f00|0")];
//! let heartbeat = Heartbeat::new(b"processes", b"host:1:f00");
//!
//! let lmove = redis::cmd("LMOVE")
//!     .arg(&[&queues[0].public, &queues[0].private])
//!     .arg(&["RIGHT", "LEFT"])
//!     .take();
//! let job: Option<Vec<u8>> = wurk.query_or(&mut con, &lmove, |wurk, con| {
//!     Ok(wurk.claim(con, &heartbeat, &queues)?.map(|claimed| claimed.job))
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! Unix only. With the feature `tokio` each call also exists for asynchronous
//! connections, with `_async` after its name.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `client` | [`Wurk`] |
//! | `blocking`, `asynchronous` | its calls, and their drivers |
//! | `pipelined` | its calls that are several commands in one write |
//! | `machine`, `wait`, `turn`, `fallback` | the calls as state machines without I/O: one attempt, waiting, several at once, which strategy is next |
//! | `calls`, `strategy` | what each call sends by each strategy, and what its reply means |
//! | `rescue` | any other command: a connection that sends again what was refused |
//! | `cache` | which strategy works on a server |
//! | `error_class` | what an error means: an unknown command, no scripts, out of memory |
//! | `queue`, `heartbeat`, `process` | queues and jobs, heartbeats, identities |
//! | [`scripts`] | `lua/*.lua`, which any language can send |
//!
//! Each imports only from modules that do not import from it.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs)]

#[cfg(feature = "tokio")]
mod asynchronous;
mod blocking;
mod cache;
mod calls;
mod client;
mod error_class;
mod fallback;
mod heartbeat;
mod machine;
mod pipelined;
mod process;
mod queue;
mod rescue;
pub mod scripts;
mod strategy;
mod turn;
mod wait;

pub use client::Wurk;
pub use error_class::is_oom;
pub use heartbeat::Heartbeat;
pub use process::{Info, Process};
pub use queue::{Claimed, Promotion, Queue};
pub use redis;
pub use rescue::{Rescue, Rescuer};
pub use turn::Turn;

/// Runs the snippet of the package's README as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
