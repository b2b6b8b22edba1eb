//! Pseudo-random numbers, the same on every machine: SplitMix64, integers only.

/// Generator with a fixed sequence per seed.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Returns a number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let width = high.saturating_sub(low).max(0).unsigned_abs() + 1;
        low + i64::try_from(self.next() % width).unwrap_or(0)
    }

    pub(crate) fn chance(&mut self, percent: i64) -> bool {
        self.between(1, 100) <= percent
    }

    /// Returns one of the values; `first` if `rest` is empty.
    pub(crate) fn pick<T: Copy>(&mut self, first: T, rest: &[T]) -> T {
        let at = self.between(0, i64::try_from(rest.len()).unwrap_or(0));
        match usize::try_from(at).ok().and_then(|at| at.checked_sub(1)) {
            Some(at) => rest.get(at).copied().unwrap_or(first),
            None => first,
        }
    }
}
