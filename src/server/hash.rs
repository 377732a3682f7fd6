//! Hashes: fields of an open key, and writes that do what `HSET` does.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::api::api;
use super::arg::Arg;
use super::ctx::Ctx;
use super::error::{Error, Result};
use super::info;
use super::key::Key;

/// Whether `HSET` of a field that has expired notifies of that and counts it,
/// which `RM_HashSet` does not: on Valkey 9.
static HSET_NOTIFIES_OF_EXPIRED_FIELDS: AtomicBool = AtomicBool::new(false);

/// Finds out, at load, how the server sets fields.
pub(super) fn follow_server(ctx: *mut RedisModuleCtx) {
    // SAFETY: the context is the module's own, valid until loading is over.
    let fields_expire = unsafe { Ctx::new(ctx) }.command_exists(c"HPEXPIRE");
    HSET_NOTIFIES_OF_EXPIRED_FIELDS.store(fields_expire && info::is_valkey(ctx), Relaxed);
}

impl Key<'_> {
    /// Sets a field, of a hash or an absent key. Refused if the key has become
    /// something else, as another module may have seen to on an event.
    fn set_field(&self, field: Arg, value: Arg) -> Result<()> {
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
    fn has_field(&self, field: Arg) -> bool {
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
}

impl Ctx<'_> {
    /// `HSET name field value`, on an open key that holds a hash or nothing.
    pub(crate) fn set_field(&self, key: Key, name: Arg, field: Arg, value: Arg) -> Result<()> {
        key.set_field(field, value)?;
        drop(key);
        self.signal_modified(name);
        self.notify_and_replicate_hset(name, field, value);
        Ok(())
    }

    /// `HSET name field value` and `PEXPIREAT name at`, on an open key that holds
    /// a hash.
    pub(crate) fn set_field_and_expiry(
        &self,
        key: Key,
        name: Arg,
        field: Arg,
        value: Arg,
        at: i64,
    ) -> Result<()> {
        let by_call = HSET_NOTIFIES_OF_EXPIRED_FIELDS.load(Relaxed) && !key.has_field(field);
        let key = if by_call {
            drop(key);
            self.call_replicated(c"HSET", &[name, field, value])
                .into_result()?;
            self.open_for_writing(name)
        } else {
            key.set_field(field, value)?;
            key
        };
        let expires = key.set_expiry(at);
        drop(key);
        self.signal_modified(name);
        if !by_call {
            self.notify_and_replicate_hset(name, field, value);
        }
        if expires {
            self.notify_and_replicate_expiry(name, at);
        }
        Ok(())
    }

    fn notify_and_replicate_hset(&self, name: Arg, field: Arg, value: Arg) {
        self.notify(raw::REDISMODULE_NOTIFY_HASH, c"hset", name);
        // SAFETY: context and strings are valid for this call; the format names
        // the arguments behind it.
        unsafe {
            api!(RedisModule_Replicate(
                self.raw,
                c"HSET".as_ptr(),
                c"sss".as_ptr(),
                name.pointer(),
                field.pointer(),
                value.pointer(),
            ));
        }
    }
}
