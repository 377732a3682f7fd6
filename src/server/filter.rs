//! The filter that puts `WURK.RESCUE` before the commands of rescued users.
//!
//! It is registered only while a user is named. A filter sees a command before
//! the server looks it up, so that inserting the name is enough for ACLs, cluster
//! redirections and `MULTI`.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use redis_module::raw::{
    self, RedisModuleCommandFilter, RedisModuleCommandFilterCtx, RedisModuleCtx,
};

use super::api::api;
use super::arg::Arg;
use super::clients;
use super::memory;
use super::refusable::{self, Refusable};
use super::shared_strings;
use super::users;

/// From this part of maxmemory on: a transaction that is queued just before the
/// server is full must not fail for it.
const NEARLY_FULL: f64 = 0.99;

/// A context without a client, for what a filter asks of the server.
static DETACHED: AtomicPtr<RedisModuleCtx> = AtomicPtr::new(ptr::null_mut());
static FILTER: AtomicPtr<RedisModuleCommandFilter> = AtomicPtr::new(ptr::null_mut());

/// Whether this server tells a filter whose command it is: from 7.2 on.
pub(super) fn is_possible() -> bool {
    // SAFETY: the pointers are written once, before `load` runs.
    unsafe {
        { raw::RedisModule_CommandFilterGetClientId }.is_some() && {
            raw::RedisModule_GetClientUserNameById
        }
        .is_some()
    }
}

/// Makes the context. Once, at load.
pub(super) fn prepare(ctx: *mut RedisModuleCtx) {
    // SAFETY: the context is the module's own; the detached one stays.
    let detached = unsafe { api!(RedisModule_GetDetachedThreadSafeContext(ctx)) };
    DETACHED.store(detached, Relaxed);
}

/// The context that was made at load.
pub(super) fn context() -> *mut RedisModuleCtx {
    DETACHED.load(Relaxed)
}

/// Registers the filter if a user is named, or else unregisters it. Called when the
/// names have changed.
pub(super) fn follow_users() {
    let ctx = context();
    let filter = FILTER.load(Relaxed);
    let wanted = users::is_anyone_named() && is_possible();
    clients::forget_all();
    // SAFETY: a context of the module, a function of a library that is not
    // unloaded without its filter, and no command is being filtered while a
    // configuration is set.
    unsafe {
        if wanted && filter.is_null() {
            let no_self = raw::REDISMODULE_CMDFILTER_NOSELF as c_int;
            let filter = api!(RedisModule_RegisterCommandFilter(
                ctx,
                Some(rescue),
                no_self
            ));
            FILTER.store(filter, Relaxed);
        } else if !wanted && !filter.is_null() {
            api!(RedisModule_UnregisterCommandFilter(ctx, filter));
            FILTER.store(ptr::null_mut(), Relaxed);
        }
    }
}

/// Commands after which a client may have another user, `EXEC` for those in a
/// transaction.
const CHANGES_USER: [&[u8]; 4] = [b"AUTH", b"EXEC", b"HELLO", b"RESET"];
/// The command after which any user may have other permissions.
const CHANGES_USERS: &[u8] = b"ACL";

/// Asks what is cheapest first: most commands are refused by no server, and most
/// servers are not full.
unsafe extern "C" fn rescue(filtered: *mut RedisModuleCommandFilterCtx) {
    let argument = |at: c_int| {
        // SAFETY: the server calls this with a valid context; the argument is null
        // if there is none at this place, and valid until the filter returns.
        unsafe {
            let argument = api!(RedisModule_CommandFilterArgGet(filtered, at));
            ptr::NonNull::new(argument).map(|argument| Arg::new(argument).bytes())
        }
    };
    let Some(name) = argument(0) else { return };
    let Some(refused) = refusable::find(name, || argument(1)) else {
        forget_whose_user_changes(filtered, name);
        return;
    };
    // SAFETY: as above.
    let arguments = unsafe { api!(RedisModule_CommandFilterArgsCount(filtered)) };
    if !refused.takes(arguments.into()) {
        return; // The server says so, in MULTI before it queues.
    }
    // One that waits may be served when the server has become full.
    if refused.how != Refusable::Waits && memory::used_ratio() < NEARLY_FULL {
        return;
    }
    let Some(client) = client(filtered) else {
        return;
    };
    let is_rescued = clients::is_rescued(client).unwrap_or_else(|| {
        // A user without the permission is refused as ever, not denied.
        let is_rescued = users::is_client_rescued(context(), client, shared_strings::rescue());
        clients::remember(client, is_rescued);
        is_rescued
    });
    if !is_rescued {
        return;
    }
    let rescue = shared_strings::rescue().bytes();
    // Not the shared string itself: a server with I/O threads may free the arguments of
    // a client there, and the references to a string are not counted atomically.
    // SAFETY: as above. The text is copied, and the string is the server's once it is
    // inserted.
    unsafe {
        let rescue = api!(RedisModule_CreateString(
            ptr::null_mut(),
            rescue.as_ptr().cast(),
            rescue.len()
        ));
        api!(RedisModule_CommandFilterArgInsert(filtered, 0, rescue));
    }
}

fn forget_whose_user_changes(filtered: *mut RedisModuleCommandFilterCtx, name: &[u8]) {
    let is = |known: &[u8]| known.eq_ignore_ascii_case(name);
    if is(CHANGES_USERS) {
        clients::forget_all();
    } else if CHANGES_USER.into_iter().any(is)
        && let Some(client) = client(filtered)
    {
        clients::forget(client);
    }
}

/// The client that sent the command.
fn client(filtered: *mut RedisModuleCommandFilterCtx) -> Option<u64> {
    // SAFETY: the pointer is written once, before `load` runs, and the server has
    // called the filter with this context.
    unsafe { raw::RedisModule_CommandFilterGetClientId.map(|client_of| client_of(filtered)) }
}
