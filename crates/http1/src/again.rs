//! Recognition of repeated heads: messages on one connection mostly have the same head with another `Content-Length`.
//! Such a head is compared instead of parsed.

use std::ops::Range;

/// A head that was parsed before.
#[derive(Debug, Clone)]
pub(crate) struct Again {
    text: Box<[u8]>,
    /// Place of the `Content-Length` digits; empty if there are none.
    length: Range<usize>,
}

impl Again {
    /// Remembers `head`. `length` is the place of the `Content-Length` value; it is ignored unless it holds digits
    /// only.
    pub(crate) fn new(head: &[u8], length: Range<usize>) -> Self {
        let is_number = head.get(length.clone()).is_some_and(|digits| digits.iter().all(u8::is_ascii_digit));
        Self { text: head.into(), length: if is_number { length } else { 0..0 } }
    }

    /// Returns `true` if `bytes` begin with this head, apart from the digits of a length that has as many of them.
    /// Every such head parses to the same parts at the same places.
    pub(crate) fn begins(&self, bytes: &[u8]) -> bool {
        let Range { start, end } = self.length;
        let same = |range: Range<usize>| bytes.get(range.clone()) == self.text.get(range);
        bytes.len() >= self.text.len()
            && same(end..self.text.len())
            && same(0..start)
            && bytes.get(start..end).is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_again_with_any_length_of_as_many_digits() {
        let again = Again::new(b"A: b\r\nContent-Length: 120\r\nC: d\r\n\r\n", 22..25);
        assert!(again.begins(b"A: b\r\nContent-Length: 120\r\nC: d\r\n\r\n"));
        assert!(again.begins(b"A: b\r\nContent-Length: 999\r\nC: d\r\n\r\nbody"));
        for other in [
            "",
            "A: b\r\nContent-Length: 120\r\nC: d\r\n\r",
            "A: b\r\nContent-Length: 12\r\nC: d\r\n\r\n",
            "A: b\r\nContent-Length: 1200\r\nC: d\r\n\r\n",
            "A: b\r\nContent-Length: 12x\r\nC: d\r\n\r\n",
            "A: b\r\nContent-Length: 12 \r\nC: d\r\n\r\n",
            "A: c\r\nContent-Length: 120\r\nC: d\r\n\r\n",
            "A: b\r\nContent-Length: 120\r\nC: e\r\n\r\n",
        ] {
            assert!(!again.begins(other.as_bytes()), "{other:?}");
        }
    }

    #[test]
    fn what_is_no_number_has_to_be_the_same() {
        let again = Again::new(b"Content-Length: +1\r\n\r\n", 16..18);
        assert!(again.begins(b"Content-Length: +1\r\n\r\n"));
        assert!(!again.begins(b"Content-Length: 12\r\n\r\n"));
        assert!(Again::new(b"A: b\r\n\r\n", 0..0).begins(b"A: b\r\n\r\n"));
    }
}
