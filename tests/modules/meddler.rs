//! A module for the tests: whenever a field of the hash `id` is set, it puts a
//! string in its place, as a module may that reacts to keyspace events.

// What the macro makes is not documented.
#![allow(missing_docs)]

use redis_module::alloc::RedisAlloc;
use redis_module::{Context, NotifyEvent, redis_module};

fn replace(ctx: &Context, _: NotifyEvent, _: &str, key: &[u8]) {
    if key == b"id" {
        // Where it is refused, the test sees no string.
        let _ = ctx.call("SET", &["id", "meddled"]);
    }
}

redis_module! {
    name: "meddler",
    version: 1,
    allocator: (RedisAlloc, RedisAlloc),
    data_types: [],
    commands: [],
    event_handlers: [
        [@HASH: replace]
    ],
}
