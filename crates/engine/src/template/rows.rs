//! Table of bits, in rows of positions.

/// Rows of equal width; each bit stands for a position.
#[derive(Debug, Default)]
pub(super) struct Rows {
    bits: Vec<u64>,
    width: usize,
}

impl Rows {
    /// Clears the table and changes its size; the allocation is kept.
    pub(super) fn resize(&mut self, rows: usize, width: usize) {
        self.width = width;
        self.bits.clear();
        self.bits.resize(rows * self.words(), 0);
    }

    pub(super) fn words(&self) -> usize {
        self.width.div_ceil(64)
    }

    pub(super) fn row(&self, row: usize) -> Row<'_> {
        let words = self.words();
        Row(self.bits.get(row * words..(row + 1) * words).unwrap_or_default())
    }

    pub(super) fn row_mut(&mut self, row: usize) -> RowMut<'_> {
        self.pair(row, row + 1).0
    }

    /// Returns a row to write and a later row to read.
    pub(super) fn pair(&mut self, row: usize, later: usize) -> (RowMut<'_>, Row<'_>) {
        let words = self.words();
        let (before, after) = self.bits.split_at_mut_checked((row + 1) * words).unwrap_or((&mut [], &mut []));
        let from = (later - row - 1) * words;
        let written = before.get_mut(row * words..).unwrap_or_default();
        (RowMut(written), Row(after.get(from..from + words).unwrap_or_default()))
    }
}

#[derive(Clone, Copy)]
pub(super) struct Row<'r>(&'r [u64]);

impl<'r> Row<'r> {
    pub(super) fn has(self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| (word >> (at % 64)) & 1 == 1)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Returns the lowest and highest positions that are set.
    pub(super) fn bounds(self) -> Option<(usize, usize)> {
        let low = self.0.iter().position(|word| *word != 0)?;
        let high = self.0.iter().rposition(|word| *word != 0)?;
        let (first, last) = (self.0.get(low)?, self.0.get(high)?);
        Some((64 * low + first.trailing_zeros() as usize, 64 * high + last.ilog2() as usize))
    }

    /// Returns the positions that are set, lowest first.
    pub(super) fn ones(self) -> impl Iterator<Item = usize> + 'r {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(64 * index + bit)
            })
        })
    }
}

pub(super) struct RowMut<'r>(&'r mut [u64]);

impl RowMut<'_> {
    pub(super) fn set(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    /// Adds the positions of another row.
    pub(super) fn join(&mut self, other: Row<'_>) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }
}
