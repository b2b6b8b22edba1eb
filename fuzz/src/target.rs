//! What a fuzz target is.

/// One way into the product that takes bytes from outside.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// Where mutation starts: small inputs, valid and nearly valid.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words that inputs of this kind are made of, put in whole.
    pub dictionary: &'static [&'static str],
    /// Longer inputs are cut.
    pub bytes_max: usize,
    pub run: fn(&[u8]) -> Shape,
}

/// What became of an input, told coarsely: "accepted", or the name of the refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape(u64);

impl Shape {
    /// FNV-1a over the words, so that a shape can be a refusal and its place.
    #[must_use]
    pub fn of(words: &[&str]) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in words.iter().flat_map(|word| word.bytes().chain([0])) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Self(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_tell_words_apart() {
        assert_eq!(Shape::of(&["a", "b"]), Shape::of(&["a", "b"]));
        assert_ne!(Shape::of(&["a", "b"]), Shape::of(&["ab"]));
    }
}
