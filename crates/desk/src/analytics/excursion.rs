//! The writer of the analytics: stores how far prices went for and against each trip.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::ToolError;

use crate::book::Book;
use crate::desk::{Desk, Excursion};
use crate::instrument::Instrument;
use crate::money::Money;
use crate::scope::Scope;
use crate::statistics::ratio;
use crate::trip::{Direction, Trip};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Enriched {
    /// Trips in scope that have an excursion now.
    enriched: usize,
    /// Of these, the ones that had none before.
    new: usize,
    /// Trips in options, whose daily prices the desk does not have.
    skipped: usize,
    /// Profit of all winners as a part of the most that they could have won.
    captured: Option<f64>,
}

pub(super) fn answer(desk: &mut Desk, scope: Scope) -> Result<Enriched, ToolError> {
    let trips = scope.trips(&desk.book);
    let found: Vec<(&Trip, Excursion)> =
        trips.iter().filter_map(|trip| Some((trip, excursion(&desk.book, trip)?))).collect();
    let winners = || found.iter().filter(|(trip, _)| trip.gross().is_positive());
    let kept: Money = winners().map(|(trip, _)| trip.gross()).sum();
    let possible: Money = winners().map(|(_, excursion)| excursion.favorable).sum();
    let captured = ratio(kept.dollars(), possible.dollars());
    let mut new = 0;
    for (trip, excursion) in &found {
        new += usize::from(desk.excursions.insert(trip.id, *excursion).is_none());
    }
    Ok(Enriched { enriched: found.len(), new, skipped: trips.len() - found.len(), captured })
}

/// Computes an excursion from the daily highs and lows, with the first and the last day included.
fn excursion(book: &Book, trip: &Trip) -> Option<Excursion> {
    let Instrument::Share(symbol) = trip.instrument else { return None };
    let (from, to) = (trip.opened.day(), trip.closed.day());
    let days = || book.bars(symbol).iter().filter(|bar| bar.day >= from && bar.day <= to);
    let (low, high) = (days().map(|bar| bar.low).min()?, days().map(|bar| bar.high).max()?);
    let entry = trip.entry_price();
    let (against, along) = match trip.direction {
        Direction::Long => (entry - low, high - entry),
        Direction::Short => (high - entry, entry - low),
    };
    let amount = |per_share: Money| per_share.max(Money::ZERO).times(trip.shares());
    Some(Excursion { adverse: amount(against), favorable: amount(along) })
}
