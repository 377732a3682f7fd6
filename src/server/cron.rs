//! What is done in the server's cron loop, ten times a second or more.

use std::ffi::c_void;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

use super::clients;
use super::events;
use super::unload;

/// Follows the cron loop. `false` if the server does not tell of it.
pub(super) fn follow(ctx: *mut RedisModuleCtx) -> bool {
    // One for all: the server knows one callback of a module for each event.
    unsafe extern "C" fn cron_loop(
        ctx: *mut RedisModuleCtx,
        _: RedisModuleEvent,
        _: u64,
        _: *mut c_void,
    ) {
        unload::loading_is_over(ctx);
        // A module may give a client another user without a command.
        clients::forget_all();
    }
    events::subscribe(ctx, raw::REDISMODULE_EVENT_CRON_LOOP, cron_loop)
}
