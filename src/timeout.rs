//! Timeouts, as the server's own blocking commands read them.

use crate::server::{Error, Number, Result};

/// Converts seconds to milliseconds, rounded up; 0 is no timeout. `now` is in
/// milliseconds since 1970: the server must be able to represent the end.
pub(crate) fn milliseconds(seconds: Number, now: i64) -> Result<i64> {
    let seconds = match seconds {
        Number::Not => return Err(Error::TimeoutNotAFloat),
        Number::Is(seconds) => seconds,
    };
    let milliseconds = (seconds * 1000.0).ceil();
    if milliseconds < 0.0 {
        return Err(Error::TimeoutNegative);
    }
    // A cast saturates.
    let milliseconds = milliseconds as i64;
    let end = milliseconds.checked_add(now);
    // The server computes the end again a moment later: a minute is left for that.
    if end.and_then(|end| end.checked_add(60_000)).is_none() {
        return Err(Error::TimeoutOutOfRange);
    }
    Ok(milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(seconds: f64) -> Option<i64> {
        milliseconds(Number::Is(seconds), 1_700_000_000_000).ok()
    }

    #[test]
    fn a_wait_is_rounded_up() {
        assert_eq!(wait(0.0), Some(0));
        assert_eq!(wait(-0.0), Some(0));
        assert_eq!(wait(1.5), Some(1500));
        assert_eq!(wait(0.0001), Some(1));
        assert_eq!(wait(f64::MIN_POSITIVE), Some(1));
    }

    #[test]
    fn a_wait_has_an_end_or_none() {
        assert_eq!(wait(-0.5), None);
        assert_eq!(wait(f64::NEG_INFINITY), None);
        assert_eq!(wait(f64::INFINITY), None);
        assert_eq!(wait(9_223_372_036_854_775.0), None);
        assert!(wait(9_000_000_000_000_000.0).is_some());
    }
}
