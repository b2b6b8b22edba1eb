//! Projection of future trades from past ones of the same strategy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use crate::account::Account;
use crate::analytics::Expectancy;
use crate::desk::Desk;
use crate::fill::Strategy;
use crate::money::Money;
use crate::scope::Scope;
use crate::statistics::rounded;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Trades like those of this strategy.
    strategy: Strategy,
    /// Only of this account.
    account: Option<Account>,
    /// How many trades to project.
    #[schemars(range(min = 1, max = 10_000))]
    trades: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Projection {
    based_on: usize,
    win_rate: f64,
    average_win: Money,
    average_loss: Money,
    expected_profit: Money,
    /// The part of the capital that grows it fastest; negative means: do not trade.
    kelly_fraction: f64,
    /// How likely a run of five losses is somewhere among these trades.
    losing_streak_of_five: f64,
}

const STREAK: usize = 5;

pub(super) fn answer(desk: &Desk, wanted: Wanted) -> Result<Projection, ToolError> {
    let scope = Scope { account: wanted.account, strategy: Some(wanted.strategy), ..Scope::default() };
    let past = Expectancy::of(scope.trips(&desk.book).iter());
    let (Some(average_win), Some(average_loss), Some(expectancy)) =
        (past.average_win, past.average_loss, past.expectancy)
    else {
        return Err(ToolError::new("There are no wins and losses of this kind to project from."));
    };
    let win_rate = past.wins as f64 / past.trades as f64;
    let odds = average_win.dollars() / average_loss.dollars();
    let lose = past.losses as f64 / past.trades as f64;
    Ok(Projection {
        based_on: past.trades,
        win_rate: rounded(win_rate),
        average_win,
        average_loss,
        expected_profit: expectancy.times(i64::from(wanted.trades)),
        kelly_fraction: rounded(win_rate - (1.0 - win_rate) / odds),
        losing_streak_of_five: rounded(streak(lose, wanted.trades)),
    })
}

/// Returns the probability of at least one run of [`STREAK`] losses, by a Markov chain over the length of the current
/// run.
fn streak(lose: f64, trades: u32) -> f64 {
    let mut runs = [0.0; STREAK];
    let mut happened = 0.0;
    if let Some(none) = runs.first_mut() {
        *none = 1.0;
    }
    for _ in 0..trades {
        let mut next = [0.0; STREAK];
        for (length, chance) in runs.iter().enumerate() {
            match next.get_mut(length + 1) {
                Some(longer) => *longer += chance * lose,
                None => happened += chance * lose,
            }
        }
        if let Some(none) = next.first_mut() {
            *none = runs.iter().sum::<f64>() * (1.0 - lose);
        }
        runs = next;
    }
    happened
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with counting every sequence of ten coin tosses.
    #[test]
    fn the_chance_of_a_streak_is_that_of_counting_every_sequence() {
        let with_run =
            (0u32..1 << 10).filter(|coins| (0..=5).any(|from| coins >> from & 0b11111 == 0b11111)).count();
        assert!((streak(0.5, 10) - with_run as f64 / 1024.0).abs() < 1e-12);
        assert_eq!(streak(1.0, 4), 0.0);
        assert_eq!(streak(1.0, 5), 1.0);
    }
}
