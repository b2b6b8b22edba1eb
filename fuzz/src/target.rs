//! Definition of a fuzz target and its limits.

use std::time::Duration;

/// Fuzz target: one entry point of the product that accepts bytes from outside.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// Initial inputs for mutation: small, valid and nearly valid.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Inputs that are run unchanged and never mutated: long ones, on which quadratic code exceeds `cpu_max`, and
    /// those that once made the target fail.
    pub heavy: fn() -> Vec<Vec<u8>>,
    /// Words of this kind of input, inserted as a whole.
    pub dictionary: &'static [&'static str],
    /// Maximum bytes of an input; longer ones are truncated.
    pub bytes_max: usize,
    /// Maximum CPU time of one run in an unoptimised build. CPU time instead of wall-clock time, so that a loaded
    /// machine does not fail a sound target.
    pub cpu_max: Duration,
    /// Maximum memory that one run may have allocated at a time.
    pub memory_max: Memory,
    pub run: fn(&[u8]) -> Shape,
}

/// Memory limit that grows with the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Bytes per byte of input.
    pub factor: usize,
    /// Bytes for any input.
    pub constant: usize,
}

impl Memory {
    #[must_use]
    pub const fn for_input(self, bytes: usize) -> usize {
        self.constant.saturating_add(self.factor.saturating_mul(bytes))
    }
}

/// Coarse outcome of a run, such as "accepted" or the name of the refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape(u64);

impl Shape {
    /// Hashes the words by FNV-1a, so that a shape can be a refusal and its place.
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

    #[test]
    fn a_memory_bound_grows_with_the_input() {
        let memory = Memory { factor: 10, constant: 100 };
        assert_eq!((memory.for_input(0), memory.for_input(7)), (100, 170));
        assert_eq!(memory.for_input(usize::MAX), usize::MAX);
    }
}
