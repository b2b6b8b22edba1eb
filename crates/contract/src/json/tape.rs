//! The tape: one slot per value and per key, in the order of the text.
//!
//! A slot holds what a check asks for first: the kind, the first bytes of a string, the value of a number, the extent
//! of a container. Most checks never go back to the text. Where the value stands in the text is kept beside it.

use std::ops::Range;

use super::node::Kind;

/// One value or key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    /// From the lowest bit: the tag, where the value starts in the text, how many bytes of the text it takes. The last
    /// two are known for a container when it closes.
    place: u64,
    /// What the tag says.
    word: u64,
}

/// What a slot stands for, and what its word is.
pub(crate) mod tag {
    pub(crate) const NULL: u8 = 0;
    pub(crate) const FALSE: u8 = 1;
    pub(crate) const TRUE: u8 = 2;
    /// Written as an integer that fits 64 signed bits. The word is its value.
    pub(crate) const INTEGER: u8 = 3;
    /// Written with a fraction or an exponent. The word is its value, or a NaN if that was not worked out.
    pub(crate) const DOUBLE: u8 = 4;
    /// Written as an integer of more bits, or as a negative zero.
    pub(crate) const LARGE: u8 = 5;
    /// A string or key without an escape. The word is its head.
    pub(crate) const TEXT: u8 = 6;
    /// A string with an escape.
    pub(crate) const ESCAPED: u8 = 7;
    /// A key with an escape. The word is its place among the keys that were unescaped.
    pub(crate) const ESCAPED_KEY: u8 = 8;
    /// The word counts its elements (upper half) and the slots it takes, its own included (lower half).
    pub(crate) const ARRAY: u8 = 9;
    /// The word counts its members (upper half) and the slots it takes, its own included (lower half).
    pub(crate) const OBJECT: u8 = 10;

    /// Containers, one bit each.
    pub(crate) const CONTAINERS: u16 = 1 << ARRAY | 1 << OBJECT;
}

const TAG_BITS: u32 = 4;
const OFFSET_BITS: u32 = 30;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// A text longer than this cannot be addressed by a slot; `Limits` never allow more.
pub(super) const BYTES_ADDRESSABLE: usize = OFFSET_MASK as usize;
/// The most slots a tape can have.
pub(super) const SLOTS_MAX: usize = u32::MAX as usize;

const _: () = assert!(size_of::<Slot>() == 16, "memory bounds count on it");
const _: () = assert!(crate::limits::JSON_FILE_BYTES_MAX <= BYTES_ADDRESSABLE, "files can be addressed");

impl Slot {
    /// What is read where no slot is; never met on a tape that was parsed.
    pub(super) const NULL: Self = Self { place: 0, word: 0 };

    /// The value from `start` to `end` in the text. Both are at most [`BYTES_ADDRESSABLE`].
    #[inline]
    pub(super) const fn new(tag: u8, start: usize, end: usize, word: u64) -> Self {
        let len = end.wrapping_sub(start) as u64;
        Self { place: tag as u64 | (start as u64) << TAG_BITS | len << (TAG_BITS + OFFSET_BITS), word }
    }

    /// A container that opens at `start`.
    #[inline]
    pub(super) const fn opened(tag: u8, start: usize) -> Self {
        Self::new(tag, start, start, 1)
    }

    /// The same container when it closes.
    #[inline]
    pub(super) const fn closed(self, end: usize, slots: u32, count: u32) -> Self {
        Self::new(self.tag(), self.start(), end, (count as u64) << 32 | slots as u64)
    }

    /// The same value so many bytes further on in another text.
    #[inline]
    pub(super) const fn later(self, bytes: usize) -> Self {
        Self { place: self.place.wrapping_add((bytes as u64) << TAG_BITS), word: self.word }
    }

    /// The same value so many bytes before, of which there are as many.
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

    /// Bytes of the text that the value takes, quotes included.
    #[inline]
    pub(crate) const fn len(self) -> usize {
        (self.place >> (TAG_BITS + OFFSET_BITS)) as usize
    }

    /// The tag and [`Slot::len`], as one number.
    #[inline]
    pub(crate) const fn shape(self) -> u64 {
        self.place & !(OFFSET_MASK << TAG_BITS)
    }

    /// The shape of a string or key of `len` bytes without an escape.
    pub(crate) const fn text_shape(len: usize) -> u64 {
        Self::new(tag::TEXT, 0, len + 2, 0).place
    }

    #[inline]
    pub(crate) const fn word(self) -> u64 {
        self.word
    }

    /// Where the value stands in the text.
    #[inline]
    pub(super) const fn range(self) -> Range<usize> {
        let start = self.start();
        start..start + self.len()
    }

    /// What stands between the quotes of a string.
    #[inline]
    pub(super) const fn inside(self) -> Range<usize> {
        let start = self.start();
        start + 1..(start + self.len()).saturating_sub(1)
    }

    #[inline]
    pub(super) const fn is_container(self) -> bool {
        matches!(self.tag(), tag::ARRAY | tag::OBJECT)
    }

    /// Members or elements of a container; 0 for anything else.
    #[inline]
    pub(crate) const fn count(self) -> usize {
        if self.is_container() { (self.word >> 32) as usize } else { 0 }
    }

    /// Slots from this one to the next value.
    #[inline]
    pub(super) const fn span(self) -> usize {
        if self.is_container() { self.word as u32 as usize } else { 1 }
    }

    /// What comes after this value on the tape; `rest` is what comes after its own slot.
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

/// Texts without an escape, of up to so many bytes, are equal if their shapes and heads are.
pub(crate) const ALL_IN_HEAD: usize = 8;

/// What is left of a word of which so many bytes are text.
pub(super) const HEADS: [u64; 8] =
    [0, 0xFF, 0xFFFF, 0xFF_FFFF, 0xFFFF_FFFF, 0xFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF, 0xFF_FFFF_FFFF_FFFF];

/// The first eight bytes of a text, the first one lowest, zeros after its end. No text without an escape has a zero
/// byte, so up to seven bytes two texts are equal if their heads are.
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
