//! What a client sent: bytes that the server owns for the length of the call.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::slice;

use redis_module::raw::{self, RedisModuleString};

use super::api::api;

/// An argument of a command, read in place.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Arg<'a> {
    string: NonNull<RedisModuleString>,
    owner: PhantomData<&'a RedisModuleString>,
}

impl<'a> Arg<'a> {
    /// # Safety
    /// `string` stays valid and unchanged for `'a`.
    pub(super) unsafe fn new(string: NonNull<RedisModuleString>) -> Self {
        Self {
            string,
            owner: PhantomData,
        }
    }

    /// The arguments of a call, its name first.
    ///
    /// # Safety
    /// `argv` and `argc` are what the server handed to a command's handler, and
    /// `'a` ends when that handler returns.
    pub(super) unsafe fn all(argv: *mut *mut RedisModuleString, argc: c_int) -> &'a [Self] {
        let length = usize::try_from(argc).unwrap_or(0);
        // SAFETY: `argc` pointers stand at `argv`, none of them null, and an
        // `Arg` is such a pointer.
        unsafe { slice::from_raw_parts(argv.cast::<Self>(), length) }
    }

    pub(super) fn pointer(self) -> *mut RedisModuleString {
        self.string.as_ptr()
    }

    /// The bytes of the argument.
    pub(crate) fn bytes(self) -> &'a [u8] {
        let mut length = 0;
        // SAFETY: the string is valid for `'a`, and the server never changes
        // one that it has handed to a module.
        unsafe {
            let start = api!(RedisModule_StringPtrLen(self.pointer(), &mut length));
            slice::from_raw_parts(start.cast::<u8>(), length)
        }
    }

    /// The argument as the server reads integers: decimal digits, no spaces.
    pub(crate) fn integer(self) -> Option<i64> {
        let mut value = 0;
        // SAFETY: the string is valid, and `value` is written before it is read.
        let status = unsafe { api!(RedisModule_StringToLongLong(self.pointer(), &mut value)) };
        (status == raw::REDISMODULE_OK as c_int).then_some(value)
    }
}
