//! Times to live that a key can have: the server keeps the moment of expiry in
//! milliseconds since 1970, in 64 bits.

/// The moment `ttl` milliseconds after `now`, if the server can represent it.
pub(crate) fn in_milliseconds(ttl: i64, now: i64) -> Option<i64> {
    if ttl > 0 { ttl.checked_add(now) } else { None }
}

/// The moment `ttl` seconds after `now` (in milliseconds), if the server can
/// represent it.
pub(crate) fn in_seconds(ttl: i64, now: i64) -> Option<i64> {
    in_milliseconds(ttl.checked_mul(1000)?, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_123;

    #[test]
    fn only_a_positive_ttl_is_one() {
        assert_eq!(in_milliseconds(1, NOW), Some(NOW + 1));
        assert_eq!(in_seconds(60, NOW), Some(NOW + 60_000));
        for ttl in [0, -1, i64::MIN] {
            assert_eq!(in_milliseconds(ttl, NOW), None);
            assert_eq!(in_seconds(ttl, NOW), None);
        }
    }

    #[test]
    fn the_last_moment_is_the_last() {
        assert_eq!(in_milliseconds(i64::MAX - NOW, NOW), Some(i64::MAX));
        assert_eq!(in_milliseconds(i64::MAX - NOW + 1, NOW), None);
        let last = (i64::MAX - NOW) / 1000;
        assert_eq!(in_seconds(last, NOW), Some(last * 1000 + NOW));
        assert_eq!(in_seconds(last + 1, NOW), None);
        assert_eq!(in_seconds(i64::MAX, NOW), None);
    }
}
