//! Money in millionths of a dollar. Sums are exact and saturate instead of overflowing.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const MICROS: f64 = 1_000_000.0;

/// Amount of money; as JSON, dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(i64);

impl Money {
    pub const ZERO: Self = Self(0);

    #[must_use]
    pub const fn micros(micros: i64) -> Self {
        Self(micros)
    }

    #[must_use]
    pub const fn cents(cents: i64) -> Self {
        Self(cents.saturating_mul(10_000))
    }

    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    #[must_use]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / MICROS
    }

    /// Converts dollars, rounded to the nearest millionth.
    #[must_use]
    pub fn from_dollars(dollars: f64) -> Self {
        Self((dollars * MICROS).round() as i64)
    }

    #[must_use]
    pub const fn times(self, count: i64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// Returns `self × part / whole`, rounded towards zero; zero if `whole` is zero.
    #[must_use]
    pub fn share(self, part: i64, whole: i64) -> Self {
        if whole == 0 {
            return Self::ZERO;
        }
        let micros = i128::from(self.0) * i128::from(part) / i128::from(whole);
        Self(i64::try_from(micros).unwrap_or(if micros < 0 { i64::MIN } else { i64::MAX }))
    }

    #[must_use]
    pub fn to_cents(self) -> Self {
        Self::cents((self.0 as f64 / 10_000.0).round() as i64)
    }

    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    #[must_use]
    pub const fn is_positive(self) -> bool {
        self.0 > 0
    }
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Money {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Money {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        // Far above any amount of the desk, far below the range of the integers.
        if dollars.abs() > 1e9 {
            return Err(de::Error::custom("an amount is at most 1,000,000,000 dollars"));
        }
        Ok(Self::from_dollars(dollars))
    }
}

impl JsonSchema for Money {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Money".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_amount_never_exceed_it() {
        let whole = Money::cents(1_000);
        let parts = whole.share(1, 3) + whole.share(1, 3) + whole.share(1, 3);
        assert!(parts <= whole && whole - parts < Money::cents(1));
        assert_eq!(whole.share(1, 0), Money::ZERO);
    }

    #[test]
    fn sums_saturate_instead_of_wrapping() {
        assert_eq!(Money(i64::MAX) + Money(1), Money(i64::MAX));
        assert_eq!(Money(i64::MAX).times(2), Money(i64::MAX));
    }
}
