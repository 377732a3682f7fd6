//! Unloading, which is refused.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

use redis_module::{Context, Status, raw};

use super::api::api;
use super::load;

/// `MODULE UNLOAD` brings a server down that has a client with one of the
/// commands queued, or a user whose rights name one: there is no unloading.
///
/// But for the server's own, within `MODULE LOADEX`, of a module that it has
/// loaded and does not like the options of: from 8.0 on it ends where that is
/// refused.
pub(crate) fn refuse_to_unload(context: &Context) -> Status {
    if !LOADED.load(Relaxed) {
        return Status::Ok;
    }
    load::log(
        context,
        c"warning",
        "wurk cannot be unloaded while the server runs: take it out of the configuration and restart",
    );
    Status::Err
}

/// Loading is over: a client has sent a command since.
static LOADED: AtomicBool = AtomicBool::new(false);

/// What takes note of the first command, until it has.
static FILTER: AtomicPtr<raw::RedisModuleCommandFilter> = AtomicPtr::new(ptr::null_mut());

/// Takes note of the first command after loading. A filter sees each before it
/// runs; the server's first round takes it away again, so that none pays for it.
pub(super) fn follow_first_command(ctx: *mut raw::RedisModuleCtx) -> bool {
    unsafe extern "C" fn command(_: *mut raw::RedisModuleCommandFilterCtx) {
        LOADED.store(true, Relaxed);
    }
    unsafe extern "C" fn round(
        ctx: *mut raw::RedisModuleCtx,
        _: raw::RedisModuleEvent,
        _: u64,
        _: *mut c_void,
    ) {
        LOADED.store(true, Relaxed);
        let filter = FILTER.swap(ptr::null_mut(), Relaxed);
        if !filter.is_null() {
            // SAFETY: the module's own context and filter, and no command is
            // being filtered in a round of the server.
            unsafe { api!(RedisModule_UnregisterCommandFilter(ctx, filter)) };
        }
    }
    let event = raw::RedisModuleEvent {
        id: raw::REDISMODULE_EVENT_CRON_LOOP,
        dataver: 1,
    };
    // SAFETY: called at load in a valid context, with functions of a library
    // that is not unloaded without its subscriptions and its filter.
    unsafe {
        let filter = api!(RedisModule_RegisterCommandFilter(ctx, Some(command), 0));
        FILTER.store(filter, Relaxed);
        let status = api!(RedisModule_SubscribeToServerEvent(ctx, event, Some(round)));
        !filter.is_null() && status == raw::REDISMODULE_OK as c_int
    }
}
