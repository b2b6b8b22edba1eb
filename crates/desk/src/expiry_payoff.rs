//! Payoff of option legs at expiry, a piecewise linear function with a corner at each strike.

use schemars::JsonSchema;
use serde::Serialize;

use crate::instrument::Right;
use crate::money::Money;

/// Leg of an option order; `shares` is negative if short.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leg {
    pub(crate) right: Right,
    pub(crate) strike: Money,
    pub(crate) shares: i64,
}

/// The extremes at expiry, premium included; absent where there is no bound.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Payoff {
    /// Absent: unlimited.
    pub(crate) max_profit: Option<Money>,
    /// As a positive amount; absent: unlimited.
    pub(crate) max_loss: Option<Money>,
    /// Prices of the share at which nothing is won or lost.
    pub(crate) breakevens: Vec<Money>,
}

/// Returns the payoff of the legs at a share price of `price`.
pub(crate) fn at_expiry(legs: &[Leg], price: Money) -> Money {
    legs.iter()
        .map(|leg| {
            let inside = match leg.right {
                Right::Call => price - leg.strike,
                Right::Put => leg.strike - price,
            };
            inside.max(Money::ZERO).times(leg.shares)
        })
        .sum()
}

/// Computes the payoff. `premium` is the total amount paid, negative if received.
pub(crate) fn payoff(legs: &[Leg], premium: Money) -> Payoff {
    let mut corners: Vec<Money> = legs.iter().map(|leg| leg.strike).collect();
    corners.push(Money::ZERO);
    corners.sort();
    corners.dedup();
    let profit = |price: Money| at_expiry(legs, price) - premium;
    // Beyond the last strike only calls change in value.
    let slope: i64 = legs.iter().filter(|leg| leg.right == Right::Call).map(|leg| leg.shares).sum();
    let values: Vec<Money> = corners.iter().map(|price| profit(*price)).collect();
    let best = values.iter().copied().max().unwrap_or_default();
    let worst = values.iter().copied().min().unwrap_or_default();
    let mut breakevens = Vec::new();
    for (prices, ends) in corners.windows(2).zip(values.windows(2)) {
        if let ([low, high], [first, last]) = (prices, ends)
            && first.is_negative() != last.is_negative()
            && *first != *last
        {
            let rise = (*last - *first).as_micros();
            breakevens.push(*low + (*high - *low).share((-*first).as_micros(), rise));
        }
    }
    if let (Some(price), Some(value)) = (corners.last(), values.last())
        && slope != 0
        && value.is_negative() == (slope > 0)
        && *value != Money::ZERO
    {
        breakevens.push(*price - value.share(1, slope));
    }
    Payoff {
        max_profit: (slope <= 0).then_some(best),
        max_loss: (slope >= 0).then_some((-worst).max(Money::ZERO)),
        breakevens,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leg(right: Right, strike: i64, contracts: i64) -> Leg {
        Leg { right, strike: Money::cents(strike * 100), shares: contracts * 100 }
    }

    fn dollars(amount: i64) -> Money {
        Money::cents(amount * 100)
    }

    #[test]
    fn a_long_call_loses_its_premium_at_most_and_wins_without_bound() {
        let found = payoff(&[leg(Right::Call, 50, 1)], dollars(300));
        assert_eq!(
            found,
            Payoff { max_profit: None, max_loss: Some(dollars(300)), breakevens: vec![dollars(53)] }
        );
    }

    #[test]
    fn an_iron_condor_has_two_breakevens_and_two_bounds() {
        let legs = [
            leg(Right::Put, 40, 1),
            leg(Right::Put, 45, -1),
            leg(Right::Call, 55, -1),
            leg(Right::Call, 60, 1),
        ];
        let found = payoff(&legs, dollars(-200));
        let breakevens = vec![dollars(43), dollars(57)];
        assert_eq!(
            found,
            Payoff { max_profit: Some(dollars(200)), max_loss: Some(dollars(300)), breakevens }
        );
    }

    #[test]
    fn a_short_call_loses_without_bound() {
        let found = payoff(&[leg(Right::Call, 50, -1)], dollars(-300));
        assert_eq!(found.max_loss, None);
        assert_eq!((found.max_profit, found.breakevens), (Some(dollars(300)), vec![dollars(53)]));
    }

    #[test]
    fn a_straddle_breaks_even_on_both_sides() {
        let found = payoff(&[leg(Right::Call, 50, 1), leg(Right::Put, 50, 1)], dollars(500));
        assert_eq!(found.breakevens, vec![dollars(45), dollars(55)]);
        assert_eq!((found.max_profit, found.max_loss), (None, Some(dollars(500))));
    }
}
