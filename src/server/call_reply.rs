//! What the server replied to a command that was called from inside it.

use std::ptr::NonNull;
use std::slice;

use redis_module::raw::{self, RedisModuleCallReply};

use super::api::api;

/// A reply. Freed at the end of its scope.
pub(crate) struct CallReply(NonNull<RedisModuleCallReply>);

impl CallReply {
    /// # Safety
    /// Nobody else frees `reply`, and no context does so by itself.
    pub(super) unsafe fn new(reply: NonNull<RedisModuleCallReply>) -> Self {
        Self(reply)
    }

    pub(super) fn pointer(&self) -> *mut RedisModuleCallReply {
        self.0.as_ptr()
    }

    fn is_a(&self, reply_type: isize) -> bool {
        // SAFETY: a reply that has not been freed.
        let found = unsafe { api!(RedisModule_CallReplyType(self.pointer())) };
        found as isize == reply_type
    }

    pub(crate) fn is_nil(&self) -> bool {
        self.is_a(raw::REDISMODULE_REPLY_NULL)
    }

    pub(super) fn is_error(&self) -> bool {
        self.is_a(raw::REDISMODULE_REPLY_ERROR)
    }

    /// Whether the text of a string or an error starts so.
    pub(super) fn starts_with(&self, text: &[u8]) -> bool {
        let mut length = 0;
        // SAFETY: a reply that has not been freed; null if it is no text.
        unsafe {
            let start = api!(RedisModule_CallReplyStringPtr(self.pointer(), &mut length));
            !start.is_null() && slice::from_raw_parts(start.cast::<u8>(), length).starts_with(text)
        }
    }

    /// The integer replied, 0 if the reply is none.
    pub(crate) fn integer(&self) -> i64 {
        if self.is_a(raw::REDISMODULE_REPLY_INTEGER) {
            // SAFETY: a reply that has not been freed, and an integer.
            unsafe { api!(RedisModule_CallReplyInteger(self.pointer())) }
        } else {
            0
        }
    }
}

impl Drop for CallReply {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe { api!(RedisModule_FreeCallReply(self.pointer())) }
    }
}
