//! Reader of number literals: the grammar of RFC 8259, and the value where it can be computed in the same pass.

use super::error::ReadErrorKind;
use super::tape::tag;

/// A number literal: the offset after its end, and the tag and word of its slot.
pub(crate) struct Literal {
    pub(crate) end: usize,
    pub(crate) tag: u8,
    pub(crate) word: u64,
}

type Read = Result<Literal, (usize, ReadErrorKind)>;

/// Maximum digits whose value always fits 64 bits.
const DIGITS_MAX: usize = 18;
/// Integers up to this value are exact as doubles.
const EXACT_MAX: u64 = 1 << 53;
/// A number with at most this many digits before its point and no exponent is within the range of a double.
const DIGITS_IN_RANGE: usize = 300;
/// Divisors for a fraction of up to [`DIGITS_MAX`] digits; each is exact as a double.
const POWERS: [f64; DIGITS_MAX + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

/// Reads the number that starts at `start`, with a digit or a minus sign.
#[inline]
pub(crate) fn read(source: &str, start: usize) -> Read {
    let bytes = source.as_bytes();
    let negative = bytes.get(start) == Some(&b'-');
    let from = start + usize::from(negative);
    let mut at = from;
    let mut whole = 0;
    digits(bytes, &mut at, &mut whole);
    let count = at - from;
    if count == 0 || (count > 1 && bytes.get(from) == Some(&b'0')) {
        return Err(malformed(bytes, from + usize::from(count > 0)));
    }
    if let Some(b'.' | b'e' | b'E') = bytes.get(at) {
        return decimal(source, start, from, at, whole);
    }
    // A negative zero is not an integer.
    if count > DIGITS_MAX || (negative && whole == 0) {
        return large(source, start, at);
    }
    let value = whole.cast_signed();
    let value = if negative { -value } else { value };
    Ok(Literal { end: at, tag: tag::INTEGER, word: value.cast_unsigned() })
}

/// Reads digits and appends them to `number`, whose value is meaningless beyond [`DIGITS_MAX`] digits.
#[inline]
fn digits(bytes: &[u8], at: &mut usize, number: &mut u64) {
    while let Some(digit @ 0..=9) = bytes.get(*at).map(|byte| byte.wrapping_sub(b'0')) {
        *number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        *at += 1;
    }
}

/// Reads the rest of a number whose whole part, from `from` to `at`, is `number`.
fn decimal(source: &str, start: usize, from: usize, mut at: usize, mut number: u64) -> Read {
    let bytes = source.as_bytes();
    let whole = at - from;
    let mut fraction = 0;
    if bytes.get(at) == Some(&b'.') {
        let point = at + 1;
        at = point;
        digits(bytes, &mut at, &mut number);
        fraction = at - point;
        if fraction == 0 {
            return Err(malformed(bytes, at));
        }
    }
    let mut exponent = false;
    if let Some(b'e' | b'E') = bytes.get(at) {
        exponent = true;
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        let from = at;
        digits(bytes, &mut at, &mut 0);
        if at == from {
            return Err(malformed(bytes, at));
        }
    }
    let value = if exponent || whole > DIGITS_IN_RANGE {
        nearest(source, start, at).ok_or((start, ReadErrorKind::NumberRange))?
    } else if whole + fraction <= DIGITS_MAX && number <= EXACT_MAX {
        // Both operands are exact doubles, so the quotient is correctly rounded.
        let value = number as f64 / POWERS.get(fraction).copied().unwrap_or(f64::NAN);
        if from > start { -value } else { value }
    } else {
        f64::NAN
    };
    Ok(Literal { end: at, tag: tag::DOUBLE, word: value.to_bits() })
}

/// Builds the literal of an integer of many digits, or of a negative zero.
#[cold]
fn large(source: &str, start: usize, end: usize) -> Read {
    if end - start > DIGITS_IN_RANGE && nearest(source, start, end).is_none() {
        return Err((start, ReadErrorKind::NumberRange));
    }
    let literal = source.get(start..end).unwrap_or_default();
    Ok(match literal.parse::<i64>() {
        Ok(value) if value != 0 => Literal { end, tag: tag::INTEGER, word: value.cast_unsigned() },
        _ => Literal { end, tag: tag::LARGE, word: 0 },
    })
}

/// Returns the double nearest to a literal, if it is in range.
fn nearest(source: &str, start: usize, end: usize) -> Option<f64> {
    source.get(start..end)?.parse().ok().filter(|value: &f64| value.is_finite())
}

#[cold]
fn malformed(bytes: &[u8], at: usize) -> (usize, ReadErrorKind) {
    (at, if at >= bytes.len() { ReadErrorKind::End } else { ReadErrorKind::Number })
}

#[cfg(test)]
mod tests {
    use crate::json::{Document, Limits, Number};

    fn number<T>(text: &str, ask: impl FnOnce(Number<'_>) -> T) -> T {
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        ask(document.root().as_number().unwrap())
    }

    proptest::proptest! {
        /// R1.1: the double and the integer of a number are those of the standard library.
        #[test]
        fn values_are_those_of_the_standard_library(
            text in "-?(0|[1-9][0-9]{0,22})(\\.[0-9]{1,22})?([eE][+-]?[0-9]{1,2})?",
        ) {
            let (double, integer) = number(&text, |n| (n.as_f64(), n.as_i64()));
            proptest::prop_assert_eq!(double.to_bits(), text.parse::<f64>().unwrap().to_bits());
            let expected = text.parse::<i64>().ok().filter(|_| text != "-0");
            proptest::prop_assert_eq!(integer, expected);
        }
    }

    #[test]
    fn values_at_the_edge_of_a_shortcut_are_exact() {
        for text in [
            "9007199254740992.0",
            "9007199254740993.0",
            "0.9007199254740993",
            "0.000000000000000001",
            "0.0000000000000000001",
            "123456789012345678",
            "1234567890123456789",
            "-9223372036854775808",
            "9223372036854775807",
            "9223372036854775808",
            "-0",
            "-0.0",
            "0.1",
            "17976931348623157e292",
        ] {
            let (double, integer) = number(text, |n| (n.as_f64(), n.as_i64()));
            assert_eq!(double.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
            assert_eq!(integer, text.parse::<i64>().ok().filter(|_| text != "-0"), "{text}");
        }
    }
}
