//! What a claim that waits does next: a state machine without I/O.
//!
//! Where the module has `WURK.BCLAIM` the server does the waiting, a slice at a
//! time; elsewhere the claim is made again and again with a growing pause.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The first pause between two claims, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How short and how long a slice may be: what the server takes as a time-out.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Into how many parts the heartbeat's time to live is cut: after one of them the
/// claim is made again, and the heartbeat with it, so that two may go astray.
const PARTS: u32 = 3;

/// A claim that waits.
pub(crate) struct Wait {
    /// `None`: for ever.
    end: Option<Instant>,
    slice: Duration,
    pause: Duration,
    longest_pause: Duration,
    /// The queues have been looked at since the last pause.
    looked: bool,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// `WURK.BCLAIM` with this time-out.
    Block(Duration),
    /// A claim.
    Claim,
    /// Nothing, for so long.
    Pause(Duration),
    /// The time is up.
    Over,
}

impl Wait {
    /// A wait from `now` on. The server is asked to block for no longer than
    /// `slice` at a time, nor than a part of `ttl`, the time that the process lives
    /// without another heartbeat: none is written while it blocks.
    pub(crate) fn new(now: Instant, wait: Duration, slice: Duration, ttl: Duration) -> Self {
        let part = ttl / PARTS;
        Self {
            end: now.checked_add(wait),
            slice: slice.min(part).clamp(SHORTEST, LONGEST),
            pause: FIRST_PAUSE,
            longest_pause: LONGEST_PAUSE.min(part).max(SHORTEST),
            looked: false,
        }
    }

    /// The next turn; `blocks` says whether the server is thought to know
    /// `WURK.BCLAIM`. The queues are looked at once in any case, and at the end of
    /// every pause.
    pub(crate) fn turn(&mut self, now: Instant, blocks: bool) -> Turn {
        let left = self
            .end
            .map_or(Duration::MAX, |end| end.saturating_duration_since(now));
        // A server counts whole milliseconds, and takes zero for ever.
        let over = left < Duration::from_millis(1);
        if over && self.looked {
            return Turn::Over;
        }
        let turn = if blocks && !over {
            Turn::Block(self.slice.min(left))
        } else if self.looked {
            let pause = self.pause.min(self.longest_pause);
            self.pause = self.longest_pause.min(pause * 2);
            Turn::Pause(pause.min(left))
        } else {
            Turn::Claim
        };
        self.looked = !matches!(turn, Turn::Pause(_));
        turn
    }

    /// The server has turned out not to know `WURK.BCLAIM`: that was no look.
    pub(crate) fn unknown(&mut self) {
        self.looked = false;
    }
}

/// A heartbeat's `beat` for a claim that has waited: the clock, in seconds since
/// 1970 with microseconds.
pub(crate) fn clock() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format!("{}.{:06}", now.as_secs(), now.subsec_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn the_heartbeat_is_written_before_the_process_is_taken_for_dead() {
        let start = Instant::now();
        let mut wait = Wait::new(start, 10 * MINUTE, MINUTE, MINUTE);
        assert_eq!(wait.turn(start, true), Turn::Block(MINUTE / 3));
        // Without the command too, and however short its time is.
        let mut wait = Wait::new(start, MINUTE, MINUTE, 30 * MS);
        for _ in 0..5 {
            assert_eq!(wait.turn(start, false), Turn::Claim);
            assert_eq!(wait.turn(start, false), Turn::Pause(10 * MS));
        }
        // A time of none is the server's to refuse.
        let mut wait = Wait::new(start, MINUTE, MINUTE, Duration::ZERO);
        assert_eq!(wait.turn(start, true), Turn::Block(MS));
    }

    #[test]
    fn the_server_waits_a_slice_at_a_time() {
        let start = Instant::now();
        let mut wait = Wait::new(start, 600 * MS, 250 * MS, MINUTE);
        assert_eq!(wait.turn(start, true), Turn::Block(250 * MS));
        assert_eq!(wait.turn(start + 250 * MS, true), Turn::Block(250 * MS));
        assert_eq!(wait.turn(start + 500 * MS, true), Turn::Block(100 * MS));
        assert_eq!(wait.turn(start + 600 * MS, true), Turn::Over);
    }

    #[test]
    fn without_the_command_the_pauses_grow() {
        let mut now = Instant::now();
        let mut wait = Wait::new(now, 4_000 * MS, 250 * MS, MINUTE);
        let mut pauses = Vec::new();
        loop {
            assert_eq!(wait.turn(now, false), Turn::Claim);
            match wait.turn(now, false) {
                Turn::Pause(pause) => {
                    pauses.push(pause.as_millis());
                    now += pause;
                }
                turn => break assert_eq!(turn, Turn::Over),
            }
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 730]);
    }

    #[test]
    fn the_command_that_turns_out_unknown_costs_no_look() {
        let now = Instant::now();
        let mut wait = Wait::new(now, 100 * MS, 250 * MS, MINUTE);
        assert_eq!(wait.turn(now, true), Turn::Block(100 * MS));
        wait.unknown();
        assert_eq!(wait.turn(now, false), Turn::Claim);
        assert_eq!(wait.turn(now, false), Turn::Pause(10 * MS));
        assert_eq!(wait.turn(now + 10 * MS, false), Turn::Claim);
    }

    #[test]
    fn no_time_is_one_look() {
        for blocks in [true, false] {
            let now = Instant::now();
            let mut wait = Wait::new(now, Duration::ZERO, 250 * MS, MINUTE);
            assert_eq!(wait.turn(now, blocks), Turn::Claim);
            assert_eq!(wait.turn(now, blocks), Turn::Over);
        }
    }

    #[test]
    fn all_the_time_has_no_end() {
        let now = Instant::now();
        let mut wait = Wait::new(now, Duration::MAX, 250 * MS, MINUTE);
        assert_eq!(
            wait.turn(now + Duration::from_secs(1 << 40), true),
            Turn::Block(250 * MS)
        );
    }
}
