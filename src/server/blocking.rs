//! Clients that are blocked until a key is created.
//!
//! The server keeps which client waits for which key, and the arguments of its
//! call: a blocked client costs the module no memory of its own. When a key has
//! been created, and the command that did it is done, the server calls
//! [`BlockingCommand::on_key_ready`] for the clients that wait for it, in the
//! order in which they came.

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::api::api;
use super::arg::Arg;
use super::command::Command;
use super::ctx::Ctx;
use super::error::Result;
use super::reply::Reply;
use super::stats;

/// A command whose client may be blocked.
pub(crate) trait BlockingCommand: Command {
    /// The call, made again when a key that the client waits for has been created.
    /// `None` if there is nothing for this client, which stays blocked. The server
    /// does not call again before the key is created anew, so `None` is wrong
    /// while there is a job for it.
    fn on_key_ready(ctx: &Ctx, args: &[Arg]) -> Option<Result<Reply>>;
}

impl Ctx<'_> {
    /// Whether the client of this call may be blocked: never inside `MULTI` or a
    /// script.
    pub(crate) fn can_block(&self) -> bool {
        let never = raw::REDISMODULE_CTX_FLAGS_MULTI
            | raw::REDISMODULE_CTX_FLAGS_LUA
            | raw::REDISMODULE_CTX_FLAGS_DENY_BLOCKING;
        !self.has_any(never)
    }

    /// Whether a script is running.
    pub(crate) fn is_in_script(&self) -> bool {
        self.has_any(raw::REDISMODULE_CTX_FLAGS_LUA)
    }

    /// Whether the server is a read-only replica.
    pub(crate) fn is_read_only(&self) -> bool {
        self.has_any(raw::REDISMODULE_CTX_FLAGS_READONLY)
    }

    fn has_any(&self, flags: u32) -> bool {
        // SAFETY: the context is that of this call.
        let all = unsafe { api!(RedisModule_GetContextFlags(self.raw)) };
        all & flags as c_int != 0
    }

    /// Blocks the client until one of `keys` is created, for `timeout`
    /// milliseconds, or indefinitely if that is 0.
    pub(crate) fn block_on_keys<'k, C: BlockingCommand>(
        &self,
        keys: impl ExactSizeIterator<Item = Arg<'k>>,
        timeout: i64,
    ) -> Reply {
        let mut keys: Vec<_> = keys.map(Arg::pointer).collect();
        let count = c_int::try_from(keys.len()).unwrap_or(c_int::MAX);
        // SAFETY: the context is that of a call that has not replied yet; the
        // server keeps copies of the keys. The callbacks are functions of a
        // library that is not unloaded once a command has come. Nothing follows
        // the pointer to private data: it is there to have it freed, which tells
        // when the client is no longer blocked.
        unsafe {
            api!(RedisModule_BlockClientOnKeys(
                self.raw,
                Some(reply_callback::<C>),
                Some(timeout_callback::<C>),
                Some(free_privdata),
                timeout,
                keys.as_mut_ptr(),
                count,
                ptr::dangling_mut::<c_void>(),
            ));
        }
        stats::WAITING_CLIENTS.add(1);
        Reply::Blocked
    }

    /// The key whose creation has woken the client.
    pub(crate) fn ready_key(&self) -> Option<Arg<'_>> {
        // SAFETY: the context is that of a woken client; the key is valid until
        // its call ends.
        unsafe {
            let key = api!(RedisModule_GetBlockedClientReadyKey(self.raw));
            NonNull::new(key).map(|key| Arg::new(key))
        }
    }
}

/// Called when a key has been created that the client waits for.
unsafe extern "C" fn reply_callback<C: BlockingCommand>(
    raw: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the server calls this, with a context and the arguments of the
    // call that waits, valid until it returns.
    let (ctx, args) = unsafe { (Ctx::new(raw), Arg::all(argv, argc)) };
    match C::on_key_ready(&ctx, args) {
        Some(result) => {
            stats::count(C::COUNTS, &result);
            ctx.send(C::INFO.name, result);
            raw::REDISMODULE_OK as c_int
        }
        None => raw::REDISMODULE_ERR as c_int,
    }
}

/// Called at the timeout, and for `CLIENT UNBLOCK`.
unsafe extern "C" fn timeout_callback<C: BlockingCommand>(
    raw: *mut RedisModuleCtx,
    _argv: *mut *mut RedisModuleString,
    _argc: c_int,
) -> c_int {
    stats::count(C::COUNTS, &Ok(Reply::Nil));
    // The nil of `BLMOVE`, which in RESP2 is that of an array.
    // SAFETY: the server calls this with a valid context.
    unsafe { api!(RedisModule_ReplyWithNullArray(raw)) }
}

/// Called when a client is no longer blocked, for whatever reason.
unsafe extern "C" fn free_privdata(_: *mut RedisModuleCtx, _: *mut c_void) {
    stats::WAITING_CLIENTS.subtract(1);
}
