//! Closed trades, from flat to flat.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use crate::account::Account;
use crate::date::{Day, Moment};
use crate::desk::{Desk, Excursion};
use crate::fill::Strategy;
use crate::instrument::Symbol;
use crate::money::Money;
use crate::scope::Scope;
use crate::trip::{Direction, Trip};

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Only this account.
    account: Option<Account>,
    /// Only this share and options on it.
    symbol: Option<Symbol>,
    /// Only this strategy.
    strategy: Option<Strategy>,
    /// Closed on this day or later.
    from: Option<Day>,
    /// Closed on this day or earlier.
    to: Option<Day>,
    /// At most so many; 20 when left out.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RoundTrips {
    /// How many there are in all.
    total: usize,
    /// Of all of them, after fees.
    net: Money,
    trips: Vec<Row>,
}

/// One closed trade.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Row {
    pub(super) id: u32,
    pub(super) account: Account,
    pub(super) instrument: String,
    pub(super) direction: Direction,
    pub(super) strategy: Strategy,
    pub(super) opened: Moment,
    pub(super) closed: Moment,
    pub(super) quantity: i64,
    pub(super) entry_price: Money,
    pub(super) exit_price: Money,
    pub(super) gross: Money,
    pub(super) fees: Money,
    pub(super) net: Money,
    /// There once enrich_excursions has run.
    pub(super) excursion: Option<Excursion>,
}

impl Row {
    pub(super) fn of(trip: &Trip, desk: &Desk) -> Self {
        Self {
            id: trip.id,
            account: trip.account,
            instrument: trip.instrument.to_string(),
            direction: trip.direction,
            strategy: trip.strategy,
            opened: trip.opened,
            closed: trip.closed,
            quantity: trip.quantity,
            entry_price: trip.entry_price(),
            exit_price: trip.exit_price(),
            gross: trip.gross(),
            fees: trip.fees,
            net: trip.net(),
            excursion: desk.excursions.get(&trip.id).copied(),
        }
    }
}

pub(super) fn answer(desk: &Desk, wanted: Wanted) -> Result<RoundTrips, ToolError> {
    let Wanted { account, symbol, strategy, from, to, limit } = wanted;
    let trips = Scope { account, symbol, strategy, from, to }.trips(&desk.book);
    let limit = usize::try_from(limit.unwrap_or(20)).unwrap_or(20);
    Ok(RoundTrips {
        total: trips.len(),
        net: trips.iter().map(Trip::net).sum(),
        trips: trips.iter().rev().take(limit).map(|trip| Row::of(trip, desk)).collect(),
    })
}
