//! The selection of trades that an analysis covers.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::account::Account;
use crate::book::Book;
use crate::date::Day;
use crate::fill::{Fill, Strategy};
use crate::instrument::Symbol;
use crate::trip::Trip;

/// Scope of most analytics; everything left out means all.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scope {
    /// Only this account.
    pub(crate) account: Option<Account>,
    /// Only this share and options on it.
    pub(crate) symbol: Option<Symbol>,
    /// Only this strategy.
    pub(crate) strategy: Option<Strategy>,
    /// From this day on; a round trip counts on the day it closed.
    pub(crate) from: Option<Day>,
    /// Up to this day, included.
    pub(crate) to: Option<Day>,
}

impl Scope {
    pub(crate) fn fills<'a>(&self, book: &'a Book) -> impl Iterator<Item = &'a Fill> {
        let scope = *self;
        book.fills().iter().filter(move |fill| {
            scope.takes(fill.account, fill.instrument.symbol(), fill.strategy, fill.at.day())
        })
    }

    pub(crate) fn trips(&self, book: &Book) -> Vec<Trip> {
        let mut trips = book.trips();
        trips.retain(|trip| {
            self.takes(trip.account, trip.instrument.symbol(), trip.strategy, trip.closed.day())
        });
        trips
    }

    fn takes(&self, account: Account, symbol: Symbol, strategy: Strategy, day: Day) -> bool {
        self.account.is_none_or(|wanted| wanted == account)
            && self.symbol.is_none_or(|wanted| wanted == symbol)
            && self.strategy.is_none_or(|wanted| wanted == strategy)
            && self.from.is_none_or(|from| day >= from)
            && self.to.is_none_or(|to| day <= to)
    }
}
