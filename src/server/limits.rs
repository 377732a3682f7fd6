//! How far past `maxmemory` the module lets a full server grow.
//!
//! Both limits are percentages past `maxmemory`, 0 being none: `WURK.LOCK` and
//! `WURK.ZADD` are refused past the growth limit, rescued commands past the rescue
//! limit. What lets a full server shrink never is: claims, requeues, moves between
//! lists.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use super::ctx::Ctx;
use super::memory;
use super::stats;

/// The largest limit, in percent: a server of 1 GiB may then grow to 1 TiB.
pub(super) const MOST: i64 = 100_000;

/// A limit, in percent.
pub(super) struct Limit(AtomicI64);

impl Limit {
    pub(super) fn set(&self, percent: i64) {
        self.0.store(percent, Relaxed);
    }

    pub(super) fn get(&self) -> i64 {
        self.0.load(Relaxed)
    }

    fn is_passed(&self, used_ratio: f64) -> bool {
        let limit = self.get();
        limit > 0 && used_ratio > 1.0 + limit as f64 / 100.0
    }
}

pub(super) static GROWTH: Limit = Limit(AtomicI64::new(0));
pub(super) static RESCUE: Limit = Limit(AtomicI64::new(0));

/// Whether used memory is past the growth limit.
pub(super) fn past_growth_limit() -> bool {
    // Where there is no limit nobody need ask how much is used.
    GROWTH.get() > 0 && GROWTH.is_passed(memory::used_ratio())
}

/// Used memory beside `maxmemory` and the rescue limit.
pub(crate) enum Fullness {
    NotFull,
    Full,
    PastRescueLimit,
}

impl Ctx<'_> {
    pub(crate) fn fullness(&self) -> Fullness {
        let used_ratio = memory::used_ratio();
        let Some(past) = memory::past_maxmemory(used_ratio) else {
            return Fullness::NotFull;
        };
        stats::BYTES_PAST_MAXMEMORY_PEAK.raise_to(past);
        if RESCUE.is_passed(used_ratio) {
            Fullness::PastRescueLimit
        } else {
            Fullness::Full
        }
    }
}
