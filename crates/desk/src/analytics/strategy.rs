//! Comparison of the strategies.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::ToolError;

use super::expectancy::Expectancy;
use crate::desk::Desk;
use crate::fill::Strategy;
use crate::scope::Scope;
use crate::statistics::{mean, rounded};
use crate::trip::Trip;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StrategyBreakdown {
    /// By net profit, the best first.
    strategies: Vec<Row>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Row {
    strategy: Strategy,
    /// Average hours from opening to closing.
    hours_held: f64,
    figures: Expectancy,
}

pub(super) fn answer(desk: &Desk, scope: Scope) -> Result<StrategyBreakdown, ToolError> {
    let trips = scope.trips(&desk.book);
    let mut strategies: Vec<Row> = Strategy::ALL
        .into_iter()
        .filter_map(|strategy| {
            let own: Vec<&Trip> = trips.iter().filter(|trip| trip.strategy == strategy).collect();
            let hours: Vec<f64> =
                own.iter().map(|trip| trip.closed.since(trip.opened) as f64 / 3_600.0).collect();
            let hours_held = rounded(mean(&hours)?);
            Some(Row { strategy, hours_held, figures: Expectancy::of(own.into_iter()) })
        })
        .collect();
    strategies.sort_by_key(|row| -row.figures.net);
    Ok(StrategyBreakdown { strategies })
}
