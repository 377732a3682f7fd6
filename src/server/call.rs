//! Commands of the server, called from inside it.
//!
//! None of them is checked for memory: that is what the module is for. The
//! formats are those of `RM_Call`: `!` replicates the command, `E` returns every
//! error as a reply, `S` has the server check whether it may be written to, `v`
//! takes a slice of strings.

use std::ffi::CStr;
use std::ptr::NonNull;

use redis_module::raw::{RedisModuleCallReply, RedisModuleString};

use super::api::api;
use super::arg::Arg;
use super::call_reply::CallReply;
use super::ctx::Ctx;
use super::error::{Error, Result};

/// A reply, or null if the server did not make one.
#[must_use]
pub(crate) struct CallResult(*mut RedisModuleCallReply);

impl CallResult {
    /// The reply, or the error that the server replied with.
    pub(crate) fn into_result(self) -> Result<CallReply> {
        let reply = NonNull::new(self.0).ok_or(Error::NoReply)?;
        // SAFETY: the reply was made for this call, and contexts of the module
        // do not free replies by themselves.
        let reply = unsafe { CallReply::new(reply) };
        if reply.is_error() {
            return Err(Error::Server(reply));
        }
        Ok(reply)
    }
}

impl Ctx<'_> {
    /// Calls a command that writes.
    pub(crate) fn call_replicated(&self, command: &CStr, args: &[Arg]) -> CallResult {
        self.call_with(c"!Ev", command, args)
    }

    /// Calls a command that writes, for a client that has been woken: refused as
    /// the server would refuse it now, with `READONLY`, `MISCONF` or `NOREPLICAS`.
    pub(crate) fn call_replicated_if_writable(&self, command: &CStr, args: &[Arg]) -> CallResult {
        self.call_with(c"!ESv", command, args)
    }

    /// Calls a command that only reads.
    pub(crate) fn call_readonly(&self, command: &CStr, args: &[Arg]) -> CallResult {
        self.call_with(c"Ev", command, args)
    }

    /// Whether the server knows a command, found by calling it without arguments:
    /// every one that is asked for needs some.
    pub(super) fn command_exists(&self, command: &CStr) -> bool {
        match self.call_readonly(command, &[]).into_result() {
            Err(Error::Server(error)) => !error.bytes().starts_with(b"ERR unknown command"),
            _ => false,
        }
    }

    fn call_with(&self, format: &CStr, command: &CStr, args: &[Arg]) -> CallResult {
        // SAFETY: `v` takes a pointer to strings and how many there are; an
        // `Arg` is a pointer to a string, and the server only reads them.
        CallResult(unsafe {
            api!(RedisModule_Call(
                self.raw,
                command.as_ptr(),
                format.as_ptr(),
                args.as_ptr().cast::<*mut RedisModuleString>(),
                args.len(),
            ))
        })
    }

    /// `SET key value NX PX ttl`. The value goes in as text, so that the server
    /// can keep a small number as a shared object: no memory at all.
    pub(crate) fn set_if_absent(&self, key: Arg, value: &CStr, ttl: Arg) -> CallResult {
        // SAFETY: the format names the arguments behind it.
        CallResult(unsafe {
            api!(RedisModule_Call(
                self.raw,
                c"SET".as_ptr(),
                c"!Escccs".as_ptr(),
                key.pointer(),
                value.as_ptr(),
                c"NX".as_ptr(),
                c"PX".as_ptr(),
                ttl.pointer(),
            ))
        })
    }
}
