//! What has been learned of a server, and for how long it holds.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::calls::Kind;

/// A road to the keys of a full server, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Road {
    /// The module's command.
    Module,
    /// The script under the line that lets it run out of memory.
    Script,
    /// The script behind a write that changes nothing, for servers before 7.0.
    ScriptBehindAWrite,
}

/// How long a road is taken before the better ones are tried again.
const HOLDS: Duration = Duration::from_secs(60);

/// How long one `WURK.BCLAIM` blocks where nothing else is said.
const SLICE: Duration = Duration::from_millis(250);

/// The calls that make their way on any server, full or not.
///
/// Remembers which road its server has, for each command by itself, and learns
/// it again after a minute, a lost connection or a failover. So: one for each
/// server or cluster, made once and shared; it has no lock, and a call costs
/// one look at the clock.
///
/// It never sends a call again whose reply was lost. A cluster's connection of
/// the `redis` crate does, unless it is built with `retries(0)`: of a claim that
/// was served twice the first job stands in the private list, in nobody's hands.
#[derive(Debug)]
pub struct Wurk {
    born: Instant,
    /// A kind of call each: when it was learned, in milliseconds since `born`,
    /// and behind it in two bits the road. Zero: nothing has been learned.
    learned: [AtomicU64; Kind::COUNT],
    slice: Duration,
}

impl Default for Wurk {
    fn default() -> Self {
        Self::new()
    }
}

impl Wurk {
    /// Knows nothing of its server yet; the first call asks it.
    #[must_use]
    pub fn new() -> Self {
        Self {
            born: Instant::now(),
            learned: [const { AtomicU64::new(0) }; Kind::COUNT],
            slice: SLICE,
        }
    }

    /// With the longest time that one `WURK.BCLAIM` may block its connection, in
    /// whole milliseconds; 250 ms where nothing is said. It blocks for no longer
    /// than a third of the heartbeat's `ttl` in any case, since the heartbeat is
    /// not written meanwhile.
    ///
    /// Keep it below the time after which the connection gives up on a reply:
    /// one that comes later is lost, with the job still in the private list. The
    /// `redis` crate's asynchronous connections wait 500 ms unless told
    /// otherwise; where yours has no such limit, a minute saves idle traffic.
    #[must_use]
    pub fn with_slice(self, slice: Duration) -> Self {
        Self { slice, ..self }
    }

    pub(crate) fn slice(&self) -> Duration {
        self.slice
    }

    /// The road to try first.
    pub(crate) fn road(&self, kind: Kind) -> Road {
        self.road_at(kind, self.born.elapsed())
    }

    fn road_at(&self, kind: Kind, now: Duration) -> Road {
        let learned = self.learned[kind as usize].load(Relaxed);
        let then = Duration::from_millis(learned >> 2);
        match learned & 3 {
            2 if now < then + HOLDS => Road::Script,
            3 if now < then + HOLDS => Road::ScriptBehindAWrite,
            _ => Road::Module,
        }
    }

    /// `road` is the last that was worth a try.
    pub(crate) fn learn(&self, kind: Kind, road: Road) {
        self.learn_at(kind, road, self.born.elapsed());
    }

    fn learn_at(&self, kind: Kind, road: Road, now: Duration) {
        if self.road_at(kind, now) == road {
            return; // Known; a minute begins when it was learned, not at each use.
        }
        let now = u64::try_from(now.as_millis()).unwrap_or(0);
        let road = match road {
            Road::Module => 1,
            Road::Script => 2,
            Road::ScriptBehindAWrite => 3,
        };
        self.learned[kind as usize].store(now << 2 | road, Relaxed);
    }

    /// The server is another one now.
    pub(crate) fn forget(&self) {
        for learned in &self.learned {
            learned.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_road_holds_for_a_minute() {
        let wurk = Wurk::new();
        assert_eq!(wurk.road_at(Kind::Claim, SECOND), Road::Module);
        for road in [Road::Script, Road::ScriptBehindAWrite] {
            wurk.learn_at(Kind::Claim, road, 10 * SECOND);
            // Also where it is taken again and again.
            for now in [11, 40, 69] {
                assert_eq!(wurk.road_at(Kind::Claim, now * SECOND), road);
                wurk.learn_at(Kind::Claim, road, now * SECOND);
            }
            assert_eq!(wurk.road_at(Kind::Claim, 70 * SECOND), Road::Module);
            wurk.forget();
        }
    }

    #[test]
    fn a_road_is_a_commands_own() {
        let wurk = Wurk::new();
        wurk.learn_at(Kind::Zadd, Road::Script, SECOND);
        assert_eq!(wurk.road_at(Kind::Zadd, SECOND), Road::Script);
        assert_eq!(wurk.road_at(Kind::Claim, SECOND), Road::Module);
        wurk.forget();
        assert_eq!(wurk.road_at(Kind::Zadd, SECOND), Road::Module);
    }

    #[test]
    fn what_is_learned_at_once_is_kept() {
        let wurk = Wurk::new();
        wurk.learn_at(Kind::Lock, Road::Script, Duration::ZERO);
        assert_eq!(wurk.road_at(Kind::Lock, Duration::ZERO), Road::Script);
    }
}
