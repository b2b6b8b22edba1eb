//! Numbers keep their text; a value is made of it only when somebody asks.

use std::borrow::Cow;

use jsonschema::json::JsonNumber;

use super::node::Node;

/// What reading a number has found out about its value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Magnitude {
    /// Written as an integer, and small.
    Integer(i64),
    /// Written with a fraction or an exponent.
    Double(f64),
    /// Written as an integer of many digits.
    Large,
}

/// A number as it is written.
#[derive(Debug, Clone, Copy)]
pub struct Number<'a> {
    node: Node<'a>,
    value: Magnitude,
}

impl<'a> Number<'a> {
    #[inline]
    pub(super) fn new(node: Node<'a>, value: Magnitude) -> Self {
        Self { node, value }
    }

    /// The literal.
    #[must_use]
    pub fn text(self) -> &'a str {
        self.node.raw()
    }

    /// The value, if it is written as an integer that fits.
    #[inline]
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        match self.value {
            Magnitude::Integer(n) => u64::try_from(n).ok(),
            Magnitude::Double(_) => None,
            Magnitude::Large => self.text().parse().ok(),
        }
    }

    /// The value, if it is written as an integer that fits.
    #[inline]
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self.value {
            Magnitude::Integer(n) => Some(n),
            Magnitude::Double(_) => None,
            // A negative zero is no integer.
            Magnitude::Large => self.text().parse().ok().filter(|n| *n != 0),
        }
    }

    /// The nearest double.
    #[inline]
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self.value {
            Magnitude::Integer(n) => n as f64,
            Magnitude::Double(x) => x,
            Magnitude::Large => self.text().parse().unwrap_or(f64::NAN),
        }
    }

    /// The value as `serde_json` holds it: 64-bit integers exactly, everything else as a double.
    #[must_use]
    pub fn to_number(self) -> serde_json::Number {
        if let Some(n) = self.as_u64() {
            return n.into();
        }
        match self.as_i64() {
            Some(n) => n.into(),
            None => serde_json::Number::from_f64(self.as_f64()).unwrap_or_else(|| 0.into()),
        }
    }
}

impl JsonNumber for Number<'_> {
    #[inline]
    fn as_u64(&self) -> Option<u64> {
        Number::as_u64(*self)
    }

    #[inline]
    fn as_i64(&self) -> Option<i64> {
        Number::as_i64(*self)
    }

    #[inline]
    fn as_f64(&self) -> Option<f64> {
        Some(Number::as_f64(*self))
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.text())
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(Number::to_number(*self))
    }

    #[inline]
    fn is_integer(&self) -> bool {
        match self.value {
            Magnitude::Double(x) => x.fract() == 0.0,
            Magnitude::Integer(_) | Magnitude::Large => true,
        }
    }

    #[inline]
    fn is_written_as_integer(&self) -> bool {
        !matches!(self.value, Magnitude::Double(_))
    }
}
