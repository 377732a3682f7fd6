//! Lists: the ends of an open key, and writes that do what the server's commands do.

use std::ffi::c_int;
use std::ptr::NonNull;

use redis_module::raw;

use super::api::api;
use super::arg::{Arg, OwnedString};
use super::ctx::Ctx;
use super::error::{Error, Result};
use super::key::{Key, KeyType};
use super::shared_strings;

impl Key<'_> {
    fn pop_tail(&self) -> Option<OwnedString> {
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

    fn push_head(&self, job: Arg) -> bool {
        self.push(raw::REDISMODULE_LIST_HEAD, job)
    }

    fn push_tail(&self, job: Arg) -> bool {
        self.push(raw::REDISMODULE_LIST_TAIL, job)
    }

    fn push(&self, end: isize, job: Arg) -> bool {
        // SAFETY: a key that is open for writing, and a string that is valid.
        let status = unsafe { api!(RedisModule_ListPush(self.raw, end as c_int, job.pointer())) };
        status == raw::REDISMODULE_OK as c_int
    }

    /// The head, unless the list is empty.
    fn head(&self) -> Option<OwnedString> {
        // SAFETY: an open key or null; the string is the module's to free.
        unsafe {
            NonNull::new(api!(RedisModule_ListGet(self.raw, 0))).map(|head| OwnedString::new(head))
        }
    }

    /// Whether this is a list whose head is `job`.
    fn begins_with(&self, job: Arg) -> bool {
        self.key_type() == KeyType::List
            && self
                .head()
                .is_some_and(|head| head.arg().bytes() == job.bytes())
    }

    fn remove_head(&self) -> bool {
        // SAFETY: a key that is open for writing.
        let status = unsafe { api!(RedisModule_ListDelete(self.raw, 0)) };
        status == raw::REDISMODULE_OK as c_int
    }
}

impl Ctx<'_> {
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
        if !target.push_head(job.arg()) {
            // No server does this; a job would be lost by one that did.
            drop(target);
            self.open_for_writing(from).push_tail(job.arg());
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

    /// `RPUSH to job`, then `LREM from 1 job`, if both lists exist and the job is the
    /// head of the second, as the one job that a thread has in flight is. `false` if
    /// not: then nothing has been done.
    pub(crate) fn requeue_head(&self, from: Arg, to: Arg, job: Arg) -> bool {
        // One list twice: two open keys must not be the same.
        if from.bytes() == to.bytes() {
            return false;
        }
        // The target first, as in `move_tail_to_head`. A push to a list that exists
        // notifies nobody, so both stay open over it.
        let target = self.open_for_writing(to);
        if target.key_type() != KeyType::List {
            return false; // The source is not touched: opening it may expire it.
        }
        let source = self.open_for_writing(from);
        if !source.begins_with(job) || !target.push_tail(job) {
            return false;
        }
        let removed = source.remove_head();
        let emptied = removed && source.key_type() == KeyType::Absent;
        drop((source, target));
        self.signal_modified(to);
        self.notify(raw::REDISMODULE_NOTIFY_LIST, c"rpush", to);
        self.replicate_two(c"RPUSH", to, job);
        if !removed {
            return true; // No server does this. The job is in both.
        }
        self.signal_modified(from);
        self.notify(raw::REDISMODULE_NOTIFY_LIST, c"lrem", from);
        if emptied {
            self.notify(raw::REDISMODULE_NOTIFY_GENERIC, c"del", from);
        }
        let one = shared_strings::one();
        // SAFETY: context and strings are valid for this call; the format names
        // the arguments behind it.
        unsafe {
            api!(RedisModule_Replicate(
                self.raw,
                c"LREM".as_ptr(),
                c"sss".as_ptr(),
                from.pointer(),
                one.pointer(),
                job.pointer(),
            ));
        }
        true
    }

    /// `LPUSH list job`, for a list or an absent key.
    pub(crate) fn push_to_head(&self, list: Arg, job: Arg) -> Result<()> {
        if !self.open_for_writing(list).push_head(job) {
            return Err(Error::WrongType);
        }
        self.signal_modified(list);
        self.notify(raw::REDISMODULE_NOTIFY_LIST, c"lpush", list);
        self.replicate_two(c"LPUSH", list, job);
        Ok(())
    }
}
