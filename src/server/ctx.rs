//! The context of a call of a command.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::time::{SystemTime, UNIX_EPOCH};

use redis_module::raw::RedisModuleCtx;

use super::api::api;
use super::arg::OwnedString;

/// The server, for the length of a call. Its methods stand beside what they are
/// about: `call`, `keyspace`, `blocking`, `reply` and `error`.
pub(crate) struct Ctx<'a> {
    pub(super) raw: *mut RedisModuleCtx,
    call: PhantomData<&'a RedisModuleCtx>,
}

impl Ctx<'_> {
    /// # Safety
    /// `raw` is the context of a call of a command, and the result does not
    /// outlive that call.
    pub(super) unsafe fn new(raw: *mut RedisModuleCtx) -> Self {
        Self {
            raw,
            call: PhantomData,
        }
    }

    /// The server's clock: milliseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        // SAFETY: takes nothing, touches nothing.
        unsafe { api!(RedisModule_Milliseconds()) }
    }

    /// The clock as text: seconds since 1970, with microseconds.
    pub(crate) fn clock(&self) -> OwnedString {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let text = format!("{}.{:06}", now.as_secs(), now.subsec_micros());
        // SAFETY: the text is copied into a string that is the module's to free;
        // the server makes one or aborts.
        unsafe {
            let string = api!(RedisModule_CreateString(
                ptr::null_mut(),
                text.as_ptr().cast(),
                text.len()
            ));
            OwnedString::new(NonNull::new_unchecked(string))
        }
    }
}
