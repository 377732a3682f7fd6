//! Keys that are open, and what is written to them directly.
//!
//! Writing through an open key is several times cheaper than a call of the
//! command. What the command would have said besides is said here, after the
//! key is closed, since whoever listens may do what he likes with it: the touch
//! for `WATCH`, the keyspace events, the stream to replicas and the AOF.

use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleKey, RedisModuleString};

use super::api::api;
use super::arg::Text;
use super::{Arg, Ctx, Refusal, load, words};

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

/// Whether `HSET` of a field that has expired does more than `RM_HashSet`: it
/// sends `hexpired` and counts it, on Valkey 9.
static FIELDS_EXPIRE_LOUDLY: AtomicBool = AtomicBool::new(false);

/// Settles, at load, what differs between servers.
pub(super) fn follow_the_server(ctx: *mut RedisModuleCtx) {
    // SAFETY: the pointer is written once, before `load` runs; it is null on
    // servers before 7.2, which know none of the newer modes.
    let modes = unsafe { raw::RedisModule_GetOpenKeyModesAll.map_or(0, |all| all()) };
    if modes & READ_SILENTLY == READ_SILENTLY {
        LOOK.store(READ_SILENTLY, Relaxed);
    }
    let is_valkey = load::server_info(ctx, c"server", "valkey_version").is_some();
    // SAFETY: the context is the module's own, valid until loading is over.
    let knows_expiry = unsafe { Ctx::new(ctx) }.knows(c"HPEXPIRE");
    FIELDS_EXPIRE_LOUDLY.store(is_valkey && knows_expiry, Relaxed);
}

/// A key that is open. Closed at the end of its scope.
pub(crate) struct Key<'c> {
    raw: *mut RedisModuleKey,
    call: PhantomData<&'c Ctx<'c>>,
}

impl Key<'_> {
    fn open(ctx: &Ctx, name: Arg, mode: c_int) -> Self {
        Self {
            // SAFETY: context and name are valid for this call of the command.
            // The result is null for a key that is not there, and no function
            // that takes it minds.
            raw: unsafe { api!(RedisModule_OpenKey(ctx.raw, name.pointer(), mode)) },
            call: PhantomData,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        // SAFETY: an open key or null.
        let kind = unsafe { api!(RedisModule_KeyType(self.raw)) };
        match kind as isize {
            raw::REDISMODULE_KEYTYPE_EMPTY => Kind::Absent,
            raw::REDISMODULE_KEYTYPE_HASH => Kind::Hash,
            raw::REDISMODULE_KEYTYPE_LIST => Kind::List,
            raw::REDISMODULE_KEYTYPE_SET => Kind::Set,
            _ => Kind::Other,
        }
    }
}

impl Key<'_> {
    /// Refused where the key holds something else, as another module may have
    /// seen to on an event.
    fn set_field(&self, field: Arg, value: Arg) -> Result<(), Refusal> {
        // SAFETY: an open key, strings that are valid for this call, and the
        // null that ends the list. The hash copies what it keeps.
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
            Err(Refusal::WrongType)
        }
    }

    /// Whether the hash has a field that has not expired.
    fn has_field(&self, field: Arg) -> bool {
        let mut exists: c_int = 0;
        // SAFETY: an open key, a string that is valid for this call, a place for
        // the one number that is asked for, and the null that ends the list.
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

    /// Whether there was anything to expire.
    fn expire_at(&self, at: i64) -> bool {
        // SAFETY: an open key.
        let status = unsafe { api!(RedisModule_SetAbsExpire(self.raw, at)) };
        status == raw::REDISMODULE_OK as c_int
    }

    fn pop_tail(&self) -> Option<Text> {
        // SAFETY: an open key; the string that is popped is the module's to free.
        unsafe {
            let job = api!(RedisModule_ListPop(
                self.raw,
                raw::REDISMODULE_LIST_TAIL as c_int
            ));
            NonNull::new(job).map(|job| Text::new(job))
        }
    }

    fn push(&self, end: isize, job: &Text) -> bool {
        // SAFETY: an open key and a string that is valid.
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
    /// What stands at `key`; like `TYPE`, also in what it notifies of.
    pub(crate) fn kind(&self, key: Arg) -> Kind {
        Key::open(self, key, READ).kind()
    }

    /// What stands at `key`, unnoticed.
    pub(crate) fn look(&self, key: Arg) -> Kind {
        Key::open(self, key, LOOK.load(Relaxed)).kind()
    }

    /// Opens `key` to write to it; unnoticed until that is done.
    pub(crate) fn open(&self, key: Arg) -> Key<'_> {
        Key::open(self, key, WRITE)
    }

    /// `HSET name field value`, on a key that is open and holds a hash or nothing.
    pub(crate) fn set_field(
        &self,
        key: Key,
        name: Arg,
        field: Arg,
        value: Arg,
    ) -> Result<(), Refusal> {
        key.set_field(field, value)?;
        drop(key);
        self.touch(name);
        self.tell_of_field(name, field, value);
        Ok(())
    }

    /// `HSET name field value` and `PEXPIREAT name at`, on a key that is open and
    /// holds a hash.
    pub(crate) fn set_field_and_expiry(
        &self,
        key: Key,
        name: Arg,
        field: Arg,
        value: Arg,
        at: i64,
    ) -> Result<(), Refusal> {
        // A field that may have expired is the server's to set.
        let by_call = FIELDS_EXPIRE_LOUDLY.load(Relaxed) && !key.has_field(field);
        let key = if by_call {
            drop(key);
            self.call(c"HSET", &[name, field, value]).ok()?;
            self.open(name)
        } else {
            key.set_field(field, value)?;
            key
        };
        let set = key.expire_at(at);
        drop(key);
        self.touch(name);
        if !by_call {
            self.tell_of_field(name, field, value);
        }
        if set {
            self.tell_of_expiry(name, at);
        }
        Ok(())
    }

    /// `PEXPIREAT name at`.
    pub(crate) fn expire_at(&self, name: Arg, at: i64) {
        if self.open(name).expire_at(at) {
            self.touch(name);
            self.tell_of_expiry(name, at);
        }
    }

    fn tell_of_expiry(&self, name: Arg, at: i64) {
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

    fn tell_of_field(&self, name: Arg, field: Arg, value: Arg) {
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

    /// `LMOVE from to RIGHT LEFT` between two keys that are not the same. The
    /// job, or nothing where `from` is empty.
    pub(crate) fn move_tail_to_head(&self, from: Arg, to: Arg) -> Result<Option<Text>, Refusal> {
        // The target first: opening it may let what has expired there go, and
        // whoever hears of that may write to the source.
        let target = self.open(to);
        let source = self.open(from);
        match source.kind() {
            Kind::Absent => return Ok(None),
            Kind::List => {}
            _ => return Err(Refusal::WrongType),
        }
        if !matches!(target.kind(), Kind::List | Kind::Absent) {
            return Err(Refusal::WrongType);
        }
        // All is checked: from here on nothing can refuse. As in `LMOVE`, the
        // job is in no list for a moment that no client can see.
        let Some(job) = source.pop_tail() else {
            return Ok(None);
        };
        let emptied = source.kind() == Kind::Absent;
        drop(source);
        if !target.push(raw::REDISMODULE_LIST_HEAD, &job) {
            // No server does this; a job would be lost by one that did.
            drop(target);
            self.open(from).push(raw::REDISMODULE_LIST_TAIL, &job);
            return Err(Refusal::NoReply);
        }
        drop(target);
        self.touch(to);
        self.notify(raw::REDISMODULE_NOTIFY_LIST, c"lpush", to);
        self.notify(raw::REDISMODULE_NOTIFY_LIST, c"rpop", from);
        if emptied {
            self.notify(raw::REDISMODULE_NOTIFY_GENERIC, c"del", from);
        }
        self.touch(from);
        // SAFETY: context and strings are valid for this call; the format names
        // the arguments behind it.
        unsafe {
            api!(RedisModule_Replicate(
                self.raw,
                c"LMOVE".as_ptr(),
                c"ssss".as_ptr(),
                from.pointer(),
                to.pointer(),
                words::right().pointer(),
                words::left().pointer(),
            ));
        }
        Ok(Some(job))
    }

    /// Whoever watches the key is told that it was written to.
    fn touch(&self, key: Arg) {
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
