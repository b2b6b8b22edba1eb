//! The tape: one slot per value and per key, in the order of the text.

/// What a slot holds. The order of the variants is part of [`Slot`]'s packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Shape {
    Null = 0,
    False = 1,
    True = 2,
    Number = 3,
    String = 4,
    Array = 5,
    Object = 6,
    /// A number whose value stands in the slot itself.
    Integer = 7,
}

/// 16 bytes: the source range, then for a container how many slots it spans and how many entries it has, for a small
/// integer its value, for a fraction its index among the doubles, for a key with an escape its index among those.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    start: u32,
    end: u32,
    next: u32,
    meta: u32,
}

const SHAPE_BITS: u32 = 3;
const SHAPE_MASK: u32 = (1 << SHAPE_BITS) - 1;
/// A string with a backslash, or a number with a fraction or an exponent.
const MARKED: u32 = 1 << SHAPE_BITS;
const COUNT_SHIFT: u32 = SHAPE_BITS + 1;
const COUNT_BITS: u32 = 32 - COUNT_SHIFT;
/// Integers from minus this to below it stand in their slot.
const INTEGER_BOUND: i64 = 1 << (32 + COUNT_BITS - 1);

/// A text longer than this cannot be addressed by a slot; `Limits` never allow more.
pub(super) const BYTES_ADDRESSABLE: usize = u32::MAX as usize;
/// The most members or elements a container slot can count.
pub(super) const COUNT_MAX: usize = (u32::MAX >> COUNT_SHIFT) as usize;

impl Slot {
    /// What is read where no slot is; never met on a tape that was parsed.
    pub(super) const NULL: Self = Self { start: 0, end: 0, next: 0, meta: Shape::Null as u32 };

    /// A value without children, or a container that is not closed yet.
    pub(super) fn leaf(shape: Shape, start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32, next: 0, meta: shape as u32 }
    }

    pub(super) fn string(start: usize, end: usize, escaped: bool) -> Self {
        let mut slot = Self::leaf(Shape::String, start, end);
        if escaped {
            slot.meta |= MARKED;
        }
        slot
    }

    /// A key with an escape; `index` is its place among those.
    pub(super) fn escaped_key(start: usize, end: usize, index: usize) -> Self {
        let mut slot = Self::string(start, end, true);
        slot.next = index as u32;
        slot
    }

    /// A number with a fraction or an exponent; `double` is its index among the doubles.
    pub(super) fn fraction(start: usize, end: usize, double: usize) -> Self {
        let mut slot = Self::leaf(Shape::Number, start, end);
        slot.meta |= MARKED;
        slot.next = double as u32;
        slot
    }

    /// A number written as an integer; its value stands in the slot where it fits 60 bits.
    pub(super) fn integer(start: usize, end: usize, value: Option<i64>) -> Self {
        match value {
            Some(value) if (-INTEGER_BOUND..INTEGER_BOUND).contains(&value) => {
                let mut slot = Self::leaf(Shape::Integer, start, end);
                slot.meta |= (value as u32) << COUNT_SHIFT;
                slot.next = (value >> COUNT_BITS) as u32;
                slot
            }
            _ => Self::leaf(Shape::Number, start, end),
        }
    }

    /// The value of [`Shape::Integer`].
    #[inline]
    pub(super) fn value(self) -> i64 {
        i64::from(self.next as i32) << COUNT_BITS | i64::from(self.meta >> COUNT_SHIFT)
    }

    /// The index of a fraction among the doubles.
    #[inline]
    pub(super) fn double(self) -> usize {
        self.next as usize
    }

    /// The index of [`Slot::escaped_key`].
    #[inline]
    pub(super) fn unescaped_key(self) -> usize {
        self.next as usize
    }

    /// Completes a container once its end is known.
    pub(super) fn close(&mut self, end: usize, span: usize, count: u32) {
        self.end = end as u32;
        self.next = span as u32;
        self.meta |= count << COUNT_SHIFT;
    }

    #[inline]
    pub(super) fn shape(self) -> Shape {
        match self.meta & SHAPE_MASK {
            0 => Shape::Null,
            1 => Shape::False,
            2 => Shape::True,
            3 => Shape::Number,
            4 => Shape::String,
            5 => Shape::Array,
            6 => Shape::Object,
            _ => Shape::Integer,
        }
    }

    #[inline]
    pub(super) fn start(self) -> usize {
        self.start as usize
    }

    #[inline]
    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// How many slots the value takes, its own included.
    #[inline]
    pub(super) fn span(self) -> usize {
        if matches!(self.shape(), Shape::Array | Shape::Object) { self.next as usize } else { 1 }
    }

    #[inline]
    pub(super) fn count(self) -> usize {
        (self.meta >> COUNT_SHIFT) as usize
    }

    #[inline]
    pub(super) fn escaped(self) -> bool {
        self.meta & MARKED != 0
    }

    #[inline]
    pub(super) fn fractional(self) -> bool {
        self.meta & MARKED != 0
    }
}
