//! Round trips: from flat into a position and back to flat.
//!
//! A trip has the executions of one account in one instrument from the opening of a position to its close. An execution
//! that turns a position over is split, and its fees go to both parts by quantity.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::account::Account;
use crate::date::Moment;
use crate::fill::{Fill, Strategy};
use crate::instrument::Instrument;
use crate::money::Money;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Direction {
    Long,
    Short,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trip {
    /// Number in the order of closing, so that later trades never renumber earlier ones.
    pub id: u32,
    pub account: Account,
    pub instrument: Instrument,
    pub direction: Direction,
    pub strategy: Strategy,
    pub opened: Moment,
    pub closed: Moment,
    /// Total units entered.
    pub quantity: i64,
    pub entry_value: Money,
    pub exit_value: Money,
    pub fees: Money,
}

impl Trip {
    /// Returns the profit before fees.
    #[must_use]
    pub fn gross(&self) -> Money {
        match self.direction {
            Direction::Long => self.exit_value - self.entry_value,
            Direction::Short => self.entry_value - self.exit_value,
        }
    }

    #[must_use]
    pub fn net(&self) -> Money {
        self.gross() - self.fees
    }

    #[must_use]
    pub const fn shares(&self) -> i64 {
        self.quantity.saturating_mul(self.instrument.multiplier())
    }

    /// Returns the average entry price per share.
    #[must_use]
    pub fn entry_price(&self) -> Money {
        self.entry_value.share(1, self.shares())
    }

    #[must_use]
    pub fn exit_price(&self) -> Money {
        self.exit_value.share(1, self.shares())
    }
}

struct Open {
    trip: Trip,
    /// Open units, negative if short.
    position: i64,
}

/// Returns the closed trips of executions that are ordered by time.
#[must_use]
pub fn trips(fills: &[Fill]) -> Vec<Trip> {
    let mut open: BTreeMap<(Account, Instrument), Open> = BTreeMap::new();
    let mut closed = Vec::new();
    for fill in fills {
        let key = (fill.account, fill.instrument);
        let signed = fill.quantity * fill.side.sign();
        let Some(mut held) = open.remove(&key) else {
            open.insert(key, begin(fill, signed, fill.fees.total()));
            continue;
        };
        let per_unit = fill.price.times(fill.instrument.multiplier());
        if held.position.signum() == signed.signum() {
            held.position += signed;
            held.trip.quantity += fill.quantity;
            held.trip.entry_value += fill.value();
            held.trip.fees += fill.fees.total();
            open.insert(key, held);
            continue;
        }
        let leaving = fill.quantity.min(held.position.abs());
        let fees = fill.fees.total().share(leaving, fill.quantity);
        held.position += leaving * signed.signum();
        held.trip.exit_value += per_unit.times(leaving);
        held.trip.fees += fees;
        if held.position != 0 {
            open.insert(key, held);
            continue;
        }
        held.trip.closed = fill.at;
        held.trip.id = u32::try_from(closed.len() + 1).unwrap_or(u32::MAX);
        closed.push(held.trip);
        let rest = signed - leaving * signed.signum();
        if rest != 0 {
            open.insert(key, begin(fill, rest, fill.fees.total() - fees));
        }
    }
    closed
}

fn begin(fill: &Fill, signed: i64, fees: Money) -> Open {
    let trip = Trip {
        id: 0,
        account: fill.account,
        instrument: fill.instrument,
        direction: if signed > 0 { Direction::Long } else { Direction::Short },
        strategy: fill.strategy,
        opened: fill.at,
        closed: fill.at,
        quantity: signed.abs(),
        entry_value: fill.price.times(fill.instrument.multiplier()).times(signed.abs()),
        exit_value: Money::ZERO,
        fees,
    };
    Open { trip, position: signed }
}
