//! How the server stands to `maxmemory`.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

use super::api::api;
use super::load;

/// `maxmemory` in bytes, as the configuration had it last; 0 is no limit.
static MAXMEMORY: AtomicU64 = AtomicU64::new(0);

/// Reads `maxmemory`, and again at every change of the configuration.
pub(super) fn follow(ctx: *mut RedisModuleCtx) -> bool {
    read(ctx);
    let event = RedisModuleEvent {
        id: raw::REDISMODULE_EVENT_CONFIG,
        dataver: 1,
    };
    // SAFETY: called at load in a valid context, with a function of a library
    // that is not unloaded without its subscriptions.
    let status = unsafe {
        api!(RedisModule_SubscribeToServerEvent(
            ctx,
            event,
            Some(changed)
        ))
    };
    status == raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn changed(
    ctx: *mut RedisModuleCtx,
    _: RedisModuleEvent,
    _: u64,
    _: *mut c_void,
) {
    read(ctx);
}

fn read(ctx: *mut RedisModuleCtx) {
    let maxmemory = load::server_info(ctx, c"memory", "maxmemory");
    let maxmemory = maxmemory.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    MAXMEMORY.store(maxmemory, Relaxed);
}

/// Memory in use as a part of `maxmemory`; 0 where there is no limit.
pub(super) fn used_part() -> f64 {
    if MAXMEMORY.load(Relaxed) == 0 {
        return 0.0;
    }
    // SAFETY: takes nothing, touches nothing.
    unsafe { api!(RedisModule_GetUsedMemoryRatio()) }.into()
}

/// Bytes in use beyond `maxmemory`, if there are any: the server is full.
pub(super) fn past_maxmemory() -> Option<u64> {
    let past = used_part() - 1.0;
    (past > 0.0).then(|| (past * MAXMEMORY.load(Relaxed) as f64) as u64)
}
