//! Commands of the server's own, called from inside it.
//!
//! None of them is checked for memory: that is what the module is for. The
//! formats, in the server's letters: `!` sends the command on to replicas and
//! the AOF, `E` makes every refusal a reply, `S` has the server check whether it
//! may be written to, `v` stands for a slice of strings.

use std::ffi::CStr;
use std::ptr::NonNull;

use redis_module::raw::{self, RedisModuleCallReply, RedisModuleString};

use super::api::api;
use super::{Arg, Ctx, Refusal};

/// What the server replied. Freed at the end of its scope.
pub(crate) struct Reply(NonNull<RedisModuleCallReply>);

impl Reply {
    fn kind(&self) -> i32 {
        // SAFETY: a reply that has not been freed.
        unsafe { api!(RedisModule_CallReplyType(self.pointer())) }
    }

    pub(super) fn pointer(&self) -> *mut RedisModuleCallReply {
        self.0.as_ptr()
    }

    /// There is nothing.
    pub(crate) fn is_nil(&self) -> bool {
        self.kind() == raw::REDISMODULE_REPLY_NULL as i32
    }

    fn starts_with(&self, text: &[u8]) -> bool {
        let mut length = 0;
        // SAFETY: a reply that has not been freed; null where it is no text.
        unsafe {
            let start = api!(RedisModule_CallReplyStringPtr(self.pointer(), &mut length));
            !start.is_null()
                && std::slice::from_raw_parts(start.cast::<u8>(), length).starts_with(text)
        }
    }

    /// The integer replied, 0 where the reply is none.
    pub(crate) fn integer(&self) -> i64 {
        if self.kind() == raw::REDISMODULE_REPLY_INTEGER as i32 {
            // SAFETY: a reply that has not been freed, and an integer.
            unsafe { api!(RedisModule_CallReplyInteger(self.pointer())) }
        } else {
            0
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe { api!(RedisModule_FreeCallReply(self.pointer())) }
    }
}

/// A reply, or null where the server would not even make one.
#[must_use]
pub(crate) struct Called(*mut RedisModuleCallReply);

impl Called {
    /// The reply, or the error that the server answered with.
    pub(crate) fn ok(self) -> Result<Reply, Refusal> {
        let reply = Reply(NonNull::new(self.0).ok_or(Refusal::NoReply)?);
        if reply.kind() == raw::REDISMODULE_REPLY_ERROR as i32 {
            return Err(Refusal::Server(reply));
        }
        Ok(reply)
    }
}

impl Ctx<'_> {
    /// Calls a command that writes.
    pub(crate) fn call(&self, command: &CStr, args: &[Arg]) -> Called {
        self.call_with(c"!Ev", command, args)
    }

    /// Calls a command that writes, for a client that has been woken: refused as
    /// the server would refuse it now, with `READONLY`, `MISCONF` or `NOREPLICAS`.
    pub(crate) fn call_if_writable(&self, command: &CStr, args: &[Arg]) -> Called {
        self.call_with(c"!ESv", command, args)
    }

    /// Whether the server knows a command, by calling it without arguments:
    /// every one that is asked for wants some.
    pub(super) fn knows(&self, command: &CStr) -> bool {
        match self.ask(command, &[]).ok() {
            Err(Refusal::Server(error)) => !error.starts_with(b"ERR unknown command"),
            _ => false,
        }
    }

    /// Calls a command that only reads.
    pub(crate) fn ask(&self, command: &CStr, args: &[Arg]) -> Called {
        self.call_with(c"Ev", command, args)
    }

    fn call_with(&self, format: &CStr, command: &CStr, args: &[Arg]) -> Called {
        // SAFETY: `v` takes a pointer to strings and how many there are; an
        // `Arg` is a pointer to a string, and the server only reads them.
        Called(unsafe {
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
    /// can keep a small number as one that it shares: no memory at all.
    pub(crate) fn set_if_absent(&self, key: Arg, value: &CStr, ttl: Arg) -> Called {
        // SAFETY: the format names the arguments behind it.
        Called(unsafe {
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
