//! Sorted sets: members of an open key, and writes that do what the server's commands
//! do.

use std::ffi::c_int;

use redis_module::raw;

use super::api::api;
use super::arg::Arg;
use super::ctx::Ctx;
use super::error::{Error, Result};
use super::key::{Key, KeyType};

/// What became of a member that was added.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Added {
    New,
    /// It was there with another score.
    Updated,
    /// It was there with this score.
    Same,
}

impl Key<'_> {
    /// Adds a member to a sorted set or an absent key.
    fn add_member(&self, score: f64, member: Arg) -> Result<Added> {
        let mut flags: c_int = 0;
        // SAFETY: a key that is open for writing, a string that is valid for this call
        // and copied, and a place for what has happened.
        let status = unsafe {
            api!(RedisModule_ZsetAdd(
                self.raw,
                score,
                member.pointer(),
                &raw mut flags
            ))
        };
        if status != raw::REDISMODULE_OK as c_int {
            return Err(Error::WrongType);
        }
        Ok(if flags & raw::REDISMODULE_ZADD_ADDED as c_int != 0 {
            Added::New
        } else if flags & raw::REDISMODULE_ZADD_UPDATED as c_int != 0 {
            Added::Updated
        } else {
            Added::Same
        })
    }

    fn has_member(&self, member: Arg) -> bool {
        let mut score = 0.0;
        // SAFETY: a key that is open and holds a sorted set, a string that is valid for
        // this call, and a place for the score.
        let status = unsafe {
            api!(RedisModule_ZsetScore(
                self.raw,
                member.pointer(),
                &raw mut score
            ))
        };
        status == raw::REDISMODULE_OK as c_int
    }

    /// Whether the member was there.
    fn remove_member(&self, member: Arg) -> bool {
        let mut removed: c_int = 0;
        // SAFETY: a key that is open for writing, a string that is valid for this call,
        // and a place for whether it was there.
        let status = unsafe {
            api!(RedisModule_ZsetRem(
                self.raw,
                member.pointer(),
                &raw mut removed
            ))
        };
        status == raw::REDISMODULE_OK as c_int && removed != 0
    }
}

impl Ctx<'_> {
    /// `ZADD name score member`. Whether it is a new member.
    pub(crate) fn add_to_sorted_set(&self, name: Arg, score: Arg, member: Arg) -> Result<bool> {
        let Some(value) = score.double() else {
            // The server has the words for it: it may be one of ZADD's options too.
            let reply = self.call_replicated(c"ZADD", &[name, score, member]);
            return Ok(reply.into_result()?.integer() == 1);
        };
        let added = self.open_for_writing(name).add_member(value, member)?;
        if added == Added::Same {
            return Ok(false);
        }
        self.signal_modified(name);
        self.notify(raw::REDISMODULE_NOTIFY_ZSET, c"zadd", name);
        // SAFETY: context and strings are valid for this call; the format names
        // the arguments behind it.
        unsafe {
            api!(RedisModule_Replicate(
                self.raw,
                c"ZADD".as_ptr(),
                c"sss".as_ptr(),
                name.pointer(),
                score.pointer(),
                member.pointer(),
            ));
        }
        Ok(added == Added::New)
    }

    /// Whether a sorted set has `member`; like `ZSCORE`, also in what it notifies of.
    pub(crate) fn sorted_set_has(&self, name: Arg, member: Arg) -> Result<bool> {
        let key = self.open_for_reading(name);
        match key.key_type() {
            KeyType::Absent => Ok(false),
            KeyType::SortedSet => Ok(key.has_member(member)),
            _ => Err(Error::WrongType),
        }
    }

    /// `ZREM name member`.
    pub(crate) fn remove_from_sorted_set(&self, name: Arg, member: Arg) -> Result<()> {
        let key = self.open_for_writing(name);
        if !key.remove_member(member) {
            return Ok(());
        }
        let emptied = key.key_type() == KeyType::Absent;
        drop(key);
        self.notify(raw::REDISMODULE_NOTIFY_ZSET, c"zrem", name);
        if emptied {
            self.notify(raw::REDISMODULE_NOTIFY_GENERIC, c"del", name);
        }
        self.signal_modified(name);
        self.replicate_two(c"ZREM", name, member);
        Ok(())
    }
}
