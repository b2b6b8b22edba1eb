//! Drawdown: the fall of cumulated closed profit from its highest point so far.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::ToolError;

use crate::account::Account;
use crate::date::Moment;
use crate::desk::Desk;
use crate::money::Money;
use crate::scope::Scope;
use crate::statistics::ratio;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Drawdown {
    trades: usize,
    /// The deposits of the accounts in scope: what the curve starts from.
    start: Money,
    end: Money,
    /// Dollars from the peak to the lowest point after it, not negative.
    max_drawdown: Money,
    /// Over the peak.
    max_drawdown_fraction: Option<f64>,
    /// When the peak was reached; absent when it is the start, or nothing fell.
    peak: Option<Moment>,
    trough: Option<Moment>,
    /// When the peak was reached again; absent while it was not.
    recovered: Option<Moment>,
    current_drawdown: Money,
    /// The most trades in a row that lost.
    longest_losing_streak: usize,
}

pub(super) fn answer(desk: &Desk, scope: Scope) -> Result<Drawdown, ToolError> {
    let trips = scope.trips(&desk.book);
    let accounts =
        Account::ALL.into_iter().filter(|account| scope.account.is_none_or(|wanted| wanted == *account));
    let start: Money = accounts.map(Account::deposit).sum();
    let (mut level, mut peak, mut peak_at) = (start, start, None);
    let mut deepest = Money::ZERO;
    let mut found: (Option<Moment>, Option<Moment>, Option<Moment>, Money) = (None, None, None, start);
    let (mut streak, mut longest) = (0usize, 0usize);
    for trip in &trips {
        level += trip.net();
        streak = if trip.net().is_negative() { streak + 1 } else { 0 };
        longest = longest.max(streak);
        if level >= peak {
            // The fall that ends here may be the deepest one.
            if found.1.is_some() && found.2.is_none() {
                found.2 = Some(trip.closed);
            }
            (peak, peak_at) = (level, Some(trip.closed));
        }
        if peak - level > deepest {
            deepest = peak - level;
            found = (peak_at, Some(trip.closed), None, peak);
        }
    }
    let (peak_moment, trough, recovered, from) = found;
    Ok(Drawdown {
        trades: trips.len(),
        start,
        end: level,
        max_drawdown: deepest,
        max_drawdown_fraction: ratio(deepest.dollars(), from.dollars()),
        peak: peak_moment,
        trough,
        recovered,
        current_drawdown: peak - level,
        longest_losing_streak: longest,
    })
}
