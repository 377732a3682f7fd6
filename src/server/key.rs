//! Open keys, and what is read from and written to them directly.
//!
//! Nothing here notifies or replicates: see `keyspace`.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use redis_module::raw::{self, RedisModuleKey, RedisModuleString};

use super::api::api;
use super::arg::{Arg, OwnedString};
use super::ctx::Ctx;
use super::error::{Error, Result};

/// The type of a key's value, as far as a command cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyType {
    /// No key, or one that has expired.
    Absent,
    Hash,
    List,
    Set,
    /// Any other type.
    Other,
}

/// Reads without counting as a use of the key, as `TYPE` and `EXISTS` do.
const READ: c_int = (raw::REDISMODULE_READ | raw::REDISMODULE_OPEN_KEY_NOTOUCH) as c_int;
/// Opens for writing; an absent key is no miss.
const WRITE: c_int = raw::REDISMODULE_WRITE as c_int;
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
    raw: *mut RedisModuleKey,
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
            _ => KeyType::Other,
        }
    }

    /// Sets a field, of a hash or an absent key. Refused if the key has become
    /// something else, as another module may have seen to on an event.
    pub(super) fn set_field(&self, field: Arg, value: Arg) -> Result<()> {
        // SAFETY: a key that is open for writing, strings that are valid for this
        // call, and the null that ends the list. The hash copies what it keeps.
        let fields = unsafe {
            api!(RedisModule_HashSet(
                self.raw,
                raw::REDISMODULE_HASH_COUNT_ALL as c_int,
                field.pointer(),
                value.pointer(),
                ptr::null_mut::<RedisModuleString>(),
            ))
        };
        if fields == 1 {
            Ok(())
        } else {
            Err(Error::WrongType)
        }
    }

    /// Whether the hash has a field that has not expired.
    pub(super) fn has_field(&self, field: Arg) -> bool {
        let mut exists: c_int = 0;
        // SAFETY: a key that is open for writing, a string that is valid for this
        // call, a place for the one number that is asked for, and the null that
        // ends the list.
        unsafe {
            api!(RedisModule_HashGet(
                self.raw,
                raw::REDISMODULE_HASH_EXISTS as c_int,
                field.pointer(),
                &raw mut exists,
                ptr::null_mut::<RedisModuleString>(),
            ));
        }
        exists != 0
    }

    /// Sets when the key expires. `false` if it is absent.
    pub(super) fn set_expiry(&self, at: i64) -> bool {
        // SAFETY: a key that is open for writing.
        let status = unsafe { api!(RedisModule_SetAbsExpire(self.raw, at)) };
        status == raw::REDISMODULE_OK as c_int
    }

    pub(super) fn pop_tail(&self) -> Option<OwnedString> {
        // SAFETY: a key that is open for writing; the string that is popped is the
        // module's to free.
        unsafe {
            let job = api!(RedisModule_ListPop(
                self.raw,
                raw::REDISMODULE_LIST_TAIL as c_int
            ));
            NonNull::new(job).map(|job| OwnedString::new(job))
        }
    }

    pub(super) fn push_head(&self, job: &OwnedString) -> bool {
        self.push(raw::REDISMODULE_LIST_HEAD, job)
    }

    pub(super) fn push_tail(&self, job: &OwnedString) -> bool {
        self.push(raw::REDISMODULE_LIST_TAIL, job)
    }

    fn push(&self, end: isize, job: &OwnedString) -> bool {
        // SAFETY: a key that is open for writing, and a string that is valid.
        let status = unsafe {
            api!(RedisModule_ListPush(
                self.raw,
                end as c_int,
                job.arg().pointer()
            ))
        };
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

    /// Opens `key` for writing; without a trace until it is written to.
    pub(crate) fn open_for_writing(&self, key: Arg) -> Key<'_> {
        Key::open(self, key, WRITE)
    }
}
