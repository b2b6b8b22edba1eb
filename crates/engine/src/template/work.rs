//! Budget of one request for matching URIs against templates.

use super::rows::Rows;
use crate::limits::{TEMPLATE_STEPS_AT_ONCE, TEMPLATE_STEPS_MAX};

/// A request used up its budget for matching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "comparing the URI with the resource templates takes more than {TEMPLATE_STEPS_MAX} steps (TEMPLATE_STEPS_MAX): use a shorter URI"
)]
pub struct TooMuchWork;

/// Steps that a request may still spend on matching. A step is one character looked at for one part of a template.
#[derive(Debug)]
pub struct Work {
    left: usize,
    pause_at: usize,
    /// Buffer of the last match, for the next one.
    rows: Rows,
}

impl Default for Work {
    fn default() -> Self {
        Self::of(TEMPLATE_STEPS_MAX)
    }
}

impl Work {
    /// Budget of another size, for tests and tools.
    #[must_use]
    pub fn of(steps: usize) -> Self {
        Self { left: steps, pause_at: steps.saturating_sub(TEMPLATE_STEPS_AT_ONCE), rows: Rows::default() }
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), TooMuchWork> {
        self.left = self.left.checked_sub(steps).ok_or(TooMuchWork)?;
        Ok(())
    }

    /// Hands out an empty table.
    pub(super) fn table(&mut self, rows: usize, width: usize) -> Result<Rows, TooMuchWork> {
        let mut table = std::mem::take(&mut self.rows);
        table.resize(rows, width);
        // Words are cleared about eight at a time.
        self.spend(1 + rows * table.words() / 8)?;
        Ok(table)
    }

    /// Takes a table back, so that the next one needs no allocation.
    pub(super) fn keep(&mut self, table: Rows) {
        self.rows = table;
    }

    /// Lets the thread's other tasks run after every slice of work.
    pub(crate) async fn pause(&mut self) {
        if self.left < self.pause_at {
            self.pause_at = self.left.saturating_sub(TEMPLATE_STEPS_AT_ONCE);
            tokio::task::yield_now().await;
        }
    }
}
