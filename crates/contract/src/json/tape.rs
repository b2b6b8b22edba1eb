//! The tape: one slot of 16 bytes per value and per key, in the order of the text.
//!
//! A slot holds the data that a check needs first: the kind, the first bytes of a string, the value of a number, the
//! extent of a container. Most checks never go back to the text. A slot also holds its value's range in the text.

use std::ops::Range;

use super::node::Kind;

/// One value or key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    /// From the lowest bit: 4 bits of tag, 30 bits of start offset in the text, 30 bits of length in bytes. A
    /// container's length is set when it closes.
    place: u64,
    /// Data that depends on the tag. See [`tag`].
    word: u64,
}

/// Tags: the kind of a slot's value, and with it the meaning of the slot's word.
pub(crate) mod tag {
    pub(crate) const NULL: u8 = 0;
    pub(crate) const FALSE: u8 = 1;
    pub(crate) const TRUE: u8 = 2;
    /// A number written as an integer that fits an `i64`. The word is its value.
    pub(crate) const INTEGER: u8 = 3;
    /// A number written with a fraction or an exponent. The word holds the bits of its `f64`, or of a NaN if the value
    /// was not computed.
    pub(crate) const DOUBLE: u8 = 4;
    /// A number written as an integer that does not fit an `i64`, or as `-0`. The word is unused.
    pub(crate) const LARGE: u8 = 5;
    /// A string or key without an escape. The word is its [`head`](super::head).
    pub(crate) const TEXT: u8 = 6;
    /// A string with an escape. The word is unused.
    pub(crate) const ESCAPED: u8 = 7;
    /// A key with an escape. The word is its index in `Text::keys`.
    pub(crate) const ESCAPED_KEY: u8 = 8;
    /// An array. The word holds its element count (upper half) and its slot count, its own included (lower half).
    pub(crate) const ARRAY: u8 = 9;
    /// An object. The word holds its member count (upper half) and its slot count, its own included (lower half).
    pub(crate) const OBJECT: u8 = 10;

    /// Bit set of the container tags.
    pub(crate) const CONTAINERS: u16 = 1 << ARRAY | 1 << OBJECT;
}

const TAG_BITS: u32 = 4;
const OFFSET_BITS: u32 = 30;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// Maximum bytes of a text: the largest value of a slot's offset. Enforced by the parser whatever `Limits` allow.
pub(super) const BYTES_ADDRESSABLE: usize = OFFSET_MASK as usize;
/// Maximum slots of a tape: slot counts are stored in 32 bits.
pub(super) const SLOTS_MAX: usize = u32::MAX as usize;

const _: () = assert!(size_of::<Slot>() == 16, "memory bounds count on it");
const _: () = assert!(crate::limits::JSON_FILE_BYTES_MAX <= BYTES_ADDRESSABLE, "files can be addressed");

impl Slot {
    /// Fallback for an index without a slot. Never reached through a parsed tape.
    pub(super) const NULL: Self = Self { place: 0, word: 0 };

    /// Slot of the value at `start..end` in the text. Both are at most [`BYTES_ADDRESSABLE`].
    #[inline]
    pub(super) const fn new(tag: u8, start: usize, end: usize, word: u64) -> Self {
        let len = end.wrapping_sub(start) as u64;
        Self { place: tag as u64 | (start as u64) << TAG_BITS | len << (TAG_BITS + OFFSET_BITS), word }
    }

    /// Slot of a container that opens at `start` and is still empty.
    #[inline]
    pub(super) const fn opened(tag: u8, start: usize) -> Self {
        Self::new(tag, start, start, 1)
    }

    /// Completes the slot of a container that ends at `end`, with its slot and entry counts.
    #[inline]
    pub(super) const fn closed(self, end: usize, slots: u32, count: u32) -> Self {
        Self::new(self.tag(), self.start(), end, (count as u64) << 32 | slots as u64)
    }

    /// Moves the start offset forward by `bytes`.
    #[inline]
    pub(super) const fn later(self, bytes: usize) -> Self {
        Self { place: self.place.wrapping_add((bytes as u64) << TAG_BITS), word: self.word }
    }

    /// Moves the start offset back by `bytes`, which must not exceed it.
    #[inline]
    pub(super) const fn earlier(self, bytes: usize) -> Self {
        Self { place: self.place.wrapping_sub((bytes as u64) << TAG_BITS), word: self.word }
    }

    #[inline]
    pub(crate) const fn tag(self) -> u8 {
        (self.place & ((1 << TAG_BITS) - 1)) as u8
    }

    #[inline]
    pub(super) const fn start(self) -> usize {
        ((self.place >> TAG_BITS) & OFFSET_MASK) as usize
    }

    /// Length of the value in the text, in bytes, quotes included.
    #[inline]
    pub(crate) const fn len(self) -> usize {
        (self.place >> (TAG_BITS + OFFSET_BITS)) as usize
    }

    /// The tag and [`Slot::len`] combined into one number, to compare both at once.
    #[inline]
    pub(crate) const fn shape(self) -> u64 {
        self.place & !(OFFSET_MASK << TAG_BITS)
    }

    /// [`Slot::shape`] of a string or key of `len` bytes without an escape.
    pub(crate) const fn text_shape(len: usize) -> u64 {
        Self::new(tag::TEXT, 0, len + 2, 0).place
    }

    #[inline]
    pub(crate) const fn word(self) -> u64 {
        self.word
    }

    /// Byte range of the value in the text.
    #[inline]
    pub(super) const fn range(self) -> Range<usize> {
        let start = self.start();
        start..start + self.len()
    }

    /// Byte range between the quotes of a string.
    #[inline]
    pub(super) const fn inside(self) -> Range<usize> {
        let start = self.start();
        start + 1..(start + self.len()).saturating_sub(1)
    }

    #[inline]
    pub(super) const fn is_container(self) -> bool {
        matches!(self.tag(), tag::ARRAY | tag::OBJECT)
    }

    /// Number of members or elements of a container; 0 for a scalar.
    #[inline]
    pub(crate) const fn count(self) -> usize {
        if self.is_container() { (self.word >> 32) as usize } else { 0 }
    }

    /// Number of slots of this value, its own included.
    #[inline]
    pub(super) const fn span(self) -> usize {
        if self.is_container() { self.word as u32 as usize } else { 1 }
    }

    /// Returns the slots after this value. `rest` starts right after its own slot.
    #[inline]
    pub(crate) fn skip_inside<'t>(&self, rest: &'t [Self]) -> &'t [Self] {
        if self.is_container() { rest.get(self.span().wrapping_sub(1)..).unwrap_or_default() } else { rest }
    }

    #[inline]
    pub(super) const fn kind(self) -> Kind {
        match self.tag() {
            tag::FALSE | tag::TRUE => Kind::Boolean,
            tag::INTEGER | tag::DOUBLE | tag::LARGE => Kind::Number,
            tag::TEXT | tag::ESCAPED | tag::ESCAPED_KEY => Kind::String,
            tag::ARRAY => Kind::Array,
            tag::OBJECT => Kind::Object,
            _ => Kind::Null,
        }
    }
}

/// Maximum bytes of a text that is fully contained in its head: two such texts are equal if their shapes and heads are.
pub(crate) const ALL_IN_HEAD: usize = 8;

/// Masks by text length: `HEADS[n]` keeps the lowest `n` bytes of a word.
pub(super) const HEADS: [u64; 8] =
    [0, 0xFF, 0xFFFF, 0xFF_FFFF, 0xFFFF_FFFF, 0xFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF, 0xFF_FFFF_FFFF_FFFF];

/// Returns the first eight bytes of `text` in little-endian order, padded with zeros. A text without an escape has no
/// zero byte, so texts of up to seven bytes are equal if their heads are.
#[inline]
pub(crate) const fn head(text: &str) -> u64 {
    let mut left = text.as_bytes();
    if let Some(word) = left.first_chunk() {
        return u64::from_le_bytes(*word);
    }
    let mut word = 0;
    while let [before @ .., last] = left {
        word = word << 8 | *last as u64;
        left = before;
    }
    word
}
