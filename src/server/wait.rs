//! Clients that wait for a list to be pushed to.
//!
//! The server keeps who waits for which key, and the arguments of their calls:
//! a waiting client costs the module no memory of its own. When a push has
//! created a list, and all that the pushing command did is done, it calls
//! [`Waits::woken`] for those who wait for it, first come, first served.

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::api::api;
use super::{Answer, Arg, Command, Ctx, Outcome, stats};

/// A command whose client may wait.
pub(crate) trait Waits: Command {
    /// A key that the client waits for holds something now. `None`: nothing for
    /// this client, which waits on. The server will not ask again before the
    /// key is created anew, so `None` is wrong while there is a job for it.
    fn woken(ctx: &Ctx, args: &[Arg]) -> Option<Outcome>;
}

impl Ctx<'_> {
    /// Whether this call may wait: none does inside `MULTI` or a script.
    pub(crate) fn may_wait(&self) -> bool {
        let never = raw::REDISMODULE_CTX_FLAGS_MULTI
            | raw::REDISMODULE_CTX_FLAGS_LUA
            | raw::REDISMODULE_CTX_FLAGS_DENY_BLOCKING;
        !self.has_any(never)
    }

    /// Whether the server is a replica now that takes no writes but its primary's.
    pub(crate) fn is_read_only(&self) -> bool {
        self.has_any(raw::REDISMODULE_CTX_FLAGS_READONLY)
    }

    fn has_any(&self, flags: u32) -> bool {
        // SAFETY: the context is that of this call.
        let all = unsafe { api!(RedisModule_GetContextFlags(self.raw)) };
        all & flags as c_int != 0
    }

    /// Lets the client wait until one of `keys` is created, for `timeout`
    /// milliseconds, 0 being for ever.
    pub(crate) fn wait<'k, C: Waits>(
        &self,
        keys: impl ExactSizeIterator<Item = Arg<'k>>,
        timeout: i64,
    ) -> Answer {
        let mut keys: Vec<_> = keys.map(Arg::pointer).collect();
        let count = c_int::try_from(keys.len()).unwrap_or(c_int::MAX);
        // SAFETY: the context is that of a call that has not replied yet; the
        // server keeps copies of the keys. The callbacks are functions of a
        // library that is not unloaded once a command has come. The private data is a pointer that
        // nobody follows: where there is one, its end is told.
        unsafe {
            api!(RedisModule_BlockClientOnKeys(
                self.raw,
                Some(woken::<C>),
                Some(timed_out::<C>),
                Some(waits_no_more),
                timeout,
                keys.as_mut_ptr(),
                count,
                ptr::dangling_mut::<c_void>(),
            ));
        }
        stats::WAITING_CLIENTS.add(1);
        Answer::Waiting
    }

    /// The key that has woken the client.
    pub(crate) fn ready_key(&self) -> Option<Arg<'_>> {
        // SAFETY: the context is that of a woken client; the key is valid until
        // its call ends.
        unsafe {
            let key = api!(RedisModule_GetBlockedClientReadyKey(self.raw));
            NonNull::new(key).map(|key| Arg::new(key))
        }
    }
}

/// What the server calls when a key is created that the client waits for.
unsafe extern "C" fn woken<C: Waits>(
    raw: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the server calls this, with a context and the arguments of the
    // call that waits, valid until it returns.
    let (ctx, args) = unsafe { (Ctx::new(raw), Arg::all(argv, argc)) };
    match C::woken(&ctx, args) {
        Some(outcome) => {
            stats::count(&C::COUNTS, &outcome);
            ctx.send(&C::ABOUT, outcome);
            raw::REDISMODULE_OK as c_int
        }
        None => raw::REDISMODULE_ERR as c_int,
    }
}

/// What the server calls when the time is up, and for `CLIENT UNBLOCK`.
unsafe extern "C" fn timed_out<C: Waits>(
    raw: *mut RedisModuleCtx,
    _argv: *mut *mut RedisModuleString,
    _argc: c_int,
) -> c_int {
    stats::count(&C::COUNTS, &Ok(Answer::Nil));
    // The nil of `BLMOVE`, which in RESP2 is that of an array.
    // SAFETY: the server calls this with a valid context.
    unsafe { api!(RedisModule_ReplyWithNullArray(raw)) }
}

/// What the server calls when a client waits no more, whatever the reason.
unsafe extern "C" fn waits_no_more(_: *mut RedisModuleCtx, _: *mut c_void) {
    stats::WAITING_CLIENTS.subtract(1);
}
