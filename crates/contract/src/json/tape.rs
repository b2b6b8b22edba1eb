//! The tape: one slot per value and per key, in the order of the text.
//!
//! A slot holds what a check asks for (the kind, the value, the text of a string, the extent of a container), so that a
//! check never goes back to the text. Where a value stands in the text is kept beside it, or follows from its address.

use std::ops::Range;

use super::node::Kind;

/// One value or key. Containers count their entries and the slots they take, their own included.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slot<'a> {
    Null {
        start: u32,
    },
    False {
        start: u32,
    },
    True {
        start: u32,
    },
    /// Written as an integer that fits 64 signed bits.
    Integer {
        start: u32,
        end: u32,
        value: i64,
    },
    /// Written with a fraction or an exponent.
    Double {
        start: u32,
        end: u32,
        value: f64,
    },
    /// Written as an integer of more bits, or as a negative zero.
    Large {
        start: u32,
        end: u32,
    },
    /// What stands between the quotes; nothing in it is escaped.
    Text(&'a str),
    /// The same in a document that owns its text: between these two places.
    Kept {
        start: u32,
        end: u32,
    },
    /// A string with an escape, quotes included.
    Escaped {
        start: u32,
        end: u32,
    },
    /// A key with an escape, quotes included, and its place among the keys that were unescaped.
    EscapedKey {
        start: u32,
        end: u32,
        key: u32,
    },
    Array(Extent),
    Object(Extent),
}

/// Where a container stands in the text and on the tape.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) start: u32,
    pub(super) end: u32,
    /// The place of its own slot.
    pub(super) at: u32,
    pub(super) slots: u32,
    pub(super) count: u32,
}

/// A text longer than this cannot be addressed by a slot; `Limits` never allow more.
pub(super) const BYTES_ADDRESSABLE: usize = u32::MAX as usize;
/// The most slots a tape can have.
pub(super) const SLOTS_MAX: usize = u32::MAX as usize;

const _: () = assert!(size_of::<Slot<'_>>() == 24, "memory bounds count on it");

impl<'a> Slot<'a> {
    /// What is read where no slot is; never met on a tape that was parsed.
    pub(super) const NULL: Slot<'static> = Slot::Null { start: 0 };

    #[inline]
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Null { .. } => Kind::Null,
            Self::False { .. } | Self::True { .. } => Kind::Boolean,
            Self::Integer { .. } | Self::Double { .. } | Self::Large { .. } => Kind::Number,
            Self::Text(_) | Self::Kept { .. } | Self::Escaped { .. } | Self::EscapedKey { .. } => {
                Kind::String
            }
            Self::Array(_) => Kind::Array,
            Self::Object(_) => Kind::Object,
        }
    }

    /// Slots from this one to the next value.
    #[inline]
    pub(super) fn span(&self) -> usize {
        match self {
            Self::Array(extent) | Self::Object(extent) => extent.slots as usize,
            _ => 1,
        }
    }

    /// What comes after this value on the tape; `rest` is what comes after its own slot.
    #[inline]
    pub(super) fn skip_inside<'t>(&self, rest: &'t [Self]) -> &'t [Self] {
        match self {
            Self::Array(extent) | Self::Object(extent) => {
                rest.get(extent.slots as usize - 1..).unwrap_or_default()
            }
            _ => rest,
        }
    }

    /// Where the value stands in `source`, the text it was read from.
    pub(super) fn range(&self, source: &str) -> Range<usize> {
        let of = |start: u32, end: u32| start as usize..end as usize;
        match *self {
            Self::Null { start } | Self::True { start } => of(start, start + 4),
            Self::False { start } => of(start, start + 5),
            Self::Integer { start, end, .. } | Self::Double { start, end, .. } => of(start, end),
            Self::Large { start, end } | Self::Escaped { start, end } => of(start, end),
            Self::EscapedKey { start, end, .. } => of(start, end),
            Self::Array(Extent { start, end, .. }) | Self::Object(Extent { start, end, .. }) => {
                of(start, end)
            }
            Self::Kept { start, end } => start as usize - 1..end as usize + 1,
            Self::Text(text) => {
                let at = (text.as_ptr() as usize).wrapping_sub(source.as_ptr() as usize);
                at.wrapping_sub(1)..at.wrapping_add(text.len() + 1)
            }
        }
    }

    /// The same slot for a document that owns `source`.
    pub(super) fn kept(self, source: &str) -> Slot<'static> {
        match self {
            Self::Text(_) => {
                let range = self.range(source);
                Slot::Kept { start: range.start as u32 + 1, end: range.end as u32 - 1 }
            }
            Self::Null { start } => Slot::Null { start },
            Self::False { start } => Slot::False { start },
            Self::True { start } => Slot::True { start },
            Self::Integer { start, end, value } => Slot::Integer { start, end, value },
            Self::Double { start, end, value } => Slot::Double { start, end, value },
            Self::Large { start, end } => Slot::Large { start, end },
            Self::Kept { start, end } => Slot::Kept { start, end },
            Self::Escaped { start, end } => Slot::Escaped { start, end },
            Self::EscapedKey { start, end, key } => Slot::EscapedKey { start, end, key },
            Self::Array(extent) => Slot::Array(extent),
            Self::Object(extent) => Slot::Object(extent),
        }
    }
}
