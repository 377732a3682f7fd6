//! Counters since the module was loaded: `INFO wurk`.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use redis_module::raw::{self, RedisModuleInfoCtx};

use super::api::api;
use super::error::Result;
use super::memory;
use super::reply::Reply;

/// A counter, or the gauge of waiting clients.
pub(crate) struct Counter(AtomicU64);

impl Counter {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The server calls the module from one thread: no read-modify-write is needed.
    pub(crate) fn add(&self, amount: u64) {
        self.0.store(self.get().wrapping_add(amount), Relaxed);
    }

    pub(super) fn subtract(&self, amount: u64) {
        self.0.store(self.get().saturating_sub(amount), Relaxed);
    }

    pub(crate) fn raise_to(&self, value: u64) {
        if value > self.get() {
            self.0.store(value, Relaxed);
        }
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $field:literal)*) => {
        $($(#[$doc])* pub(crate) static $name: Counter = Counter::new();)*

        const FIELDS: &[(&CStr, &Counter)] = &[$(($field, &$name)),*];
    };
}

counters! {
    /// Claims that moved a job.
    CLAIMS = c"claims"
    /// Claims that found every queue empty, or timed out.
    CLAIMS_EMPTY = c"claims_empty"
    /// Jobs that were requeued.
    REQUEUES = c"requeues"
    /// Jobs that had left the private list.
    REQUEUES_MISSED = c"requeues_missed"
    /// Locks that were acquired.
    LOCKS = c"locks"
    /// Locks that were held.
    LOCKS_HELD = c"locks_held"
    /// Members added to sorted sets, and scores updated.
    ZADDS = c"zadds"
    /// Jobs that were promoted.
    PROMOTIONS = c"promotions"
    /// Jobs that had left the sorted set.
    PROMOTIONS_MISSED = c"promotions_missed"
    /// Heartbeats that were written without a claim.
    BEATS = c"beats"
    /// Calls that were served while the server was full.
    CALLS_AT_MAXMEMORY = c"calls_at_maxmemory"
    /// Calls that the growth limit refused.
    GROWTH_REFUSED = c"growth_refused"
    /// Commands that were run for a rescued user while the server was full.
    RESCUES = c"rescues"
    /// Commands of rescued users that the rescue limit refused.
    RESCUES_REFUSED = c"rescues_refused"
    /// Clients that are blocked now.
    WAITING_CLIENTS = c"waiting_clients"
    /// The most memory used beyond maxmemory at any call.
    BYTES_PAST_MAXMEMORY_PEAK = c"bytes_past_maxmemory_peak"
}

/// Counts a call: the first of `counts` if it did something, the other if there
/// was nothing to do. An error is neither.
pub(super) fn count(counts: Option<[&Counter; 2]>, result: &Result<Reply>) {
    let Some([done, nothing]) = counts else {
        return;
    };
    match result {
        Ok(Reply::Blocked) | Err(_) => return,
        Ok(Reply::Nil | Reply::Integer(0)) => nothing.add(1),
        Ok(_) => done.add(1),
    }
    if let Some(past) = memory::past_maxmemory(memory::used_ratio()) {
        CALLS_AT_MAXMEMORY.add(1);
        BYTES_PAST_MAXMEMORY_PEAK.raise_to(past);
    }
}

/// Called for `INFO`, and in a crash report.
pub(super) unsafe extern "C" fn info(ctx: *mut RedisModuleInfoCtx, for_crash_report: c_int) {
    // SAFETY: the server calls this with a valid context; the names end in NUL
    // and are copied.
    unsafe {
        if api!(RedisModule_InfoAddSection(ctx, c"stats".as_ptr())) != raw::REDISMODULE_OK as c_int
        {
            return; // Another section is asked for.
        }
        for (field, counter) in FIELDS {
            api!(RedisModule_InfoAddFieldULongLong(
                ctx,
                field.as_ptr(),
                counter.get()
            ));
        }
        // After a crash nothing is asked of the server.
        if for_crash_report == 0 {
            let past = memory::past_maxmemory(memory::used_ratio()).unwrap_or(0);
            api!(RedisModule_InfoAddFieldULongLong(
                ctx,
                c"bytes_past_maxmemory".as_ptr(),
                past
            ));
        }
    }
}
