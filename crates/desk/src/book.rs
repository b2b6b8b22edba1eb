//! The book: prices and executions in order.

use std::collections::BTreeMap;

use crate::account::Account;
use crate::bars::Bar;
use crate::date::Day;
use crate::fill::Fill;
use crate::instrument::{Instrument, Symbol};
use crate::money::Money;
use crate::trip::{Trip, trips};

#[derive(Debug, Clone, Default)]
pub struct Book {
    bars: BTreeMap<Symbol, Vec<Bar>>,
    fills: Vec<Fill>,
}

/// Open position of an account in one instrument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) account: Account,
    pub(crate) instrument: Instrument,
    /// Number of units, negative if short.
    pub(crate) quantity: i64,
    /// Amount paid, negative if received.
    pub(crate) cost: Money,
}

impl Book {
    /// Creates a book; fills are sorted by time and id.
    #[must_use]
    pub fn new(bars: BTreeMap<Symbol, Vec<Bar>>, mut fills: Vec<Fill>) -> Self {
        fills.sort_by_key(|fill| (fill.at, fill.id));
        Self { bars, fills }
    }

    #[must_use]
    pub fn fills(&self) -> &[Fill] {
        &self.fills
    }

    #[must_use]
    pub fn bars(&self, symbol: Symbol) -> &[Bar] {
        self.bars.get(&symbol).map_or(&[], Vec::as_slice)
    }

    /// Returns the last day with prices.
    #[must_use]
    pub fn today(&self) -> Option<Day> {
        self.bars.values().filter_map(|bars| bars.last()).map(|bar| bar.day).max()
    }

    pub(crate) fn last_close(&self, symbol: Symbol) -> Option<Money> {
        self.bars(symbol).last().map(|bar| bar.close)
    }

    #[must_use]
    pub fn trips(&self) -> Vec<Trip> {
        trips(&self.fills)
    }

    pub(crate) fn append(&mut self, fill: Fill) {
        self.fills.push(fill);
        self.fills.sort_by_key(|fill| (fill.at, fill.id));
    }

    pub(crate) fn next_fill(&self) -> u32 {
        self.fills.iter().map(|fill| fill.id).max().unwrap_or(0).saturating_add(1)
    }

    pub(crate) fn next_order(&self) -> u32 {
        self.fills.iter().map(|fill| fill.order).max().unwrap_or(0).saturating_add(1)
    }

    /// Returns the open positions with their cost, without fees.
    pub(crate) fn holdings(&self) -> Vec<Holding> {
        let mut open: BTreeMap<(Account, Instrument), (i64, Money)> = BTreeMap::new();
        for fill in &self.fills {
            let (quantity, cost) = open.entry((fill.account, fill.instrument)).or_default();
            let signed = fill.quantity * fill.side.sign();
            if *quantity == 0 || quantity.signum() == signed.signum() {
                *cost += fill.value().times(fill.side.sign());
                *quantity += signed;
                continue;
            }
            let closed = signed.abs().min(quantity.abs());
            *cost = *cost - cost.share(closed, quantity.abs());
            *quantity += signed;
            if quantity.signum() == signed.signum() {
                // The position turned: the rest of the fill opens the other side.
                *cost = fill.price.times(fill.instrument.multiplier()).times(*quantity);
            }
        }
        let held = open.into_iter().filter(|(_, (quantity, _))| *quantity != 0);
        held.map(|((account, instrument), (quantity, cost))| Holding { account, instrument, quantity, cost })
            .collect()
    }
}
