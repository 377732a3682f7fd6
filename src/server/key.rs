//! Open keys: their types, and when they expire. What they hold is read and written in
//! `hash`, `list` and `sorted_set`.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use redis_module::raw::{self, RedisModuleKey};

use super::api::api;
use super::arg::Arg;
use super::ctx::Ctx;

/// The type of a key's value, as far as a command cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyType {
    /// No key, or one that has expired.
    Absent,
    Hash,
    List,
    Set,
    SortedSet,
    /// Any other type.
    Other,
}

/// Reads as any command does.
const READ_AS_USED: c_int = raw::REDISMODULE_READ as c_int;
/// Reads without counting as a use of the key, as `TYPE` and `EXISTS` do.
const READ: c_int = (raw::REDISMODULE_READ | raw::REDISMODULE_OPEN_KEY_NOTOUCH) as c_int;
/// Opens for writing, and for reading what is written to; an absent key is no miss.
const WRITE: c_int = (raw::REDISMODULE_READ | raw::REDISMODULE_WRITE) as c_int;
/// As [`READ`], and an absent key is no miss, as in `LMOVE`.
const READ_SILENTLY: c_int =
    READ | (raw::REDISMODULE_OPEN_KEY_NONOTIFY | raw::REDISMODULE_OPEN_KEY_NOSTATS) as c_int;
/// What does the same on a server that has no such modes.
const WRITE_SILENTLY: c_int = WRITE | raw::REDISMODULE_OPEN_KEY_NOTOUCH as c_int;

/// How this server lets a module peek at a key.
static PEEK: AtomicI32 = AtomicI32::new(WRITE_SILENTLY);

/// Finds out, at load, which modes the server has.
pub(super) fn choose_peek_mode() {
    // SAFETY: the pointer is written once, before `load` runs; it is null on
    // servers before 7.2, which know none of the newer modes.
    let modes = unsafe { raw::RedisModule_GetOpenKeyModesAll.map_or(0, |all| all()) };
    if modes & READ_SILENTLY == READ_SILENTLY {
        PEEK.store(READ_SILENTLY, Relaxed);
    }
}

/// An open key. Closed at the end of its scope.
pub(crate) struct Key<'c> {
    pub(super) raw: *mut RedisModuleKey,
    call: PhantomData<&'c Ctx<'c>>,
}

impl Key<'_> {
    fn open(ctx: &Ctx, name: Arg, mode: c_int) -> Self {
        Self {
            // SAFETY: context and name are valid for this call of the command.
            // The result is null for an absent key that is only read; all that
            // is done with such a key takes null.
            raw: unsafe { api!(RedisModule_OpenKey(ctx.raw, name.pointer(), mode)) },
            call: PhantomData,
        }
    }

    pub(crate) fn key_type(&self) -> KeyType {
        // SAFETY: an open key or null.
        let key_type = unsafe { api!(RedisModule_KeyType(self.raw)) };
        match key_type as isize {
            raw::REDISMODULE_KEYTYPE_EMPTY => KeyType::Absent,
            raw::REDISMODULE_KEYTYPE_HASH => KeyType::Hash,
            raw::REDISMODULE_KEYTYPE_LIST => KeyType::List,
            raw::REDISMODULE_KEYTYPE_SET => KeyType::Set,
            raw::REDISMODULE_KEYTYPE_ZSET => KeyType::SortedSet,
            _ => KeyType::Other,
        }
    }

    /// Sets when the key expires. `false` if it is absent.
    pub(super) fn set_expiry(&self, at: i64) -> bool {
        // SAFETY: a key that is open for writing.
        let status = unsafe { api!(RedisModule_SetAbsExpire(self.raw, at)) };
        status == raw::REDISMODULE_OK as c_int
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        // SAFETY: opened by `open`, closed once. Null is ignored.
        unsafe { api!(RedisModule_CloseKey(self.raw)) }
    }
}

impl Ctx<'_> {
    /// The type of `key`; like `TYPE`, also in what it notifies of.
    pub(crate) fn key_type(&self, key: Arg) -> KeyType {
        Key::open(self, key, READ).key_type()
    }

    /// The type of `key`, with no trace in statistics, events or the LRU clock.
    pub(crate) fn peek_type(&self, key: Arg) -> KeyType {
        Key::open(self, key, PEEK.load(Relaxed)).key_type()
    }

    /// Opens `key` to read its value, as any command does.
    pub(super) fn open_for_reading(&self, key: Arg) -> Key<'_> {
        Key::open(self, key, READ_AS_USED)
    }

    /// Opens `key` for writing; without a trace until it is written to.
    pub(crate) fn open_for_writing(&self, key: Arg) -> Key<'_> {
        Key::open(self, key, WRITE)
    }
}
