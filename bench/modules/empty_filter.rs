//! A module for the benchmark: a command filter that does nothing. What it costs is
//! the server's own part of a filter.

// What the macro makes is not documented.
#![allow(missing_docs)]
#![allow(unsafe_code)]

use redis_module::alloc::RedisAlloc;
use redis_module::raw::{self, RedisModuleCommandFilterCtx};
use redis_module::{Context, RedisString, Status, redis_module};

unsafe extern "C" fn nothing(_: *mut RedisModuleCommandFilterCtx) {}

fn register(ctx: &Context, _: &[RedisString]) -> Status {
    // SAFETY: the pointer is written once, before this runs; the context is the
    // module's own. The server unregisters the filter before it unloads the module.
    unsafe {
        raw::RedisModule_RegisterCommandFilter.map_or(Status::Err, |register| {
            register(
                ctx.ctx,
                Some(nothing),
                raw::REDISMODULE_CMDFILTER_NOSELF as _,
            );
            Status::Ok
        })
    }
}

redis_module! {
    name: "empty_filter",
    version: 1,
    allocator: (RedisAlloc, RedisAlloc),
    data_types: [],
    init: register,
    commands: [],
}
