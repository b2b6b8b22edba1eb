//! Exact numbers. A JSON number is read as the decimal it is printed as (0.1 is one tenth), so that `multipleOf` and
//! bounds are decided exactly, without rounding.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use serde_json::{Number, Value};

/// Exact rational number.
pub(crate) type Rational = BigRational;

/// Maximum decimal exponent that is expanded; `serde_json` itself stops at 308.
const EXPONENT_MAX: i64 = 400;

pub(crate) fn whole(value: impl Into<BigInt>) -> Rational {
    Rational::from_integer(value.into())
}

/// Returns the number as an exact fraction; `None` only for exponents that no `f64` has.
pub(crate) fn exact(number: &Number) -> Option<Rational> {
    if let Some(value) = number.as_i64() {
        return Some(whole(value));
    }
    if let Some(value) = number.as_u64() {
        return Some(whole(value));
    }
    decimal(&number.to_string())
}

fn decimal(text: &str) -> Option<Rational> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole_part, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: BigInt = format!("{whole_part}{fraction}").parse().ok()?;
    let scale = exponent - i64::try_from(fraction.len()).ok()?;
    if scale.abs() > EXPONENT_MAX {
        return None;
    }
    let power = BigInt::from(10).pow(u32::try_from(scale.unsigned_abs()).ok()?);
    Some(if scale >= 0 { Rational::from_integer(digits * power) } else { Rational::new(digits, power) })
}

/// `true` if `value` is an integer multiple of `step`.
pub(crate) fn divides(step: &Rational, value: &Rational) -> bool {
    !step.is_zero() && (value / step).is_integer()
}

/// Returns the least positive number that is a multiple of both.
pub(crate) fn lcm(left: &Rational, right: &Rational) -> Rational {
    let numerator = left.numer().abs().lcm(&right.numer().abs());
    let denominator = left.denom().gcd(right.denom());
    Rational::new(numerator, denominator)
}

/// Returns a JSON number of exactly this value: an integer literal if possible and `float` is `false`, else the
/// shortest float that reads back as the same decimal. `None` if there is no such number.
pub(crate) fn json(value: &Rational, float: bool) -> Option<Value> {
    if value.is_integer() && !float {
        let integer = value.to_integer();
        if let Some(small) = integer.to_i64() {
            return Some(Value::from(small));
        }
        if let Some(large) = integer.to_u64() {
            return Some(Value::from(large));
        }
    }
    let number = Number::from_f64(value.to_f64()?)?;
    (exact(&number).as_ref() == Some(value)).then_some(Value::Number(number))
}

pub(crate) fn one() -> Rational {
    Rational::one()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Rational {
        exact(&serde_json::from_str(text).unwrap()).unwrap()
    }

    #[test]
    fn decimals_are_read_as_printed() {
        assert_eq!(read("0.3"), Rational::new(3.into(), 10.into()));
        assert_eq!(read("1e-7"), Rational::new(1.into(), 10_000_000.into()));
        assert!(divides(&read("0.3"), &read("3")));
        assert!(!divides(&read("0.3"), &read("1")));
        assert_eq!(read("18446744073709551613").to_integer().to_string(), "18446744073709551613");
    }

    #[test]
    fn the_least_common_multiple_of_fractions_is_exact() {
        assert_eq!(lcm(&read("0.4"), &read("0.6")), read("1.2"));
        assert_eq!(lcm(&read("1"), &read("0.3")), read("3"));
    }

    #[test]
    fn only_representable_numbers_are_written() {
        assert_eq!(json(&Rational::new(1.into(), 2.into()), false), Some(Value::from(0.5)));
        assert_eq!(json(&Rational::new(1.into(), 3.into()), false), None);
        assert_eq!(json(&whole(4), true), Some(Value::from(4.0)));
    }
}
