//! Review of a period: best and worst trades, and habits in the data.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::ToolError;

use super::expectancy::Expectancy;
use super::round_trips::Row;
use crate::desk::Desk;
use crate::scope::Scope;
use crate::statistics::{median, ratio, rounded};
use crate::trip::{Direction, Trip};

/// Minimum ratio between the two sides of a habit for a remark.
const REMARKABLE: f64 = 1.2;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Review {
    figures: Expectancy,
    best: Option<Row>,
    worst: Option<Row>,
    /// Median hours that winners and losers were held.
    hours_winners: Option<f64>,
    hours_losers: Option<f64>,
    /// Median value entered after a trade of the same account that lost, and after one that did not.
    entry_value_after_loss: Option<f64>,
    entry_value_after_win: Option<f64>,
    long: Expectancy,
    short: Expectancy,
    /// Remarks on whatever stands out; empty if nothing does.
    remarks: Vec<String>,
}

pub(super) fn answer(desk: &Desk, scope: Scope) -> Result<Review, ToolError> {
    let trips = scope.trips(&desk.book);
    let hours = |won: bool| {
        let own = trips.iter().filter(|trip| trip.net().is_positive() == won);
        median(&own.map(|trip| trip.closed.since(trip.opened) as f64 / 3_600.0).collect::<Vec<_>>())
    };
    let (hours_winners, hours_losers) = (hours(true), hours(false));
    let (after_loss, after_win) = entries(&trips);
    let mut remarks = Vec::new();
    if let Some(times) = remarkable(hours_losers, hours_winners) {
        remarks.push(format!("Losers are held {times} times as long as winners."));
    }
    if let Some(times) = remarkable(after_loss, after_win) {
        remarks.push(format!("Trades after a loss are {times} times as large as after a win."));
    }
    let direction = |wanted: Direction| Expectancy::of(trips.iter().filter(|trip| trip.direction == wanted));
    let (long, short) = (direction(Direction::Long), direction(Direction::Short));
    for (side, figures) in [("Long", &long), ("Short", &short)] {
        if figures.net.is_negative() {
            remarks.push(format!("{side} trades lost {:.2} dollars in all.", -figures.net.dollars()));
        }
    }
    Ok(Review {
        figures: Expectancy::of(trips.iter()),
        best: trips.iter().max_by_key(|trip| trip.net()).map(|trip| Row::of(trip, desk)),
        worst: trips.iter().min_by_key(|trip| trip.net()).map(|trip| Row::of(trip, desk)),
        hours_winners: hours_winners.map(rounded),
        hours_losers: hours_losers.map(rounded),
        entry_value_after_loss: after_loss.map(rounded),
        entry_value_after_win: after_win.map(rounded),
        long,
        short,
        remarks,
    })
}

/// Returns the median entry value after a trade of the same account that lost, and after one that did not.
fn entries(trips: &[Trip]) -> (Option<f64>, Option<f64>) {
    let (mut after_loss, mut after_win) = (Vec::new(), Vec::new());
    for trip in trips {
        let before = trips
            .iter()
            .filter(|other| other.account == trip.account && other.closed < trip.opened)
            .max_by_key(|other| other.closed);
        match before {
            Some(before) if before.net().is_negative() => after_loss.push(trip.entry_value.dollars()),
            Some(_) => after_win.push(trip.entry_value.dollars()),
            None => {}
        }
    }
    (median(&after_loss), median(&after_win))
}

fn remarkable(value: Option<f64>, against: Option<f64>) -> Option<f64> {
    ratio(value?, against?).filter(|times| *times >= REMARKABLE)
}
