//! Execution quality: prices against the quotes at execution, by venue.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::ToolError;

use crate::desk::Desk;
use crate::fill::{Fill, Venue};
use crate::money::Money;
use crate::scope::Scope;
use crate::statistics::ratio;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ExecutionQuality {
    executions: usize,
    venues: Vec<VenueQuality>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct VenueQuality {
    venue: Venue,
    executions: usize,
    shares: i64,
    /// Ask less bid, per share, weighted by shares.
    quoted_spread: Option<f64>,
    /// Twice the distance from the middle of the quote, per share, weighted by shares.
    effective_spread: Option<f64>,
    /// Effective over quoted: 1 pays the whole spread, 0 trades in the middle.
    effective_over_quoted: Option<f64>,
    /// Against the quoted side; negative is worse.
    price_improvement: Money,
    /// Part of the executions at the quote or better.
    at_or_better: Option<f64>,
}

pub(super) fn answer(desk: &Desk, scope: Scope) -> Result<ExecutionQuality, ToolError> {
    let fills: Vec<&Fill> = scope.fills(&desk.book).collect();
    let venues = Venue::ALL.into_iter().filter_map(|venue| {
        let own: Vec<&Fill> = fills.iter().copied().filter(|fill| fill.venue == venue).collect();
        (!own.is_empty()).then(|| quality(venue, &own))
    });
    Ok(ExecutionQuality { executions: fills.len(), venues: venues.collect() })
}

fn quality(venue: Venue, fills: &[&Fill]) -> VenueQuality {
    let shares: i64 = fills.iter().map(|fill| fill.shares()).sum();
    let quoted: Money = fills.iter().map(|fill| (fill.ask - fill.bid).times(fill.shares())).sum();
    let effective: Money = fills.iter().map(|fill| fill.spread_cost().times(2)).sum();
    let good = fills.iter().filter(|fill| !fill.improvement().is_negative()).count();
    VenueQuality {
        venue,
        executions: fills.len(),
        shares,
        quoted_spread: ratio(quoted.dollars(), shares as f64),
        effective_spread: ratio(effective.dollars(), shares as f64),
        effective_over_quoted: ratio(effective.dollars(), quoted.dollars()),
        price_improvement: fills.iter().map(|fill| fill.improvement()).sum(),
        at_or_better: ratio(good as f64, fills.len() as f64),
    }
}
