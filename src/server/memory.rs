//! Used memory and `maxmemory`.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

use super::api::api;
use super::events;
use super::info;

/// `maxmemory` in bytes, as it was last configured; 0 is no limit.
static MAXMEMORY: AtomicU64 = AtomicU64::new(0);

/// Reads `maxmemory` now and at every change of the configuration. `false` if
/// the server does not tell of those.
pub(super) fn follow_maxmemory(ctx: *mut RedisModuleCtx) -> bool {
    unsafe extern "C" fn configured(
        ctx: *mut RedisModuleCtx,
        _: RedisModuleEvent,
        _: u64,
        _: *mut c_void,
    ) {
        read(ctx);
    }
    read(ctx);
    events::subscribe(ctx, raw::REDISMODULE_EVENT_CONFIG, configured)
}

fn read(ctx: *mut RedisModuleCtx) {
    let maxmemory = info::field(ctx, c"memory", "maxmemory");
    let maxmemory = maxmemory.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    MAXMEMORY.store(maxmemory, Relaxed);
}

/// Used memory as a part of `maxmemory`; 0 if there is no limit.
pub(super) fn used_ratio() -> f64 {
    if MAXMEMORY.load(Relaxed) == 0 {
        return 0.0;
    }
    // SAFETY: takes nothing, touches nothing.
    unsafe { api!(RedisModule_GetUsedMemoryRatio()) }.into()
}

/// Bytes used beyond `maxmemory` at this [`used_ratio`], if that is a full server's.
pub(super) fn past_maxmemory(used_ratio: f64) -> Option<u64> {
    let past = used_ratio - 1.0;
    (past > 0.0).then(|| (past * MAXMEMORY.load(Relaxed) as f64) as u64)
}
