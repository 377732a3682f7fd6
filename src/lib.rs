//! wurk, the way out of a full Redis: a module whose commands move jobs
//! between keys although the server has reached `maxmemory`.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `claim`, `bclaim`, `requeue`, `lock`, `zadd`, `promote`, `beat`, `rescue` | a command each, its contract above it |
//! | `heartbeat` | how a claim keeps its process alive |
//! | `transfer` | how a job leaves one key for a list, so that it is always in one of them |
//! | `expiry`, `timeout` | which times to live and which timeouts the server can hold |
//! | `server` | the one module that calls the server's API, and the only `unsafe` |
//!
//! Imports go one way: this table, the commands, the server.

// Unit tests reach only the pure functions: see `entry`.
#![cfg_attr(test, allow(dead_code, unused_imports))]
// The crate runs inside a server: what a client sends must not crash it.
#![deny(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod bclaim;
mod beat;
mod claim;
mod expiry;
mod heartbeat;
mod lock;
mod promote;
mod requeue;
mod rescue;
mod server;
mod timeout;
mod transfer;
mod zadd;

/// Everything the module adds to a server.
const COMMANDS: &[server::Registration] = &[
    server::register::<claim::Claim>(),
    server::register::<bclaim::Bclaim>(),
    server::register::<requeue::Requeue>(),
    server::register::<lock::Lock>(),
    server::register::<zadd::Zadd>(),
    server::register::<promote::Promote>(),
    server::register::<beat::Beat>(),
    server::register::<rescue::Rescue>(),
];

// The macro sets the server's allocator, which aborts any process that is not a
// server: unit tests have to do without it.
#[cfg(not(test))]
mod entry {
    use redis_module::{Context, RedisString, Status, alloc::RedisAlloc, redis_module};

    fn load(context: &Context, args: &[RedisString]) -> Status {
        crate::server::load(context, args, crate::COMMANDS)
    }

    fn unload(context: &Context) -> Status {
        crate::server::refuse_to_unload(context)
    }

    redis_module! {
        name: "wurk",
        version: crate::server::VERSION,
        allocator: (RedisAlloc, RedisAlloc),
        data_types: [],
        init: load,
        deinit: unload,
    }
}
