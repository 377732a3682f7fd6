//! Which strategy works on a server, and for how long that is remembered.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::strategy::{CommandKind, Strategy};

/// How long a strategy is used before the better ones are tried again.
const CACHE_TTL: Duration = Duration::from_secs(60);

/// The strategy that works, for each command by itself. It has no lock, and a
/// look-up costs one reading of the clock.
#[derive(Debug)]
pub(crate) struct Cache {
    created: Instant,
    /// For each kind of command when its strategy was found, in milliseconds since
    /// `created`, and in the two lowest bits the strategy. Zero: unknown.
    entries: [AtomicU64; CommandKind::COUNT],
}

impl Cache {
    pub(crate) fn new() -> Self {
        Self {
            created: Instant::now(),
            entries: [const { AtomicU64::new(0) }; CommandKind::COUNT],
        }
    }

    /// The strategy to try first.
    pub(crate) fn get(&self, kind: CommandKind) -> Strategy {
        self.get_at(kind, self.created.elapsed())
    }

    fn get_at(&self, kind: CommandKind, now: Duration) -> Strategy {
        let entry = self.entries[kind as usize].load(Relaxed);
        let found = Duration::from_millis(entry >> 2);
        match entry & 3 {
            2 if now < found + CACHE_TTL => Strategy::Script,
            3 if now < found + CACHE_TTL => Strategy::WriteFirstScript,
            _ => Strategy::Module,
        }
    }

    /// Remembers the last strategy that was worth a try.
    pub(crate) fn set(&self, kind: CommandKind, strategy: Strategy) {
        self.set_at(kind, strategy, self.created.elapsed());
    }

    fn set_at(&self, kind: CommandKind, strategy: Strategy, now: Duration) {
        if self.get_at(kind, now) == strategy {
            return; // Its time runs from when it was found, not from the last use.
        }
        let now = u64::try_from(now.as_millis()).unwrap_or(0);
        let strategy = match strategy {
            Strategy::Module => 1,
            Strategy::Script => 2,
            Strategy::WriteFirstScript => 3,
        };
        self.entries[kind as usize].store(now << 2 | strategy, Relaxed);
    }

    /// Forgets all: the server may be another one now.
    pub(crate) fn clear(&self) {
        for entry in &self.entries {
            entry.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CommandKind::{Claim, Lock, Zadd};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_strategy_is_kept_for_a_minute() {
        let cache = Cache::new();
        assert_eq!(cache.get_at(Claim, SECOND), Strategy::Module);
        for strategy in [Strategy::Script, Strategy::WriteFirstScript] {
            cache.set_at(Claim, strategy, 10 * SECOND);
            // Also while it is in use.
            for now in [11, 40, 69] {
                assert_eq!(cache.get_at(Claim, now * SECOND), strategy);
                cache.set_at(Claim, strategy, now * SECOND);
            }
            assert_eq!(cache.get_at(Claim, 70 * SECOND), Strategy::Module);
            cache.clear();
        }
    }

    #[test]
    fn each_command_has_its_own() {
        let cache = Cache::new();
        cache.set_at(Zadd, Strategy::Script, SECOND);
        assert_eq!(cache.get_at(Zadd, SECOND), Strategy::Script);
        assert_eq!(cache.get_at(Claim, SECOND), Strategy::Module);
        cache.clear();
        assert_eq!(cache.get_at(Zadd, SECOND), Strategy::Module);
    }

    #[test]
    fn what_is_found_in_the_first_millisecond_is_kept() {
        let cache = Cache::new();
        cache.set_at(Lock, Strategy::Script, Duration::ZERO);
        assert_eq!(cache.get_at(Lock, Duration::ZERO), Strategy::Script);
    }
}
