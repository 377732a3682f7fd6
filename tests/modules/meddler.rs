//! A module for the tests. Whenever a field of the hash `id` is set, it puts a
//! string in its place, as a module may that reacts to keyspace events; and it has
//! a command that a full server refuses.

// What the macro makes is not documented.
#![allow(missing_docs)]

use redis_module::alloc::RedisAlloc;
use redis_module::{Context, NextArg, NotifyEvent, RedisResult, RedisString, redis_module};

fn replace(ctx: &Context, _: NotifyEvent, _: &str, key: &[u8]) {
    if key == b"id" {
        // If it is refused, the test sees no string.
        let _ = ctx.call("SET", &["id", "meddled"]);
    }
}

/// `MEDDLER.SET key value`
fn set(ctx: &Context, args: Vec<RedisString>) -> RedisResult {
    let mut args = args.into_iter().skip(1);
    let (key, value) = (args.next_arg()?, args.next_arg()?);
    ctx.call("SET", &[&key, &value])
}

redis_module! {
    name: "meddler",
    version: 1,
    allocator: (RedisAlloc, RedisAlloc),
    data_types: [],
    commands: [
        ["meddler.set", set, "write deny-oom", 1, 1, 1, ""],
    ],
    event_handlers: [
        [@HASH: replace]
    ],
}
