//! What a command may ask and tell the server.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleKey, RedisModuleString};

use super::Arg;
use super::api::api;

/// The server, for the length of one call of a command.
pub(crate) struct Ctx<'a> {
    pub(super) raw: *mut RedisModuleCtx,
    call: PhantomData<&'a RedisModuleCtx>,
}

/// What stands at a key, as far as a command cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing, or something that has expired.
    Absent,
    Hash,
    List,
    Set,
    /// A value of any other type.
    Other,
}

/// Reads without counting as a use of the key, as `TYPE` and `EXISTS` do.
const READ: c_int = (raw::REDISMODULE_READ | raw::REDISMODULE_OPEN_KEY_NOTOUCH) as c_int;
/// Opens for writing; a key that is not there is no miss.
const WRITE: c_int = raw::REDISMODULE_WRITE as c_int;
/// As [`READ`], and a key that is not there is no miss, as in `LMOVE`.
const READ_SILENTLY: c_int =
    READ | (raw::REDISMODULE_OPEN_KEY_NONOTIFY | raw::REDISMODULE_OPEN_KEY_NOSTATS) as c_int;
/// What does the same on a server that has no such modes.
const WRITE_SILENTLY: c_int = WRITE | raw::REDISMODULE_OPEN_KEY_NOTOUCH as c_int;

static LOOK: AtomicI32 = AtomicI32::new(WRITE_SILENTLY);

/// Settles, at load, how this server lets a module look at a key silently.
pub(super) fn choose_how_to_look() {
    // SAFETY: the pointer is written once, before `load` runs; it is null on
    // servers before 7.2, which know none of the newer modes.
    let modes = unsafe { raw::RedisModule_GetOpenKeyModesAll.map_or(0, |all| all()) };
    if modes & READ_SILENTLY == READ_SILENTLY {
        LOOK.store(READ_SILENTLY, Relaxed);
    }
}

/// A key that is open. Closes it at the end of its scope.
struct Key(*mut RedisModuleKey);

impl Key {
    fn open(ctx: &Ctx, name: Arg, mode: c_int) -> Self {
        // SAFETY: context and name are valid for this call of the command. The
        // result is null for a key that is not there, and no function below
        // minds.
        Self(unsafe { api!(RedisModule_OpenKey(ctx.raw, name.pointer(), mode)) })
    }

    fn kind(&self) -> Kind {
        // SAFETY: an open key or null.
        let kind = unsafe { api!(RedisModule_KeyType(self.0)) };
        match kind as isize {
            raw::REDISMODULE_KEYTYPE_EMPTY => Kind::Absent,
            raw::REDISMODULE_KEYTYPE_HASH => Kind::Hash,
            raw::REDISMODULE_KEYTYPE_LIST => Kind::List,
            raw::REDISMODULE_KEYTYPE_SET => Kind::Set,
            _ => Kind::Other,
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: opened by `open`, closed once. Null is ignored.
        unsafe { api!(RedisModule_CloseKey(self.0)) }
    }
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

    /// What stands at `key`; like `TYPE`, also in what it notifies of.
    pub(crate) fn kind(&self, key: Arg) -> Kind {
        Key::open(self, key, READ).kind()
    }

    /// What stands at `key`, unnoticed.
    pub(crate) fn look(&self, key: Arg) -> Kind {
        Key::open(self, key, LOOK.load(Relaxed)).kind()
    }

    /// `HSET key field value` and `PEXPIREAT key at`, on a key that holds a hash.
    ///
    /// Written directly, which is several times cheaper than two calls, with
    /// the events and the stream that the two commands would have sent.
    pub(crate) fn set_field_and_expiry(&self, key: Arg, field: Arg, value: Arg, at: i64) {
        {
            let hash = Key::open(self, key, WRITE);
            // SAFETY: an open key, strings that are valid for this call, and
            // the null that ends the list. The hash copies what it keeps.
            unsafe {
                api!(RedisModule_HashSet(
                    hash.0,
                    raw::REDISMODULE_HASH_NONE as c_int,
                    field.pointer(),
                    value.pointer(),
                    ptr::null_mut::<RedisModuleString>(),
                ));
                api!(RedisModule_SetAbsExpire(hash.0, at));
            }
        }
        // Closed first: whoever listens may do what he likes with the key.
        // SAFETY: context and strings are valid for this call; the formats name
        // the arguments behind them.
        unsafe {
            api!(RedisModule_SignalModifiedKey(self.raw, key.pointer()));
            self.notify(raw::REDISMODULE_NOTIFY_HASH as c_int, c"hset", key);
            api!(RedisModule_Replicate(
                self.raw,
                c"HSET".as_ptr(),
                c"sss".as_ptr(),
                key.pointer(),
                field.pointer(),
                value.pointer(),
            ));
            self.notify(raw::REDISMODULE_NOTIFY_GENERIC as c_int, c"expire", key);
            api!(RedisModule_Replicate(
                self.raw,
                c"PEXPIREAT".as_ptr(),
                c"sl".as_ptr(),
                key.pointer(),
                at,
            ));
        }
    }

    fn notify(&self, class: c_int, event: &std::ffi::CStr, key: Arg) {
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
