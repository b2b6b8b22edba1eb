//! Cost of commission-free trading: the same trades as they were, and at a commission and exchange prices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use crate::date::Day;
use crate::desk::Desk;
use crate::fill::{Fill, Venue};
use crate::money::Money;
use crate::scope::Scope;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Tariff {
    /// From this day on.
    from: Option<Day>,
    /// Up to this day, included.
    to: Option<Day>,
    /// The other broker's commission per share in dollars; 0.005 when left out.
    #[schemars(range(min = 0.0, max = 1.0))]
    per_share: Option<f64>,
    /// The other broker's smallest commission per execution in dollars; 1 when left out.
    #[schemars(range(min = 0.0, max = 100.0))]
    minimum: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CostOfFree {
    /// Executions in shares that paid no commission.
    executions: usize,
    shares: i64,
    /// Fees that were paid all the same.
    fees: Money,
    /// Loss of their prices against the middle of the quote.
    spread: Money,
    /// Fees and spread.
    free_cost: Money,
    /// The commissions they would have paid.
    other_commission: Money,
    /// The spread they would have paid at the average of the executions off the wholesalers.
    other_spread: Money,
    other_cost: Money,
    /// Positive: free was cheaper.
    saved: Money,
}

pub(super) fn answer(desk: &Desk, tariff: Tariff) -> Result<CostOfFree, ToolError> {
    let scope = Scope { from: tariff.from, to: tariff.to, ..Scope::default() };
    let shares_of = |fills: &[&Fill]| fills.iter().map(|fill| fill.shares()).sum::<i64>();
    let spread_of = |fills: &[&Fill]| fills.iter().map(|fill| fill.spread_cost()).sum::<Money>();
    let all: Vec<&Fill> = scope.fills(&desk.book).filter(|fill| !fill.instrument.is_option()).collect();
    let (free, paid): (Vec<&Fill>, Vec<&Fill>) =
        all.into_iter().partition(|fill| fill.fees.commission == Money::ZERO);
    let benchmark: Vec<&Fill> =
        paid.into_iter().filter(|fill| matches!(fill.venue, Venue::Exchange | Venue::Midpoint)).collect();
    if free.is_empty() || benchmark.is_empty() {
        return Err(ToolError::new("There are no trades of both kinds in these days to compare."));
    }
    let per_share = Money::from_dollars(tariff.per_share.unwrap_or(0.005));
    let minimum = Money::from_dollars(tariff.minimum.unwrap_or(1.0));
    let (fees, spread) = (free.iter().map(|fill| fill.fees.total()).sum::<Money>(), spread_of(&free));
    let other_commission: Money = free.iter().map(|fill| per_share.times(fill.quantity).max(minimum)).sum();
    let other_spread = spread_of(&benchmark).share(shares_of(&free), shares_of(&benchmark));
    let (free_cost, other_cost) = (fees + spread, other_commission + other_spread);
    Ok(CostOfFree {
        executions: free.len(),
        shares: shares_of(&free),
        fees,
        spread,
        free_cost,
        other_commission,
        other_spread,
        other_cost,
        saved: other_cost - free_cost,
    })
}
