//! Argument strings that are used in every call, made once at load.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use redis_module::raw::RedisModuleString;

use super::api::api;
use super::arg::Arg;

macro_rules! shared_strings {
    ($($name:ident = $text:expr)*) => {
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types)]
        enum Shared { $($name),* }

        const TEXTS: &[&[u8]] = &[$($text),*];

        $(
            #[doc = concat!("The argument `", stringify!($name), "`.")]
            #[inline]
            pub(crate) fn $name() -> Arg<'static> {
                get(Shared::$name)
            }
        )*
    };
}

shared_strings! {
    beat = b"beat"
    info = b"info"
    left = b"LEFT"
    one = b"1"
    rescue = b"WURK.RESCUE"
    right = b"RIGHT"
}

static STRINGS: [AtomicPtr<RedisModuleString>; TEXTS.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; TEXTS.len()];

fn get(which: Shared) -> Arg<'static> {
    // The index is a variant of the enum that counts the array.
    #[allow(clippy::indexing_slicing)]
    let string = STRINGS[which as usize].load(Relaxed);
    // SAFETY: `create` has run before any command could be called, and what it
    // made is never changed or freed: the module cannot be unloaded once a
    // command has come.
    unsafe { Arg::new(NonNull::new_unchecked(string)) }
}

/// Creates the strings. Once, at load, before any command is registered.
pub(super) fn create() {
    for (text, shared) in TEXTS.iter().zip(&STRINGS) {
        // SAFETY: the text is copied. Without a context the string belongs to
        // nobody but `STRINGS`.
        let string = unsafe {
            api!(RedisModule_CreateString(
                ptr::null_mut(),
                text.as_ptr().cast(),
                text.len()
            ))
        };
        shared.store(string, Relaxed);
    }
}
