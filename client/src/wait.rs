//! What a claim that waits does next: a state machine without I/O.
//!
//! If the server has `WURK.BCLAIM` it does the waiting, for a block timeout at a
//! time; otherwise it is polled, with growing pauses.

use std::time::{Duration, Instant};

/// The first pause between two claims, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The limits of a block timeout: the server takes no less and no more.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How many times the heartbeat is written in its time to live, so that a late one
/// does no harm.
const HEARTBEATS_PER_TTL: u32 = 3;

/// A claim that waits.
pub(crate) struct Wait {
    /// `None`: never.
    end: Option<Instant>,
    block_timeout: Duration,
    pause: Duration,
    longest_pause: Duration,
    /// The queues have been polled since the last pause.
    polled: bool,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// `WURK.BCLAIM` with this timeout.
    Block(Duration),
    /// A claim.
    Claim,
    /// Sleep.
    Pause(Duration),
    /// The time is over.
    Over,
}

impl Wait {
    /// A wait from `now` on. The server blocks for no longer than `block_timeout` at
    /// a time, nor than a part of `ttl`, the time to live of the heartbeat: none is
    /// written while it blocks.
    pub(crate) fn new(
        now: Instant,
        wait: Duration,
        block_timeout: Duration,
        ttl: Duration,
    ) -> Self {
        let part = ttl / HEARTBEATS_PER_TTL;
        Self {
            end: now.checked_add(wait),
            block_timeout: block_timeout.min(part).clamp(SHORTEST, LONGEST),
            pause: FIRST_PAUSE,
            longest_pause: LONGEST_PAUSE.min(part).max(SHORTEST),
            polled: false,
        }
    }

    /// The next turn; `blocks` says whether the server is believed to have
    /// `WURK.BCLAIM`. The queues are polled at least once, and after every pause.
    pub(crate) fn turn(&mut self, now: Instant, blocks: bool) -> Turn {
        let left = self
            .end
            .map_or(Duration::MAX, |end| end.saturating_duration_since(now));
        // A server counts whole milliseconds, and zero is no timeout.
        let over = left < Duration::from_millis(1);
        if over && self.polled {
            return Turn::Over;
        }
        let turn = if blocks && !over {
            Turn::Block(self.block_timeout.min(left))
        } else if self.polled {
            let pause = self.pause.min(self.longest_pause);
            self.pause = self.longest_pause.min(pause * 2);
            Turn::Pause(pause.min(left))
        } else {
            Turn::Claim
        };
        self.polled = !matches!(turn, Turn::Pause(_));
        turn
    }

    /// `WURK.BCLAIM` was unknown: nothing has been polled.
    pub(crate) fn unknown(&mut self) {
        self.polled = false;
    }
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
    fn the_server_blocks_for_a_block_timeout_at_a_time() {
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
    fn an_unknown_command_is_no_poll() {
        let now = Instant::now();
        let mut wait = Wait::new(now, 100 * MS, 250 * MS, MINUTE);
        assert_eq!(wait.turn(now, true), Turn::Block(100 * MS));
        wait.unknown();
        assert_eq!(wait.turn(now, false), Turn::Claim);
        assert_eq!(wait.turn(now, false), Turn::Pause(10 * MS));
        assert_eq!(wait.turn(now + 10 * MS, false), Turn::Claim);
    }

    #[test]
    fn no_time_is_one_poll() {
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
