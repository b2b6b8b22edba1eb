//! Routing, prices and fees of generated executions. The tariff is invented but has a realistic shape.

use crate::account::Account;
use crate::fill::{Fees, Side, Venue};
use crate::instrument::Instrument;
use crate::money::Money;
use crate::random::Random;

/// Execution whose costs are computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Execution {
    pub(crate) account: Account,
    pub(crate) instrument: Instrument,
    pub(crate) side: Side,
    pub(crate) quantity: i64,
    pub(crate) price: Money,
    pub(crate) venue: Venue,
}

pub(super) fn route(account: Account, random: &mut Random) -> Venue {
    match account {
        Account::Main => random.pick(
            Venue::WholesalerA,
            &[Venue::WholesalerA, Venue::WholesalerB, Venue::WholesalerB, Venue::Exchange],
        ),
        Account::Pro => random.pick(Venue::Exchange, &[Venue::Exchange, Venue::Midpoint]),
        Account::Retirement => random.pick(Venue::WholesalerB, &[Venue::Midpoint]),
    }
}

/// Returns a price at a venue: wholesalers give back part of the spread, the midpoint half of it, the exchange nothing.
/// Except at the midpoint, the market sometimes moves away first.
pub(super) fn price(venue: Venue, side: Side, (bid, ask): (Money, Money), random: &mut Random) -> Money {
    let spread = ask - bid;
    let back = match venue {
        Venue::WholesalerA => spread.share(random.between(0, 25), 100),
        Venue::WholesalerB => spread.share(random.between(0, 40), 100),
        Venue::Exchange => Money::ZERO,
        Venue::Midpoint => spread.share(1, 2),
    };
    let slip = match venue {
        Venue::Midpoint => Money::ZERO,
        _ if random.chance(12) => Money::cents(random.between(1, 3)),
        _ => Money::ZERO,
    };
    match side {
        Side::Buy => ask - back + slip,
        Side::Sell => bid + back - slip,
    }
}

/// Returns the fees of an execution by the account's tariff.
pub(crate) fn fees(execution: &Execution) -> Fees {
    let Execution { account, instrument, side, quantity, price, venue } = *execution;
    let commission = match (instrument, account) {
        (Instrument::Contract { .. }, _) => Money::cents(65).times(quantity),
        (Instrument::Share(_), Account::Pro) => Money::micros(5_000).times(quantity).max(Money::cents(100)),
        (Instrument::Share(_), _) => Money::ZERO,
    };
    let value = price.times(quantity * instrument.multiplier());
    let regulatory = match side {
        Side::Buy => Money::ZERO,
        // 27.80 dollars per million sold, and 166 millionths per share.
        Side::Sell => value.share(278, 10_000_000) + Money::micros(166).times(quantity),
    };
    let exchange = match (instrument, venue) {
        (Instrument::Share(_), Venue::Exchange) => Money::micros(3_000).times(quantity),
        (Instrument::Share(_), Venue::Midpoint) => Money::micros(1_000).times(quantity),
        (Instrument::Contract { .. }, _) => Money::cents(3).times(quantity),
        _ => Money::ZERO,
    };
    Fees { commission, regulatory, exchange }
}

/// Returns the payment of the venue to the broker.
pub(crate) fn payment(execution: &Execution) -> Money {
    let Execution { instrument, quantity, venue, .. } = *execution;
    match (instrument, venue) {
        (Instrument::Share(_), Venue::WholesalerA) => Money::micros(2_000).times(quantity),
        (Instrument::Share(_), Venue::WholesalerB) => Money::micros(1_500).times(quantity),
        (Instrument::Contract { .. }, Venue::WholesalerA | Venue::WholesalerB) => {
            Money::cents(45).times(quantity)
        }
        _ => Money::ZERO,
    }
}
