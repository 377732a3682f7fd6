//! What a claim writes about its process.

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The heartbeat of a process, which every claim writes.
///
/// A full server refuses the `HSET` of the process's own heartbeat, without which
/// it would be taken for dead and its jobs for orphans.
///
/// ```
/// use std::time::Duration;
/// use wurk_client::Heartbeat;
///
/// let heartbeat = Heartbeat::new(b"processes", b"host:1:f00")
///     .with_info(br#"{"tag":"shop"}"#)
///     .with_ttl(Duration::from_secs(60));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Heartbeat<'a> {
    /// The set of the identities of all processes.
    pub processes: &'a [u8],
    /// The hash of this process, and its member in that set.
    pub identity: &'a [u8],
    /// The field `info` of the hash, written when the hash is created.
    pub info: &'a [u8],
    /// The field `beat` of the hash. `None`: the time of the call, in seconds
    /// since 1970 with microseconds.
    pub beat: Option<&'a [u8]>,
    /// The time to live of the hash, in whole seconds, rounded up. Zero is refused
    /// with `ERR invalid expire time`.
    pub ttl: Duration,
}

impl<'a> Heartbeat<'a> {
    /// A heartbeat with `info` `{}` and a `ttl` of 60 seconds.
    #[must_use]
    pub const fn new(processes: &'a [u8], identity: &'a [u8]) -> Self {
        Self {
            processes,
            identity,
            info: b"{}",
            beat: None,
            ttl: Duration::from_secs(60),
        }
    }

    /// Sets what the process says about itself, e.g. [`Info::to_json`](crate::Info::to_json).
    #[must_use]
    pub const fn with_info(self, info: &'a [u8]) -> Self {
        Self { info, ..self }
    }

    /// Sets the time to live of the hash.
    #[must_use]
    pub const fn with_ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// Sets `beat`, in place of the time of the call. A claim that waits uses it
    /// once, and the time from then on.
    #[must_use]
    pub const fn with_beat(self, beat: &'a [u8]) -> Self {
        Self {
            beat: Some(beat),
            ..self
        }
    }
}

/// The time, in seconds since 1970 with microseconds, without an allocation.
pub(crate) struct Clock {
    text: [u8; Self::LENGTH],
    length: usize,
}

impl Clock {
    /// Digits for seconds of any 64 bits, the point, and microseconds.
    pub(crate) const LENGTH: usize = 20 + 1 + 6;

    pub(crate) fn now() -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let mut text = [0; Self::LENGTH];
        let mut rest = &mut text[..];
        // The buffer is long enough for any time.
        let _ = write!(rest, "{}.{:06}", now.as_secs(), now.subsec_micros());
        let length = Self::LENGTH - rest.len();
        Self { text, length }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.text[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_seconds_with_microseconds() {
        let text = String::from_utf8(Clock::now().bytes().to_vec()).expect("digits");
        let (seconds, fraction) = text.split_once('.').expect("a point");
        assert!(seconds.parse::<u64>().expect("a number") > 1_700_000_000);
        assert_eq!(fraction.len(), 6, "{text}");
    }
}
