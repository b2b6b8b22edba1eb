//! Numbers keep their text; a value is made of it only when somebody asks.

use std::borrow::Cow;

use jsonschema::json::JsonNumber;

/// A number as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number<'a> {
    text: &'a str,
}

impl<'a> Number<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// The literal.
    #[must_use]
    pub fn text(self) -> &'a str {
        self.text
    }

    /// The value, if it is written as an integer that fits.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        self.text.parse().ok()
    }

    /// The value, if it is written as an integer that fits.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        self.text.parse().ok()
    }

    /// The nearest double.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.text.parse().unwrap_or(f64::NAN)
    }

    /// The value as `serde_json` holds it: 64-bit integers exactly, everything else as a double.
    #[must_use]
    pub fn to_number(self) -> serde_json::Number {
        if let Some(n) = self.as_u64() {
            return n.into();
        }
        match self.as_i64() {
            // `-0` is a double: an integer has no negative zero.
            Some(n) if n != 0 => n.into(),
            _ => serde_json::Number::from_f64(self.as_f64()).unwrap_or_else(|| 0.into()),
        }
    }
}

impl JsonNumber for Number<'_> {
    fn as_u64(&self) -> Option<u64> {
        Number::as_u64(*self)
    }

    fn as_i64(&self) -> Option<i64> {
        Number::as_i64(*self)
    }

    fn as_f64(&self) -> Option<f64> {
        Some(Number::as_f64(*self))
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.text)
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(Number::to_number(*self))
    }

    fn is_integer(&self) -> bool {
        self.is_written_as_integer() || Number::as_f64(*self).fract() == 0.0
    }

    fn is_written_as_integer(&self) -> bool {
        !self.text.bytes().any(|b| matches!(b, b'.' | b'e' | b'E'))
    }
}
