//! What the server replied to a command that was called from inside it.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
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

    /// Whether this is the error of a full server.
    pub(crate) fn is_oom(&self) -> bool {
        self.is_error() && self.bytes().starts_with(b"OOM ")
    }

    /// The text of a string or an error, empty if the reply is neither.
    pub(super) fn bytes(&self) -> &[u8] {
        let mut length = 0;
        // SAFETY: a reply that has not been freed, and its text with it; null if
        // it has none.
        unsafe {
            let start = api!(RedisModule_CallReplyStringPtr(self.pointer(), &mut length));
            if start.is_null() {
                &[]
            } else {
                slice::from_raw_parts(start.cast::<u8>(), length)
            }
        }
    }

    /// The items of an array or a set. None if the reply is neither.
    pub(super) fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let is_list =
            self.is_a(raw::REDISMODULE_REPLY_ARRAY) || self.is_a(raw::REDISMODULE_REPLY_SET);
        // SAFETY: a reply that has not been freed.
        let length = unsafe { api!(RedisModule_CallReplyLength(self.pointer())) };
        (0..if is_list { length } else { 0 }).filter_map(|index| self.item(index))
    }

    /// An item of an array.
    pub(super) fn item(&self, index: usize) -> Option<Item<'_>> {
        // SAFETY: a reply that has not been freed; null if it has no such item.
        let item = unsafe { api!(RedisModule_CallReplyArrayElement(self.pointer(), index)) };
        Some(Item {
            reply: ManuallyDrop::new(Self(NonNull::new(item)?)),
            owner: PhantomData,
        })
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

impl CallReply {
    /// The value behind this name, in a map as RESP2 shows it.
    pub(super) fn field(&self, name: &[u8]) -> Option<Item<'_>> {
        let mut items = self.items();
        while let (Some(found), Some(value)) = (items.next(), items.next()) {
            if found.bytes() == name {
                return Some(value);
            }
        }
        None
    }
}

/// A reply inside another one, which frees it.
pub(super) struct Item<'r> {
    reply: ManuallyDrop<CallReply>,
    owner: PhantomData<&'r CallReply>,
}

impl Deref for Item<'_> {
    type Target = CallReply;

    fn deref(&self) -> &CallReply {
        &self.reply
    }
}

impl Drop for CallReply {
    fn drop(&mut self) {
        // SAFETY: freed once.
        unsafe { api!(RedisModule_FreeCallReply(self.pointer())) }
    }
}
