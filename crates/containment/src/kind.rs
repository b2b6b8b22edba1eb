//! Kinds of JSON values. Numbers have three kinds: an integer written as one, an integer written as a float (`1.0`,
//! which is not an integer in draft-04), and a number with a fraction.

use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Integer,
    String,
    Array,
    Object,
    Fraction,
    WholeFloat,
}

impl Kind {
    /// All kinds, those with the most readable witnesses first.
    pub(crate) const EVERY: [Kind; 8] = [
        Kind::Null,
        Kind::Boolean,
        Kind::Integer,
        Kind::String,
        Kind::Array,
        Kind::Object,
        Kind::Fraction,
        Kind::WholeFloat,
    ];

    pub(crate) fn set(self) -> Kinds {
        Kinds(1 << self as u8)
    }

    pub(crate) fn of(value: &Value) -> Kind {
        match value {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Boolean,
            Value::Number(number) if !number.is_f64() => Kind::Integer,
            Value::Number(number) => match number.as_f64() {
                Some(float) if float.fract() == 0.0 => Kind::WholeFloat,
                _ => Kind::Fraction,
            },
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::Array,
            Value::Object(_) => Kind::Object,
        }
    }
}

/// Set of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NONE: Kinds = Kinds(0);
    pub(crate) const ALL: Kinds = Kinds(0xff);
    pub(crate) const NULL: Kinds = Kinds(1 << Kind::Null as u8);
    pub(crate) const BOOLEAN: Kinds = Kinds(1 << Kind::Boolean as u8);
    pub(crate) const STRING: Kinds = Kinds(1 << Kind::String as u8);
    pub(crate) const ARRAY: Kinds = Kinds(1 << Kind::Array as u8);
    pub(crate) const OBJECT: Kinds = Kinds(1 << Kind::Object as u8);
    pub(crate) const NUMBER: Kinds =
        Kinds(1 << Kind::Integer as u8 | 1 << Kind::WholeFloat as u8 | 1 << Kind::Fraction as u8);
    pub(crate) const INTEGER: Kinds = Kinds(1 << Kind::Integer as u8 | 1 << Kind::WholeFloat as u8);
    pub(crate) const WRITTEN_INTEGER: Kinds = Kinds(1 << Kind::Integer as u8);

    pub(crate) fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 & other.0)
    }
    pub(crate) fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
    pub(crate) fn not(self) -> Kinds {
        Kinds(!self.0)
    }
    pub(crate) fn has(self, kind: Kind) -> bool {
        self.and(kind.set()) != Kinds::NONE
    }
}
