//! Price generator: one random walk in basis points per share.

use crate::bars::Bar;
use crate::instrument::Symbol;
use crate::money::Money;
use crate::random::Random;

/// Returns the first price in cents, and the largest daily fall and rise in basis points.
const fn nature(symbol: Symbol) -> (i64, i64, i64) {
    match symbol {
        Symbol::Acme => (8_400, 150, 165),
        Symbol::Bolt => (2_350, 260, 270),
        Symbol::Cedr => (14_200, 120, 128),
        Symbol::Dune => (5_650, 330, 328),
        Symbol::Elms => (3_120, 180, 190),
        Symbol::Fjrd => (21_800, 210, 205),
    }
}

const BASIS: i64 = 10_000;

pub(super) fn bars(symbol: Symbol, random: &mut Random) -> Vec<Bar> {
    let (first, fall, rise) = nature(symbol);
    let Some((mut day, last)) = super::days() else { return Vec::new() };
    let mut close = first;
    let mut bars = Vec::new();
    while day <= last {
        if day.is_trading() {
            let open = moved(close, random.between(-40, 40));
            close = moved(open, random.between(-fall, rise));
            let high = moved(open.max(close), random.between(0, 80));
            let low = moved(open.min(close), -random.between(0, 80));
            let [open, high, low, close] = [open, high, low, close].map(Money::cents);
            bars.push(Bar { day, open, high, low, close });
        }
        day = day.plus(1);
    }
    bars
}

/// Returns the price moved by some basis points, at least one cent.
fn moved(cents: i64, basis_points: i64) -> i64 {
    (cents * (BASIS + basis_points) / BASIS).max(1)
}

/// Returns a price within the day's range.
pub(super) fn somewhere(bar: Bar, random: &mut Random) -> Money {
    let low = bar.low.as_micros() / 10_000;
    let high = bar.high.as_micros() / 10_000;
    Money::cents(random.between(low, high))
}

/// Returns bid and ask around a price, one to six cents apart.
pub(super) fn quote(middle: Money, random: &mut Random) -> (Money, Money) {
    let half = Money::micros(5_000 * random.between(1, 6));
    (middle - half, middle + half)
}
