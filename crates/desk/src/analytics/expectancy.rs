//! Expected profit per trade, from the closed trades.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::ToolError;

use crate::desk::Desk;
use crate::money::Money;
use crate::scope::Scope;
use crate::statistics::ratio;
use crate::trip::Trip;

/// Averages over closed trades; what cannot be computed is absent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Expectancy {
    pub(crate) trades: usize,
    pub(crate) wins: usize,
    pub(crate) losses: usize,
    /// Wins over trades.
    pub(crate) win_rate: Option<f64>,
    pub(crate) average_win: Option<Money>,
    /// As a positive amount.
    pub(crate) average_loss: Option<Money>,
    /// Won dollars over lost dollars.
    pub(crate) profit_factor: Option<f64>,
    /// After fees, per trade.
    pub(crate) expectancy: Option<Money>,
    /// Expectancy in units of the average loss.
    pub(crate) expectancy_r: Option<f64>,
    pub(crate) net: Money,
}

impl Expectancy {
    pub(crate) fn of<'a>(trips: impl Iterator<Item = &'a Trip>) -> Self {
        let nets: Vec<Money> = trips.map(Trip::net).collect();
        let won: Vec<Money> = nets.iter().copied().filter(|net| net.is_positive()).collect();
        let lost: Vec<Money> = nets.iter().copied().filter(|net| net.is_negative()).collect();
        let (net, gains): (Money, Money) = (nets.iter().copied().sum(), won.iter().copied().sum());
        let losses = -lost.iter().copied().sum::<Money>();
        let average = |sum: Money, count: usize| {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            (count > 0).then(|| sum.share(1, count))
        };
        let average_loss = average(losses, lost.len());
        let expectancy = average(net, nets.len());
        Self {
            trades: nets.len(),
            wins: won.len(),
            losses: lost.len(),
            win_rate: ratio(won.len() as f64, nets.len() as f64),
            average_win: average(gains, won.len()),
            average_loss,
            profit_factor: ratio(gains.dollars(), losses.dollars()),
            expectancy,
            expectancy_r: expectancy
                .zip(average_loss)
                .and_then(|(expected, unit)| ratio(expected.dollars(), unit.dollars())),
            net,
        }
    }
}

pub(super) fn answer(desk: &Desk, scope: Scope) -> Result<Expectancy, ToolError> {
    Ok(Expectancy::of(scope.trips(&desk.book).iter()))
}
