//! Bit set over the toolsets of one catalogue, by their index.

/// Set of toolsets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Bits(Box<[u64]>);

impl Bits {
    #[must_use]
    pub fn none(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)].into())
    }

    #[must_use]
    pub fn all(len: usize) -> Self {
        let mut bits = Self::none(len);
        (0..len).for_each(|at| bits.set(at));
        bits
    }

    pub fn set(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    #[must_use]
    pub fn has(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word & (1 << (at % 64)) != 0)
    }

    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
        self
    }

    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_meet_and_join_across_words() {
        let mut left = Bits::none(130);
        [0, 64, 129].into_iter().for_each(|at| left.set(at));
        assert!(left.has(129) && !left.has(128) && !left.has(4_000));
        assert_eq!(left.clone().and(&Bits::all(130)), left);
        assert_eq!(left.clone().or(&Bits::none(130)), left);
        assert_eq!(left.and(&Bits::none(130)), Bits::none(130));
    }
}
