//! Payment for order flow: payments to the broker against price improvement for the customer.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::ToolError;

use crate::desk::Desk;
use crate::fill::{Fill, Venue};
use crate::money::Money;
use crate::scope::Scope;
use crate::statistics::ratio;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PfofImpact {
    /// Executions at venues that pay the broker.
    executions: usize,
    /// Part of all executions in scope that went to such venues.
    routed: Option<f64>,
    /// Payments of those venues to the broker.
    paid_to_broker: Money,
    /// Price improvement over the quote that they gave; negative is worse.
    improvement_to_customer: Money,
    /// The broker's part of what they gave away in all; absent where they gave nothing.
    broker_part: Option<f64>,
    /// Loss of these executions against the middle of the quote.
    shortfall_to_middle: Money,
    venues: Vec<VenueImpact>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct VenueImpact {
    venue: Venue,
    executions: usize,
    paid_to_broker: Money,
    improvement_to_customer: Money,
    shortfall_to_middle: Money,
}

pub(super) fn answer(desk: &Desk, scope: Scope) -> Result<PfofImpact, ToolError> {
    let all: Vec<&Fill> = scope.fills(&desk.book).collect();
    let paying = Venue::ALL.into_iter().filter(|venue| venue.pays_for_orders());
    let venues: Vec<VenueImpact> = paying
        .filter_map(|venue| {
            let own: Vec<&&Fill> = all.iter().filter(|fill| fill.venue == venue).collect();
            (!own.is_empty()).then(|| VenueImpact {
                venue,
                executions: own.len(),
                paid_to_broker: own.iter().map(|fill| fill.payment_for_order_flow).sum(),
                improvement_to_customer: own.iter().map(|fill| fill.improvement()).sum(),
                shortfall_to_middle: own.iter().map(|fill| fill.spread_cost()).sum(),
            })
        })
        .collect();
    let executions = venues.iter().map(|venue| venue.executions).sum();
    let paid_to_broker: Money = venues.iter().map(|venue| venue.paid_to_broker).sum();
    let improvement_to_customer: Money = venues.iter().map(|venue| venue.improvement_to_customer).sum();
    let given = paid_to_broker + improvement_to_customer.max(Money::ZERO);
    Ok(PfofImpact {
        executions,
        routed: ratio(executions as f64, all.len() as f64),
        paid_to_broker,
        improvement_to_customer,
        broker_part: ratio(paid_to_broker.dollars(), given.dollars()),
        shortfall_to_middle: venues.iter().map(|venue| venue.shortfall_to_middle).sum(),
        venues,
    })
}
