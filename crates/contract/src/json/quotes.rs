//! Finds the ends of strings 64 bytes at a time, ahead of the reader.
//!
//! A reader that scans each string for its end must finish one string before it can look at the next token. Quotes
//! found by block do not depend on the tokens before them, so a string costs a few bit operations.
//!
//! Guarantees: an end is returned only for a string without backslash and control character. Any other string is left
//! to a reader that looks at each byte, and after it the search restarts; so an escaped quote is never taken for an
//! end.

use std::num::NonZero;

use wide::u8x16;

/// Bytes per block.
const BLOCK: usize = 64;

/// Bit masks of a block, one bit per byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks {
    quotes: u64,
    /// Backslashes and control characters: a string that contains one must be read byte by byte.
    care: u64,
}

/// Finder of string ends, from the first string of a text to the last.
pub(super) struct Quotes<'a> {
    bytes: &'a [u8],
    /// Offset of the current block; initially one block before the text.
    base: usize,
    /// Marks of the current block; quotes that were consumed are cleared.
    marks: Marks,
}

impl<'a> Quotes<'a> {
    const NONE: Marks = Marks { quotes: 0, care: 0 };

    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, base: 0usize.wrapping_sub(BLOCK), marks: Self::NONE }
    }

    /// Restarts at `at`; quotes before it are skipped.
    pub(super) const fn restart(&mut self, at: usize) {
        self.base = at.wrapping_sub(BLOCK);
        self.marks = Self::NONE;
    }

    /// Consumes the next two quotes and returns the offset of the second. Returns `None` if there is none, or if the
    /// string between them has a backslash or control character; the caller must then restart.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Option<usize> {
        if self.marks.quotes == 0 {
            self.refill();
        }
        let both = self.marks.quotes;
        let left = both & both.wrapping_sub(1);
        let Some(closing) = NonZero::new(left) else { return self.string_across() };
        let close = closing.trailing_zeros();
        self.marks.quotes = left & left.wrapping_sub(1);
        if self.marks.care != 0
            && self.marks.care & (1u64 << close).wrapping_sub(both & both.wrapping_neg()) != 0
        {
            return None;
        }
        Some(self.base.wrapping_add(close as usize))
    }

    /// Finds the end of a string that ends in a later block.
    #[inline(never)]
    fn string_across(&mut self) -> Option<usize> {
        // Only bytes from the opening quote on count; it is the only quote left in this block.
        let mut care = self.marks.care & self.marks.quotes.wrapping_neg();
        while care == 0 && self.next_block() {
            if let Some(left) = NonZero::new(self.marks.quotes) {
                let close = left.trailing_zeros();
                self.marks.quotes &= self.marks.quotes.wrapping_sub(1);
                let plain = self.marks.care & (1u64 << close).wrapping_sub(1) == 0;
                return plain.then_some(self.base.wrapping_add(close as usize));
            }
            care = self.marks.care;
        }
        None
    }

    /// Advances to the next block that has a quote, or to the last block.
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
            Some(block) => marks(block),
            None if rest.is_empty() => return false,
            None => {
                // Bytes after the end must be neither quotes nor marked.
                let mut block = [b' '; BLOCK];
                block.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                marks(&block)
            }
        };
        self.base = base;
        true
    }
}

/// Computes the marks of a block, 16 bytes at a time.
#[inline(always)]
fn marks(block: &[u8; BLOCK]) -> Marks {
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
    // Most blocks have no backslash or control character, so one test saves four extractions.
    let none = ((a | b) | (c | d)).to_bitmask() == 0;
    Marks { quotes, care: if none { 0 } else { bits(care) } }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_bytes(block: &[u8; BLOCK]) -> Marks {
        let bits = |is: fn(u8) -> bool| {
            block.iter().enumerate().fold(0, |bits, (i, byte)| bits | u64::from(is(*byte)) << i)
        };
        Marks { quotes: bits(|b| b == b'"'), care: bits(|b| b == b'\\' || b < 0x20) }
    }

    /// Strings of `text` as a byte-by-byte reader finds them: start, end, and `true` if the string is plain.
    fn strings(text: &[u8]) -> Vec<(usize, usize, bool)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < text.len() {
            if text[at] != b'"' {
                at += 1;
                continue;
            }
            let open = at;
            let mut plain = true;
            at += 1;
            while at < text.len() && text[at] != b'"' {
                plain &= text[at] >= 0x20 && text[at] != b'\\';
                at += 1 + usize::from(text[at] == b'\\');
            }
            found.push((open, at, plain && at < text.len()));
            at += 1;
        }
        found
    }

    proptest! {
        #[test]
        fn marks_are_those_of_a_look_at_every_byte(bytes in proptest::collection::vec(any::<u8>(), BLOCK)) {
            let block = bytes.first_chunk().unwrap();
            prop_assert_eq!(marks(block), by_bytes(block));
        }

        #[test]
        fn strings_end_where_a_reader_of_bytes_says(
            parts in proptest::collection::vec(("[a-z:, \n]{0,70}", "([a-zé]|\\\\[\"\\\\n]|\t){0,90}"), 0..12),
            tail in "[a-z \"]{0,9}",
        ) {
            let text: String = parts.iter().map(|(between, inside)| format!("{between}\"{inside}\"")).collect();
            let text = text + &tail;
            let mut quotes = Quotes::new(text.as_bytes());
            for (open, close, plain) in strings(text.as_bytes()) {
                let found = quotes.string();
                prop_assert_eq!(found, plain.then_some(close), "the string at {} of {:?}", open, text);
                if !plain {
                    quotes.restart(close + 1);
                }
            }
            prop_assert_eq!(quotes.string(), None);
        }
    }
}
