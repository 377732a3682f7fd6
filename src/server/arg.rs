//! Strings: the arguments of a call, which the server owns, and owned ones.

use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::slice;

use redis_module::raw::{self, RedisModuleString};

use super::api::api;

/// An argument as the server's blocking commands read a decimal number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// No number.
    Not,
    /// Possibly infinite, never a NaN.
    Is(f64),
}

/// An argument, read in place.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Arg<'a> {
    string: NonNull<RedisModuleString>,
    owner: PhantomData<&'a RedisModuleString>,
}

impl<'a> Arg<'a> {
    /// # Safety
    /// `string` stays valid and unchanged for `'a`.
    pub(super) unsafe fn new(string: NonNull<RedisModuleString>) -> Self {
        Self {
            string,
            owner: PhantomData,
        }
    }

    /// The arguments of a call, its name first.
    ///
    /// # Safety
    /// `argv` and `argc` are those of a command's handler, and `'a` ends when that
    /// handler returns.
    pub(super) unsafe fn all(argv: *mut *mut RedisModuleString, argc: c_int) -> &'a [Self] {
        let length = usize::try_from(argc).unwrap_or(0);
        // SAFETY: `argc` pointers stand at `argv`, none of them null, and an
        // `Arg` is such a pointer.
        unsafe { slice::from_raw_parts(argv.cast::<Self>(), length) }
    }

    pub(super) fn pointer(self) -> *mut RedisModuleString {
        self.string.as_ptr()
    }

    /// The bytes of the argument.
    pub(crate) fn bytes(self) -> &'a [u8] {
        let mut length = 0;
        // SAFETY: the string is valid for `'a`, and the server never changes
        // one that it has handed to a module.
        unsafe {
            let start = api!(RedisModule_StringPtrLen(self.pointer(), &mut length));
            slice::from_raw_parts(start.cast::<u8>(), length)
        }
    }

    /// The bytes up to the first NUL, which a command's name has only at its end.
    pub(super) fn c_str(self) -> &'a CStr {
        // SAFETY: as above; the server ends every string with a NUL.
        unsafe {
            let start = api!(RedisModule_StringPtrLen(self.pointer(), ptr::null_mut()));
            CStr::from_ptr(start)
        }
    }

    /// The argument as the server reads integers: decimal digits, no spaces.
    pub(crate) fn integer(self) -> Option<i64> {
        let mut value = 0;
        // SAFETY: the string is valid, and `value` is written before it is read.
        let status = unsafe { api!(RedisModule_StringToLongLong(self.pointer(), &mut value)) };
        (status == raw::REDISMODULE_OK as c_int).then_some(value)
    }

    /// The argument as the server reads a score.
    pub(crate) fn double(self) -> Option<f64> {
        let mut value = 0.0;
        // SAFETY: the string is valid, and `value` is written before it is read.
        let status = unsafe { api!(RedisModule_StringToDouble(self.pointer(), &mut value)) };
        (status == raw::REDISMODULE_OK as c_int).then_some(value)
    }

    /// The argument as the server reads a timeout: as a long double, which holds
    /// numbers that a double does not.
    pub(crate) fn number(self) -> Number {
        if let Some(value) = self.double() {
            return Number::Is(value);
        }
        let text = std::str::from_utf8(self.bytes()).unwrap_or_default();
        hexadecimal(text).map_or_else(|| past_a_double(text), Number::Is)
    }
}

/// A string of the module's own. Freed at the end of its scope.
pub(crate) struct OwnedString(NonNull<RedisModuleString>);

impl OwnedString {
    /// # Safety
    /// Nobody else frees `string`, and no context does so by itself.
    pub(super) unsafe fn new(string: NonNull<RedisModuleString>) -> Self {
        Self(string)
    }

    pub(crate) fn arg(&self) -> Arg<'_> {
        // SAFETY: valid for as long as `self` is.
        unsafe { Arg::new(self.0) }
    }
}

impl Drop for OwnedString {
    fn drop(&mut self) {
        // SAFETY: freed once; the server counts its own references to it.
        unsafe { api!(RedisModule_FreeString(ptr::null_mut(), self.0.as_ptr())) }
    }
}

/// The exponents of ten that a long double holds.
const LONG_DOUBLE: std::ops::RangeInclusive<i32> = -4950..=4932;

/// A number that a double does not hold: infinite, next to nothing, or none.
fn past_a_double(text: &str) -> Number {
    let exponent = text
        .split_once(['e', 'E'])
        .map_or(Ok(0), |(_, exponent)| exponent.parse());
    match (text.parse::<f64>(), exponent) {
        (Ok(0.0), Ok(exponent)) if LONG_DOUBLE.contains(&exponent) => {
            Number::Is(f64::MIN_POSITIVE.copysign(if text.starts_with('-') { -1.0 } else { 1.0 }))
        }
        (Ok(value), Ok(exponent)) if value.is_infinite() && LONG_DOUBLE.contains(&exponent) => {
            Number::Is(value)
        }
        _ => Number::Not,
    }
}

/// Reads `0x1p-4`: as a long double, some servers do.
fn hexadecimal(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = unsigned
        .strip_prefix("0x")
        .or(unsigned.strip_prefix("0X"))?;
    let (mantissa, exponent) = match digits.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
        None => (digits, 0_i32),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let fraction_bits = i32::try_from(fraction.len().saturating_mul(4)).ok()?;
    if value > 0.0 {
        value *= f64::from(exponent.saturating_sub(fraction_bits)).exp2();
    }
    // Infinity times zero is no number.
    (!value.is_nan()).then_some(if text.starts_with('-') { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_is_a_number_too() {
        assert_eq!(hexadecimal("0x10"), Some(16.0));
        assert_eq!(hexadecimal("-0X1p-4"), Some(-0.0625));
        assert_eq!(hexadecimal("+0x.8"), Some(0.5));
        assert_eq!(hexadecimal("0x1p99999"), Some(f64::INFINITY));
        assert_eq!(hexadecimal("0x0p99999"), Some(0.0));
        let long = format!("0x{}p-99999", "f".repeat(300));
        assert_eq!(hexadecimal(&long), None);
        for text in ["0x", "0x.", "0xg", "0x1p", "0x1p1.5", "10", "x10", ""] {
            assert_eq!(hexadecimal(text), None, "{text}");
        }
    }

    #[test]
    fn a_long_double_has_room_for_more() {
        assert_eq!(past_a_double("1e400"), Number::Is(f64::INFINITY));
        assert_eq!(past_a_double("-1e400"), Number::Is(f64::NEG_INFINITY));
        assert_eq!(past_a_double("1e-400"), Number::Is(f64::MIN_POSITIVE));
        assert_eq!(past_a_double("-1e-400"), Number::Is(-f64::MIN_POSITIVE));
        for text in ["1e5000", "1e-5000", "nan", "", "x", "1e", "1 "] {
            assert_eq!(past_a_double(text), Number::Not, "{text}");
        }
    }
}
