//! Why the module cannot be unloaded.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

use redis_module::{Context, Status, raw};

use super::api::api;
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

/// Notes the first command after loading, by a filter. `false` if the server allows
/// none.
pub(super) fn follow_first_command(ctx: *mut raw::RedisModuleCtx) -> bool {
    unsafe extern "C" fn command(_: *mut raw::RedisModuleCommandFilterCtx) {
        LOADED.store(true, Relaxed);
    }
    // SAFETY: called at load in a valid context, with a function of a library that
    // is not unloaded without its filter.
    let filter = unsafe { api!(RedisModule_RegisterCommandFilter(ctx, Some(command), 0)) };
    FILTER.store(filter, Relaxed);
    !filter.is_null()
}

/// Removes that filter, so that no command pays for it. Called in a cron loop.
pub(super) fn loading_is_over(ctx: *mut raw::RedisModuleCtx) {
    LOADED.store(true, Relaxed);
    let filter = FILTER.swap(ptr::null_mut(), Relaxed);
    if !filter.is_null() {
        // SAFETY: the module's own context and filter, and no command is being
        // filtered in a cron loop.
        unsafe { api!(RedisModule_UnregisterCommandFilter(ctx, filter)) };
    }
}
