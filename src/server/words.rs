//! The words that the module says to the server again and again, made once.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use redis_module::raw::RedisModuleString;

use super::Arg;
use super::api::api;

macro_rules! words {
    ($($word:ident = $text:literal)*) => {
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types)]
        enum Word { $($word),* }

        const TEXTS: &[&[u8]] = &[$($text),*];

        $(
            #[doc = concat!("The argument `", stringify!($word), "`.")]
            #[inline]
            pub(crate) fn $word() -> Arg<'static> {
                get(Word::$word)
            }
        )*
    };
}

words! {
    beat = b"beat"
    info = b"info"
    left = b"LEFT"
    one = b"1"
    right = b"RIGHT"
}

static MADE: [AtomicPtr<RedisModuleString>; TEXTS.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; TEXTS.len()];

fn get(word: Word) -> Arg<'static> {
    // The index is a variant of the enum that counts the array.
    #[allow(clippy::indexing_slicing)]
    let made = MADE[word as usize].load(Relaxed);
    // SAFETY: `make` has run before any command could be called, and what it
    // made is never freed nor changed: the module is not
    // unloaded once a command has come.
    unsafe { Arg::new(NonNull::new_unchecked(made)) }
}

/// Makes the words. Once, at load, before any command is registered.
pub(super) fn make() {
    for (text, made) in TEXTS.iter().zip(&MADE) {
        // SAFETY: the text is copied. Without a context the string belongs to
        // nobody but `MADE`.
        let string = unsafe {
            api!(RedisModule_CreateString(
                ptr::null_mut(),
                text.as_ptr().cast(),
                text.len()
            ))
        };
        made.store(string, Relaxed);
    }
}
