//! Why the module cannot be unloaded.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

use redis_module::{Context, Status, raw};

use super::api::api;
use super::events;
use super::log;

/// Refuses `MODULE UNLOAD`, which would crash a server that has a client with one
/// of the commands queued in `MULTI`, or a user whose ACL names one.
///
/// Exception: a server unloads a module during `MODULE LOADEX` if its options are
/// invalid, and from 8.0 on aborts if that is refused.
pub(crate) fn refuse_to_unload(context: &Context) -> Status {
    if !LOADED.load(Relaxed) {
        return Status::Ok;
    }
    log::write(
        context.ctx.cast(),
        log::WARNING,
        "wurk cannot be unloaded while the server runs: take it out of the configuration and restart",
    );
    Status::Err
}

/// Whether loading is over: a client has sent a command since.
static LOADED: AtomicBool = AtomicBool::new(false);

/// The filter that sees the first command, until then.
static FILTER: AtomicPtr<raw::RedisModuleCommandFilter> = AtomicPtr::new(ptr::null_mut());

/// Notes the first command after loading, by a filter. The server's first cron
/// loop removes it, so that no command pays for it. `false` if the server allows
/// neither.
pub(super) fn follow_first_command(ctx: *mut raw::RedisModuleCtx) -> bool {
    unsafe extern "C" fn command(_: *mut raw::RedisModuleCommandFilterCtx) {
        LOADED.store(true, Relaxed);
    }
    unsafe extern "C" fn cron_loop(
        ctx: *mut raw::RedisModuleCtx,
        _: raw::RedisModuleEvent,
        _: u64,
        _: *mut c_void,
    ) {
        LOADED.store(true, Relaxed);
        let filter = FILTER.swap(ptr::null_mut(), Relaxed);
        if !filter.is_null() {
            // SAFETY: the module's own context and filter, and no command is
            // being filtered in a cron loop.
            unsafe { api!(RedisModule_UnregisterCommandFilter(ctx, filter)) };
        }
    }
    // SAFETY: called at load in a valid context, with a function of a library that
    // is not unloaded without its filter.
    let filter = unsafe { api!(RedisModule_RegisterCommandFilter(ctx, Some(command), 0)) };
    FILTER.store(filter, Relaxed);
    !filter.is_null() && events::subscribe(ctx, raw::REDISMODULE_EVENT_CRON_LOOP, cron_loop)
}
