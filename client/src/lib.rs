//! Job queues on Redis or Valkey that go on when the server is full.
//!
//! A server that has reached `maxmemory` under `noeviction` refuses `LMOVE`,
//! `ZADD`, `SET` and whatever else may grow memory, so no worker gets its next
//! job and nothing frees the memory that is missing. [`Wurk`] makes the same
//! key moves by the first of these roads that the server has:
//!
//! 1. the commands of the `wurk` module, `WURK.CLAIM` and its kin;
//! 2. a script that the server lets run out of memory, from Redis 7.0 on;
//! 3. the same script behind a write that changes nothing, before 7.0;
//! 4. none: the caller gets back the very error it came with.
//!
//! A worker calls its usual commands, and these when one of them is refused:
//!
//! ```no_run
//! # fn main() -> redis::RedisResult<()> {
//! use std::time::Duration;
//! use wurk_client::{Heartbeat, Queue, Wurk, is_oom};
//!
//! let mut con = redis::Client::open("redis://127.0.0.1/")?.get_connection()?;
//! let wurk = Wurk::new(); // one for each server, shared by threads
//! let queues = [Queue::new("queue:mail", "queue:mail|host|1|f00|0")];
//!
//! let claimed: redis::RedisResult<Option<Vec<u8>>> = redis::cmd("LMOVE")
//!     .arg(&[&queues[0].public, &queues[0].private])
//!     .arg(&["RIGHT", "LEFT"])
//!     .query(&mut con);
//! let job = match claimed {
//!     Err(error) if is_oom(&error) => {
//!         let heartbeat = Heartbeat {
//!             processes: b"processes",
//!             identity: b"host:1:f00",
//!             info: b"{}",
//!             beat: b"1700000000.5",
//!             ttl: Duration::from_secs(60),
//!         };
//!         wurk.claim(&mut con, &heartbeat, &queues, Some(error))?.map(|claimed| claimed.job)
//!     }
//!     job => job?,
//! };
//! # Ok(())
//! # }
//! ```
//!
//! | room | what is in it |
//! | --- | --- |
//! | `calls`, `blocking`, `asynchronous` | the calls and their replies, and how they are made |
//! | `wait` | what a claim that waits does next, without I/O |
//! | `ladder` | which road is tried next, as a state machine without I/O |
//! | `route` | what has been learned of a server, and for how long it holds |
//! | `refusal` | what an error means: an unknown command, no scripts, no memory |
//! | `process` | who this process is, as dashboards and reapers read it |
//! | `scripts` | `lua/*.lua`, which any language can send |
#![deny(missing_docs)]

#[cfg(feature = "tokio")]
mod asynchronous;
mod blocking;
mod calls;
mod ladder;
mod process;
mod refusal;
mod route;
mod scripts;
mod wait;

pub use calls::{Claimed, Heartbeat, Queue};
pub use process::{Info, Process};
pub use refusal::is_oom;
pub use route::Wurk;
pub use scripts::{CLAIM, LOCK, REQUEUE, Script, ZADD};
