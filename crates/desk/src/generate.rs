//! Generator of the data set: two years of daily prices and the executions of three accounts, from one seed.
//!
//! Uses only integers and exactly rounded floating-point operations, so every machine generates the same book.

pub(crate) mod costs;
mod market;
mod options;

use std::collections::BTreeMap;

use crate::account::Account;
use crate::bars::Bar;
use crate::book::Book;
use crate::date::{Day, Moment};
use crate::fill::{Fill, Side, Strategy};
use crate::instrument::{Instrument, Symbol};
use crate::random::Random;

const SEED: u64 = 0x7001_c21b;

/// Start of trading, 14:30 UTC, in seconds of the day.
const OPENING: i64 = 52_200;

pub(crate) fn book() -> Book {
    let mut random = Random::new(SEED);
    let bars: BTreeMap<Symbol, Vec<Bar>> =
        Symbol::ALL.into_iter().map(|symbol| (symbol, market::bars(symbol, &mut random))).collect();
    let mut pen = Pen { random, bars: &bars, fills: Vec::new(), orders: 0 };
    for account in [Account::Main, Account::Pro] {
        for symbol in Symbol::ALL {
            pen.active(account, symbol);
        }
    }
    for symbol in [Symbol::Acme, Symbol::Cedr, Symbol::Elms] {
        pen.investing(symbol);
    }
    pen.options();
    let fills = pen.fills;
    Book::new(bars, fills)
}

/// Writer of generated executions.
struct Pen<'a> {
    random: Random,
    bars: &'a BTreeMap<Symbol, Vec<Bar>>,
    fills: Vec<Fill>,
    orders: u32,
}

impl Pen<'_> {
    fn bar(&self, symbol: Symbol, at: usize) -> Option<Bar> {
        self.bars.get(&symbol)?.get(at).copied()
    }

    fn step(&mut self, low: i64, high: i64) -> usize {
        usize::try_from(self.random.between(low, high)).unwrap_or(1)
    }

    /// Generates consecutive trades in one share, from the first day to the last.
    fn active(&mut self, account: Account, symbol: Symbol) {
        let mut at = self.step(1, 20);
        loop {
            let hold = self.step(0, 14);
            if self.bar(symbol, at + hold).is_none() {
                return;
            }
            let strategy = self
                .random
                .pick(Strategy::Breakout, &[Strategy::Pullback, Strategy::MeanReversion, Strategy::News]);
            let entering = if self.random.chance(70) { Side::Buy } else { Side::Sell };
            let quantity = 10 * self.random.between(2, 30);
            let (entries, exits) = (self.random.between(1, 3), self.random.between(1, 2));
            let entry = self.split(
                at,
                OPENING,
                quantity,
                entries,
                |pen, second, part, bar| {
                    pen.write(
                        bar.day.at(second),
                        account,
                        Instrument::Share(symbol),
                        entering,
                        part,
                        strategy,
                        bar,
                    );
                },
                symbol,
            );
            self.split(
                at + hold,
                entry + 1_800,
                quantity,
                exits,
                |pen, second, part, bar| {
                    pen.write(
                        bar.day.at(second),
                        account,
                        Instrument::Share(symbol),
                        entering.other(),
                        part,
                        strategy,
                        bar,
                    );
                },
                symbol,
            );
            at += hold + self.step(8, 40);
        }
    }

    /// Generates purchases in parts early on and partial sales after more than a year; the rest is still held.
    fn investing(&mut self, symbol: Symbol) {
        let strategy = Strategy::Investing;
        for (around, side, hundreds) in [
            (10, Side::Buy, 2),
            (60, Side::Buy, 1),
            (300, Side::Buy, 1),
            (420, Side::Sell, 2),
            (440, Side::Sell, 1),
        ] {
            let at = around + self.step(0, 9);
            self.split(
                at,
                OPENING,
                hundreds * 100,
                1,
                |pen, second, part, bar| {
                    pen.write(
                        bar.day.at(second),
                        Account::Retirement,
                        Instrument::Share(symbol),
                        side,
                        part,
                        strategy,
                        bar,
                    );
                },
                symbol,
            );
        }
    }

    /// Splits one order into several executions. Returns the second of the day of the last one.
    fn split(
        &mut self,
        at: usize,
        from: i64,
        quantity: i64,
        parts: i64,
        write: impl Fn(&mut Self, i64, i64, Bar),
        symbol: Symbol,
    ) -> i64 {
        let Some(bar) = self.bar(symbol, at) else { return from };
        self.orders += 1;
        let (mut second, mut left) = (from, quantity);
        for part in 1..=parts {
            second += self.random.between(30, 1_500);
            let taken = if part == parts { left } else { (quantity / parts).max(1) };
            left -= taken;
            write(self, second, taken, bar);
        }
        second
    }

    /// Writes one execution at a price within the day's range.
    #[allow(clippy::too_many_arguments, reason = "the columns of one row")]
    fn write(
        &mut self,
        at: Moment,
        account: Account,
        instrument: Instrument,
        side: Side,
        quantity: i64,
        strategy: Strategy,
        bar: Bar,
    ) {
        let middle = market::somewhere(bar, &mut self.random);
        let quote = market::quote(middle, &mut self.random);
        let id = u32::try_from(self.fills.len() + 1).unwrap_or(u32::MAX);
        let venue = costs::route(account, &mut self.random);
        let price = costs::price(venue, side, quote, &mut self.random);
        let blank = costs::Execution { account, instrument, side, quantity, price, venue };
        self.fills.push(Fill {
            id,
            order: self.orders,
            at,
            account,
            instrument,
            side,
            quantity,
            price,
            bid: quote.0,
            ask: quote.1,
            venue,
            fees: costs::fees(&blank),
            payment_for_order_flow: costs::payment(&blank),
            strategy,
        });
    }
}

/// Returns the first and the last day of the data.
fn days() -> Option<(Day, Day)> {
    Some((Day::new(2024, 1, 2)?, Day::new(2025, 12, 31)?))
}
