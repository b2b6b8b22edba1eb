//! Position size from the amount at risk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use crate::account::Account;
use crate::desk::Desk;
use crate::instrument::Symbol;
use crate::money::Money;
use crate::statistics::ratio;
use crate::trip::Direction;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The account that pays.
    account: Account,
    /// The share.
    symbol: Symbol,
    /// The price at which the trade is given up; below the entry to buy, above it to sell short.
    #[schemars(range(min = 0.01, max = 100_000.0))]
    stop: f64,
    /// The price to enter at; the last price when left out.
    #[schemars(range(min = 0.01, max = 100_000.0))]
    entry: Option<f64>,
    /// Percent of the account's cash that may be lost; 1 when left out.
    #[schemars(range(min = 0.01, max = 100.0))]
    risk_percent: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Size {
    symbol: Symbol,
    direction: Direction,
    entry: Money,
    stop: Money,
    risk_per_share: Money,
    /// Maximum loss allowed.
    risk_budget: Money,
    /// Bounded by the risk, and by the cash where bought.
    shares: i64,
    value: Money,
    /// Loss if the trade is stopped at the stop's price.
    loss_at_stop: Money,
    /// Of the cash.
    part_of_cash: Option<f64>,
    limited_by: Limit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Limit {
    Risk,
    Cash,
}

pub(super) fn answer(desk: &Desk, wanted: Wanted) -> Result<Size, ToolError> {
    let last = desk.book.last_close(wanted.symbol);
    let entry = wanted.entry.map(Money::from_dollars).or(last);
    let entry = entry.ok_or_else(|| ToolError::new("The desk has no price of this share; give an entry."))?;
    let stop = Money::from_dollars(wanted.stop);
    let direction = if stop < entry { Direction::Long } else { Direction::Short };
    let risk_per_share = if stop < entry { entry - stop } else { stop - entry };
    if risk_per_share == Money::ZERO {
        return Err(ToolError::new(
            "The stop is the entry: there is no risk to size by. Choose another stop.",
        ));
    }
    let cash = desk.cash(wanted.account).max(Money::ZERO);
    let risk_budget = Money::from_dollars(cash.dollars() * wanted.risk_percent.unwrap_or(1.0) / 100.0);
    let by_risk = risk_budget.as_micros() / risk_per_share.as_micros();
    let by_cash = cash.as_micros() / entry.as_micros().max(1);
    let (shares, limited_by) = match direction {
        Direction::Long if by_cash < by_risk => (by_cash, Limit::Cash),
        _ => (by_risk, Limit::Risk),
    };
    let value = entry.times(shares);
    Ok(Size {
        symbol: wanted.symbol,
        direction,
        entry,
        stop,
        risk_per_share,
        risk_budget,
        shares,
        value,
        loss_at_stop: risk_per_share.times(shares),
        part_of_cash: ratio(value.dollars(), cash.dollars()),
        limited_by,
    })
}
