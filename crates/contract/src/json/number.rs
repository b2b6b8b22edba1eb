//! Numbers: the literal is kept, and a value is computed only on request.

use std::borrow::Cow;

use jsonschema::json::JsonNumber;

use super::node::Node;

/// A number with its literal.
#[derive(Debug, Clone, Copy)]
pub enum Number<'a> {
    /// Integer literal that fits 64 signed bits.
    Integer(Node<'a>, i64),
    /// Literal with a fraction or an exponent.
    Double(Node<'a>, f64),
    /// Integer literal of more bits, or negative zero.
    Large(Node<'a>),
}

impl<'a> Number<'a> {
    /// The literal.
    #[must_use]
    pub fn text(self) -> &'a str {
        match self {
            Self::Integer(node, _) | Self::Double(node, _) | Self::Large(node) => node.raw(),
        }
    }

    /// The value, if the literal is an integer that fits.
    #[inline]
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        match self {
            Self::Integer(_, n) => u64::try_from(n).ok(),
            Self::Double(..) => None,
            Self::Large(_) => self.text().parse().ok(),
        }
    }

    /// The value, if the literal is an integer that fits.
    #[inline]
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Self::Integer(_, n) => Some(n),
            Self::Double(..) => None,
            // A negative zero is not an integer.
            Self::Large(_) => self.text().parse().ok().filter(|n| *n != 0),
        }
    }

    /// The nearest double.
    #[inline]
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(_, n) => n as f64,
            Self::Double(_, x) => x,
            Self::Large(_) => self.text().parse().unwrap_or(f64::NAN),
        }
    }

    /// The value as `serde_json` holds it: 64-bit integers exact, any other number as a double.
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
        match self {
            Self::Double(_, x) => x.fract() == 0.0,
            Self::Integer(..) | Self::Large(_) => true,
        }
    }

    #[inline]
    fn is_written_as_integer(&self) -> bool {
        !matches!(self, Self::Double(..))
    }
}
