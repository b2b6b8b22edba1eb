//! Generated option orders of the main account: seven kinds, opened and closed before they expire.

use super::{OPENING, Pen, costs, market};
use crate::account::Account;
use crate::bars::Bar;
use crate::date::Day;
use crate::fill::{Fill, Side, Strategy};
use crate::instrument::{Instrument, Right, Symbol};
use crate::money::Money;

/// Leg before it is priced: right, strike in steps from the money, side.
type Leg = (Right, i64, Side);

const KINDS: [&[Leg]; 7] = [
    &[(Right::Call, 0, Side::Buy)],
    &[(Right::Put, 0, Side::Buy)],
    &[(Right::Call, 0, Side::Buy), (Right::Call, 2, Side::Sell)],
    &[(Right::Put, -1, Side::Sell), (Right::Put, -3, Side::Buy)],
    &[(Right::Call, 0, Side::Buy), (Right::Put, 0, Side::Buy)],
    &[(Right::Call, 2, Side::Buy), (Right::Put, -2, Side::Buy)],
    &[
        (Right::Put, -3, Side::Buy),
        (Right::Put, -1, Side::Sell),
        (Right::Call, 1, Side::Sell),
        (Right::Call, 3, Side::Buy),
    ],
];

/// Trading days between orders, trading days until an order is closed, and days until expiry.
const EVERY: usize = 26;
const HELD: usize = 12;
const LIFE: i64 = 45;

impl Pen<'_> {
    pub(super) fn options(&mut self) {
        let mut at = 20;
        for turn in 0usize.. {
            let symbols = &Symbol::ALL;
            let (Some(kind), Some(symbol)) =
                (KINDS.get(turn % KINDS.len()), symbols.get(turn % symbols.len()))
            else {
                return;
            };
            let Some(bar) = self.bar(*symbol, at) else { return };
            let legs = contracts(kind, *symbol, bar);
            let quantity = self.random.between(1, 5);
            self.option_order(bar, &legs, quantity);
            // An order that cannot be closed within the data stays open.
            if let Some(later) = self.bar(*symbol, at + HELD) {
                let closing: Vec<_> = legs.iter().map(|(contract, side)| (*contract, side.other())).collect();
                self.option_order(later, &closing, quantity);
            }
            at += EVERY;
        }
    }

    fn option_order(&mut self, bar: Bar, legs: &[(Instrument, Side)], quantity: i64) {
        self.orders += 1;
        let second = OPENING + self.random.between(3_600, 14_400);
        for (instrument, side) in legs {
            let middle = worth(*instrument, bar);
            let quote = market::quote(middle, &mut self.random);
            let venue = costs::route(Account::Main, &mut self.random);
            let price = costs::price(venue, *side, quote, &mut self.random).max(Money::cents(1));
            let id = u32::try_from(self.fills.len() + 1).unwrap_or(u32::MAX);
            let execution = costs::Execution {
                account: Account::Main,
                instrument: *instrument,
                side: *side,
                quantity,
                price,
                venue,
            };
            self.fills.push(Fill {
                id,
                order: self.orders,
                at: bar.day.at(second),
                account: Account::Main,
                instrument: *instrument,
                side: *side,
                quantity,
                price,
                bid: quote.0,
                ask: quote.1,
                venue,
                fees: costs::fees(&execution),
                payment_for_order_flow: costs::payment(&execution),
                strategy: Strategy::Options,
            });
        }
    }
}

/// Returns contracts with strikes five dollars apart around the money, or one dollar for cheap shares.
fn contracts(kind: &[Leg], underlying: Symbol, bar: Bar) -> Vec<(Instrument, Side)> {
    let step = if bar.close > Money::cents(5_000) { 500 } else { 100 };
    let nearest = (bar.close.as_micros() / 10_000 + step / 2) / step * step;
    let expiry = third_friday_after(bar.day.plus(LIFE));
    kind.iter()
        .map(|(right, steps, side)| {
            let strike = Money::cents((nearest + steps * step).max(step));
            (Instrument::Contract { underlying, right: *right, strike, expiry }, *side)
        })
        .collect()
}

fn third_friday_after(day: Day) -> Day {
    let mut found = day;
    // The third Friday is a Friday from the 15th to the 21st.
    while found.weekday() != 4 || !(15..=21).contains(&found.civil().2) {
        found = found.plus(1);
    }
    found
}

/// Returns the intrinsic value plus a time value: four tenths of the price per square root of a year at 30 %
/// volatility, less with the distance from the money. An invented formula of realistic shape.
fn worth(instrument: Instrument, bar: Bar) -> Money {
    let Instrument::Contract { right, strike, expiry, .. } = instrument else { return bar.close };
    let inside = match right {
        Right::Call => bar.close - strike,
        Right::Put => strike - bar.close,
    };
    let intrinsic = inside.max(Money::ZERO);
    let years = expiry.since(bar.day).max(0) as f64 / 365.0;
    let at_the_money = bar.close.dollars() * 0.4 * 0.3 * years.sqrt();
    let distance = (bar.close - strike).dollars().abs();
    let time = at_the_money * at_the_money / (at_the_money + distance).max(0.01);
    (intrinsic + Money::from_dollars(time)).to_cents().max(Money::cents(5))
}
