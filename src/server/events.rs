//! Events of the server that the module follows.

use std::ffi::{c_int, c_void};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

use super::api::api;

/// What the server calls at an event.
pub(super) type Callback =
    unsafe extern "C" fn(*mut RedisModuleCtx, RedisModuleEvent, u64, *mut c_void);

/// Has `callback` called at every event of this kind. `false` if the server does
/// not tell of those.
pub(super) fn subscribe(ctx: *mut RedisModuleCtx, id: u64, callback: Callback) -> bool {
    let event = RedisModuleEvent { id, dataver: 1 };
    // SAFETY: called at load in a valid context, with a function of a library that
    // is not unloaded without its subscriptions.
    let status = unsafe {
        api!(RedisModule_SubscribeToServerEvent(
            ctx,
            event,
            Some(callback)
        ))
    };
    status == raw::REDISMODULE_OK as c_int
}
