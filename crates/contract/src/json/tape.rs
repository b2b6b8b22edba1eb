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
}

/// 16 bytes: the source range, where the next sibling stands, and kind, flag and count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    start: u32,
    end: u32,
    next: u32,
    meta: u32,
}

const SHAPE_BITS: u32 = 3;
const SHAPE_MASK: u32 = (1 << SHAPE_BITS) - 1;
const ESCAPED: u32 = 1 << SHAPE_BITS;
const COUNT_SHIFT: u32 = SHAPE_BITS + 1;

/// A text longer than this cannot be addressed by a slot; `Limits` never allow more.
pub(super) const BYTES_ADDRESSABLE: usize = u32::MAX as usize;
/// The most members or elements a container slot can count.
pub(super) const COUNT_MAX: usize = (u32::MAX >> COUNT_SHIFT) as usize;

impl Slot {
    /// A value without children. `at` is its own index on the tape.
    pub(super) fn leaf(shape: Shape, start: usize, end: usize, at: usize) -> Self {
        Self { start: start as u32, end: end as u32, next: at as u32 + 1, meta: shape as u32 }
    }

    pub(super) fn string(start: usize, end: usize, at: usize, escaped: bool) -> Self {
        let mut slot = Self::leaf(Shape::String, start, end, at);
        if escaped {
            slot.meta |= ESCAPED;
        }
        slot
    }

    /// Completes a container once its end is known.
    pub(super) fn close(&mut self, end: usize, next: usize, count: u32) {
        self.end = end as u32;
        self.next = next as u32;
        self.meta |= count << COUNT_SHIFT;
    }

    pub(super) fn shape(self) -> Shape {
        match self.meta & SHAPE_MASK {
            0 => Shape::Null,
            1 => Shape::False,
            2 => Shape::True,
            3 => Shape::Number,
            4 => Shape::String,
            5 => Shape::Array,
            _ => Shape::Object,
        }
    }

    pub(super) fn start(self) -> usize {
        self.start as usize
    }

    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(super) fn next(self) -> u32 {
        self.next
    }

    pub(super) fn count(self) -> usize {
        (self.meta >> COUNT_SHIFT) as usize
    }

    pub(super) fn escaped(self) -> bool {
        self.meta & ESCAPED != 0
    }
}
