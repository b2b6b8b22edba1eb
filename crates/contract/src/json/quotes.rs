//! Search for the ends of strings, 64 bytes at a time and ahead of the parser.
//!
//! A parser that searches for the end of each string must find one end before it can continue. Quotes found by block
//! do not depend on the parser's progress, so a string costs a few operations on a word. Escaped quotes are masked out
//! with the arithmetic of simdjson ("Parsing Gigabytes of JSON per Second", section 3.1.1).
//!
//! Guarantees that the end of a string is its first quote preceded by an even number of backslashes. A string with a
//! backslash or a control character is marked: the parser has to check it, because this search does not.

use std::num::NonZero;

use wide::u8x16;

/// Bytes of one block: a mask of a block is one 64-bit word.
const BLOCK: usize = 64;

/// Bit masks of one block, one bit per byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks {
    /// Quotes that are not escaped.
    quotes: u64,
    /// Backslashes and control characters.
    care: u64,
}

/// The closing quote of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Close {
    /// Offset of the closing quote.
    pub(super) at: usize,
    /// `true` if the string has a backslash or a control character.
    pub(super) needs_care: bool,
}

/// Cursor over the unescaped quotes of a text.
pub(super) struct Quotes<'a> {
    bytes: &'a [u8],
    /// Start of the current block; initially one block before the text, by wrapping.
    base: usize,
    /// Marks of the current block, without the quotes that were already taken.
    marks: Marks,
    /// 1 if the first byte of the next block is escaped.
    escaped: u64,
}

impl<'a> Quotes<'a> {
    const NONE: Marks = Marks { quotes: 0, care: 0 };

    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, base: 0usize.wrapping_sub(BLOCK), marks: Self::NONE, escaped: 0 }
    }

    /// Restarts the search at `at`, which must be outside a string.
    pub(super) const fn restart(&mut self, at: usize) {
        self.base = at.wrapping_sub(BLOCK);
        self.marks = Self::NONE;
        self.escaped = 0;
    }

    /// Takes the next two quotes and returns the second. `None` if fewer than two are left.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Option<Close> {
        if self.marks.quotes == 0 {
            self.refill();
        }
        let both = self.marks.quotes;
        let left = both & both.wrapping_sub(1);
        let Some(closing) = NonZero::new(left) else { return self.string_across() };
        let close = closing.trailing_zeros();
        self.marks.quotes = left & left.wrapping_sub(1);
        let inside = (1u64 << close).wrapping_sub(both & both.wrapping_neg());
        Some(Close { at: self.base.wrapping_add(close as usize), needs_care: self.marks.care & inside != 0 })
    }

    /// Slow path of [`Quotes::string`] for a string that ends in a later block.
    #[inline(never)]
    fn string_across(&mut self) -> Option<Close> {
        // Marks from the opening quote on, the only quote left in this block.
        let mut care = self.marks.care & self.marks.quotes.wrapping_neg();
        while self.next_block() {
            if let Some(left) = NonZero::new(self.marks.quotes) {
                let close = left.trailing_zeros();
                self.marks.quotes &= self.marks.quotes.wrapping_sub(1);
                care |= self.marks.care & (1u64 << close).wrapping_sub(1);
                return Some(Close { at: self.base.wrapping_add(close as usize), needs_care: care != 0 });
            }
            care |= self.marks.care;
        }
        None
    }

    /// Advances to the next block with a quote, or to the last block.
    #[inline(never)]
    fn refill(&mut self) {
        while self.next_block() && self.marks.quotes == 0 {}
    }

    /// Advances to the next block; returns `false` at the end of the text.
    #[inline(always)]
    fn next_block(&mut self) -> bool {
        let base = self.base.wrapping_add(BLOCK);
        let rest = self.bytes.get(base..).unwrap_or_default();
        self.marks = match rest.first_chunk() {
            Some(block) => marks(block, &mut self.escaped),
            None if rest.is_empty() => return false,
            None => {
                // Padding with spaces adds no marks.
                let mut block = [b' '; BLOCK];
                block.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                marks(&block, &mut self.escaped)
            }
        };
        self.base = base;
        true
    }
}

/// Computes the marks of a block with vectors of 16 bytes.
#[inline(always)]
fn marks(block: &[u8; BLOCK], escaped: &mut u64) -> Marks {
    let (parts, _) = block.as_chunks::<16>();
    let [a, b, c, d] = *parts else { return Quotes::NONE };
    let parts = [a, b, c, d].map(u8x16::from);
    let bits = |parts: [u8x16; 4]| {
        let [a, b, c, d] = parts.map(|part| u64::from(part.to_bitmask()));
        a | b << 16 | c << 32 | d << 48
    };
    let quotes = bits(parts.map(|part| part.simd_eq(u8x16::splat(b'"'))));
    let care =
        parts.map(|part| part.simd_eq(u8x16::splat(b'\\')) | part.min(u8x16::splat(0x1F)).simd_eq(part));
    let [a, b, c, d] = care;
    let none = ((a | b) | (c | d)).to_bitmask() == 0;
    // Most blocks hold neither a backslash nor a control character.
    if none && *escaped == 0 {
        return Marks { quotes, care: 0 };
    }
    let backslashes = bits(parts.map(|part| part.simd_eq(u8x16::splat(b'\\'))));
    Marks { quotes: quotes & !escaped_bytes(backslashes, escaped), care: bits(care) }
}

/// Computes the mask of escaped bytes of a block from the mask of its backslashes. `carry` is 1 if the previous block
/// escapes the first byte, and is updated for the next block.
#[inline(always)]
const fn escaped_bytes(backslashes: u64, carry: &mut u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let backslashes = backslashes & !*carry;
    let follows = backslashes << 1 | *carry;
    let odd_starts = backslashes & !EVEN & !follows;
    // The sum carries each run of backslashes that starts at an odd bit to the bit after its end.
    let (ends, overflows) = odd_starts.overflowing_add(backslashes);
    *carry = overflows as u64;
    (EVEN ^ (ends << 1)) & follows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reference implementation of [`marks`], byte by byte.
    fn by_bytes(block: &[u8; BLOCK], escaped: &mut u64) -> Marks {
        let mut marks = Quotes::NONE;
        for (place, byte) in block.iter().enumerate() {
            marks.care |= u64::from(*byte == b'\\' || *byte < 0x20) << place;
            marks.quotes |= u64::from(*byte == b'"' && *escaped == 0) << place;
            *escaped = u64::from(*byte == b'\\' && *escaped == 0);
        }
        marks
    }

    /// Reference implementation, byte by byte: the opening quotes of the strings of `text`, and their ends.
    fn strings(text: &[u8]) -> Vec<(usize, Option<Close>)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < text.len() {
            if text[at] != b'"' {
                at += 1;
                continue;
            }
            let open = at;
            let mut needs_care = false;
            at += 1;
            while at < text.len() && text[at] != b'"' {
                needs_care |= text[at] < 0x20 || text[at] == b'\\';
                at += 1 + usize::from(text[at] == b'\\');
            }
            found.push((open, (at < text.len()).then_some(Close { at, needs_care })));
            at += 1;
        }
        found
    }

    proptest! {
        #[test]
        fn marks_are_those_of_a_look_at_every_byte(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\\'), Just(b'"')], BLOCK),
            carry in 0..2u64,
        ) {
            let block = bytes.first_chunk().unwrap();
            let (mut quick, mut slow) = (carry, carry);
            prop_assert_eq!(marks(block, &mut quick), by_bytes(block, &mut slow));
            prop_assert_eq!(quick, slow);
        }

        #[test]
        fn strings_end_where_a_reader_of_bytes_says(
            parts in proptest::collection::vec(
                ("[a-z:, \n]{0,70}", "([a-zé]|\\\\[\"\\\\n]|(\\\\\\\\){1,70}|\t){0,90}"), 0..12),
            tail in "[a-z \"]{0,9}",
            restarts in any::<bool>(),
        ) {
            let text: String = parts.iter().map(|(between, inside)| format!("{between}\"{inside}\"")).collect();
            let text = text + &tail;
            let mut quotes = Quotes::new(text.as_bytes());
            for (open, close) in strings(text.as_bytes()) {
                prop_assert_eq!(quotes.string(), close, "the string at {} of {:?}", open, text);
                if let Some(close) = close.filter(|_| restarts) {
                    quotes.restart(close.at + 1);
                }
            }
            prop_assert_eq!(quotes.string(), None);
        }
    }
}
