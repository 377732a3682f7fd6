//! What a command of the server does besides its write: the signal for `WATCH`,
//! keyspace notifications, and replication.
//!
//! A write through an open key is several times cheaper than the command. The rest
//! comes after the key is closed, since a module that is notified may modify it.

use std::ffi::{CStr, c_int};

use redis_module::raw;

use super::api::api;
use super::arg::Arg;
use super::ctx::Ctx;

impl Ctx<'_> {
    /// `PEXPIREAT name at`.
    pub(crate) fn expire_at(&self, name: Arg, at: i64) {
        if self.open_for_writing(name).set_expiry(at) {
            self.signal_modified(name);
            self.notify_and_replicate_expiry(name, at);
        }
    }

    /// What `EXPIRE` does besides its write.
    pub(super) fn notify_and_replicate_expiry(&self, name: Arg, at: i64) {
        self.notify(raw::REDISMODULE_NOTIFY_GENERIC, c"expire", name);
        // SAFETY: context and string are valid for this call; the format names
        // the arguments behind it.
        unsafe {
            api!(RedisModule_Replicate(
                self.raw,
                c"PEXPIREAT".as_ptr(),
                c"sl".as_ptr(),
                name.pointer(),
                at,
            ));
        }
    }

    /// Replicates a command of two arguments.
    pub(super) fn replicate_two(&self, command: &CStr, key: Arg, value: Arg) {
        // SAFETY: context and strings are valid for this call; the format names
        // the arguments behind it.
        unsafe {
            api!(RedisModule_Replicate(
                self.raw,
                command.as_ptr(),
                c"ss".as_ptr(),
                key.pointer(),
                value.pointer(),
            ));
        }
    }

    /// Marks the key as modified, for clients that watch or cache it.
    pub(super) fn signal_modified(&self, key: Arg) {
        // SAFETY: context and key are valid for this call.
        unsafe { api!(RedisModule_SignalModifiedKey(self.raw, key.pointer())) };
    }

    /// Notifies of what has happened to the key.
    pub(super) fn notify(&self, class: c_int, event: &CStr, key: Arg) {
        // SAFETY: context, event and key are valid for this call.
        unsafe {
            api!(RedisModule_NotifyKeyspaceEvent(
                self.raw,
                class,
                event.as_ptr(),
                key.pointer()
            ));
        }
    }
}
