//! Budget of one request for matching URIs against templates.

use super::rows::Rows;
use crate::limits::{TEMPLATE_STEPS_AT_ONCE, TEMPLATE_STEPS_MAX};

/// The request exceeded its budget for matching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "comparing the URI with the resource templates takes more than {TEMPLATE_STEPS_MAX} steps (TEMPLATE_STEPS_MAX): use a shorter URI"
)]
pub struct TooMuchWork;

/// Steps left for one request's matching. A step is one character compared for one part of a template.
#[derive(Debug)]
pub struct Work {
    left: usize,
    pause_at: usize,
    /// Buffer of the last match, reused by the next one.
    rows: Rows,
}

impl Default for Work {
    fn default() -> Self {
        Self::of(TEMPLATE_STEPS_MAX)
    }
}

impl Work {
    /// Creates a budget of another size, for tests and tools.
    #[must_use]
    pub fn of(steps: usize) -> Self {
        Self { left: steps, pause_at: steps.saturating_sub(TEMPLATE_STEPS_AT_ONCE), rows: Rows::default() }
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), TooMuchWork> {
        self.left = self.left.checked_sub(steps).ok_or(TooMuchWork)?;
        Ok(())
    }

    /// Returns an empty table.
    pub(super) fn table(&mut self, rows: usize, width: usize) -> Result<Rows, TooMuchWork> {
        let mut table = std::mem::take(&mut self.rows);
        table.resize(rows, width);
        // Words are cleared about eight at a time.
        self.spend(1 + rows * table.words() / 8)?;
        Ok(table)
    }

    /// Takes a table back, so that the next match needs no allocation.
    pub(super) fn keep(&mut self, table: Rows) {
        self.rows = table;
    }

    /// Yields to the thread's other tasks after every `TEMPLATE_STEPS_AT_ONCE` steps.
    pub(crate) async fn pause(&mut self) {
        if self.left < self.pause_at {
            self.pause_at = self.left.saturating_sub(TEMPLATE_STEPS_AT_ONCE);
            tokio::task::yield_now().await;
        }
    }
}
