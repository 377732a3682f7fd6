//! Writes that do what a command of the server does, several times cheaper.
//!
//! A write goes through an open key. What the command would do besides comes
//! after the key is closed, since a module that is notified may modify it: the
//! signal for `WATCH`, keyspace notifications, and replication.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use redis_module::raw::{self, RedisModuleCtx};

use super::api::api;
use super::arg::{Arg, OwnedString};
use super::ctx::Ctx;
use super::error::{Error, Result};
use super::info;
use super::key::{Key, KeyType};
use super::shared_strings;

/// Whether `HSET` of a field that has expired notifies of that and counts it,
/// which `RM_HashSet` does not: on Valkey 9.
static HSET_NOTIFIES_OF_EXPIRED_FIELDS: AtomicBool = AtomicBool::new(false);

/// Finds out, at load, how the server sets fields.
pub(super) fn follow_server(ctx: *mut RedisModuleCtx) {
    // SAFETY: the context is the module's own, valid until loading is over.
    let fields_expire = unsafe { Ctx::new(ctx) }.command_exists(c"HPEXPIRE");
    HSET_NOTIFIES_OF_EXPIRED_FIELDS.store(fields_expire && info::is_valkey(ctx), Relaxed);
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

    /// `PEXPIREAT name at`.
    pub(crate) fn expire_at(&self, name: Arg, at: i64) {
        if self.open_for_writing(name).set_expiry(at) {
            self.signal_modified(name);
            self.notify_and_replicate_expiry(name, at);
        }
    }

    /// `LMOVE from to RIGHT LEFT` between two keys that are not the same. The
    /// job, or `None` if `from` is empty.
    pub(crate) fn move_tail_to_head(&self, from: Arg, to: Arg) -> Result<Option<OwnedString>> {
        // The target first: opening it may delete what has expired there, and a
        // module that is notified of that may write to the source.
        let target = self.open_for_writing(to);
        let source = self.open_for_writing(from);
        match source.key_type() {
            KeyType::Absent => return Ok(None),
            KeyType::List => {}
            _ => return Err(Error::WrongType),
        }
        if !matches!(target.key_type(), KeyType::List | KeyType::Absent) {
            return Err(Error::WrongType);
        }
        // Everything is checked: from here on nothing can fail. As in `LMOVE`,
        // the job is in no list for a moment that no client can see.
        let Some(job) = source.pop_tail() else {
            return Ok(None);
        };
        let emptied = source.key_type() == KeyType::Absent;
        drop(source);
        if !target.push_head(&job) {
            // No server does this; a job would be lost by one that did.
            drop(target);
            self.open_for_writing(from).push_tail(&job);
            return Err(Error::NoReply);
        }
        drop(target);
        self.signal_modified(to);
        self.notify(raw::REDISMODULE_NOTIFY_LIST, c"lpush", to);
        self.notify(raw::REDISMODULE_NOTIFY_LIST, c"rpop", from);
        if emptied {
            self.notify(raw::REDISMODULE_NOTIFY_GENERIC, c"del", from);
        }
        self.signal_modified(from);
        let [right, left] = [shared_strings::right(), shared_strings::left()];
        // SAFETY: context and strings are valid for this call; the format names
        // the arguments behind it.
        unsafe {
            api!(RedisModule_Replicate(
                self.raw,
                c"LMOVE".as_ptr(),
                c"ssss".as_ptr(),
                from.pointer(),
                to.pointer(),
                right.pointer(),
                left.pointer(),
            ));
        }
        Ok(Some(job))
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

    fn notify_and_replicate_expiry(&self, name: Arg, at: i64) {
        self.notify(raw::REDISMODULE_NOTIFY_GENERIC, c"expire", name);
        // SAFETY: context and string are valid for this call; the format names
        // the arguments behind it.
        unsafe {
            api!(RedisModule_Replicate(
                self.raw,
                c"PEXPIREAT".as_ptr(),
                c"sl".as_ptr(),
                name.pointer(),
                at,
            ));
        }
    }

    /// Marks the key as modified, for clients that watch or cache it.
    fn signal_modified(&self, key: Arg) {
        // SAFETY: context and key are valid for this call.
        unsafe { api!(RedisModule_SignalModifiedKey(self.raw, key.pointer())) };
    }

    fn notify(&self, class: c_int, event: &CStr, key: Arg) {
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
