//! Option orders: the strategy recognised by the legs, and its profit and loss at expiry.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use crate::date::Day;
use crate::desk::Desk;
use crate::expiry_payoff::{Leg, Payoff, payoff};
use crate::fill::{Fill, Side};
use crate::instrument::{Instrument, Right, Symbol};
use crate::money::Money;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Only options on this share.
    symbol: Option<Symbol>,
    /// Only orders whose contracts are still held.
    open_only: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OptionOrders {
    orders: Vec<Order>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Order {
    order: u32,
    day: Day,
    symbol: Symbol,
    strategy: Kind,
    legs: Vec<String>,
    contracts: i64,
    /// Total paid, without fees; negative when received.
    premium: Money,
    payoff: Payoff,
    /// Whether the contracts are still held.
    open: bool,
    /// Profit once closed, fees included; absent while open.
    realized: Option<Money>,
}

/// Strategy that the legs make together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum Kind {
    LongCall,
    LongPut,
    ShortCall,
    ShortPut,
    DebitCallSpread,
    CreditCallSpread,
    DebitPutSpread,
    CreditPutSpread,
    LongStraddle,
    ShortStraddle,
    LongStrangle,
    ShortStrangle,
    IronCondor,
    Custom,
}

pub(super) fn answer(desk: &Desk, wanted: Wanted) -> Result<OptionOrders, ToolError> {
    let mut by_order: BTreeMap<u32, Vec<&Fill>> = BTreeMap::new();
    for fill in desk.book.fills().iter().filter(|fill| fill.instrument.is_option()) {
        by_order.entry(fill.order).or_default().push(fill);
    }
    let held: Vec<Instrument> = desk.book.holdings().into_iter().map(|holding| holding.instrument).collect();
    let trips = desk.book.trips();
    let mut orders = Vec::new();
    for (order, fills) in by_order {
        let Some(first) = fills.first() else { continue };
        let symbol = first.instrument.symbol();
        let open = fills.iter().all(|fill| held.contains(&fill.instrument));
        // An order that closes another one is not a strategy of its own.
        let opens =
            open || trips.iter().any(|trip| trip.instrument == first.instrument && trip.opened == first.at);
        let left_out =
            wanted.symbol.is_some_and(|asked| asked != symbol) || wanted.open_only == Some(true) && !open;
        if !opens || left_out {
            continue;
        }
        let own = trips.iter().filter(|trip| {
            trip.opened == first.at && fills.iter().any(|fill| fill.instrument == trip.instrument)
        });
        let legs = legs(&fills);
        let premium = fills.iter().map(|fill| fill.value().times(fill.side.sign())).sum();
        orders.push(Order {
            order,
            day: first.at.day(),
            symbol,
            strategy: kind(&legs, premium),
            legs: fills.iter().map(|fill| spoken(fill)).collect(),
            contracts: first.quantity,
            premium,
            payoff: payoff(&legs, premium),
            open,
            realized: (!open).then(|| own.map(crate::trip::Trip::net).sum()),
        });
    }
    Ok(OptionOrders { orders })
}

fn spoken(fill: &Fill) -> String {
    let side = if fill.side == Side::Buy { "buy" } else { "sell" };
    format!("{side} {} {} at {}", fill.quantity, fill.instrument, fill.price.dollars())
}

/// Returns the legs by strike, puts before calls.
fn legs(fills: &[&Fill]) -> Vec<Leg> {
    let mut legs: Vec<Leg> = fills
        .iter()
        .filter_map(|fill| match fill.instrument {
            Instrument::Contract { right, strike, .. } => {
                Some(Leg { right, strike, shares: fill.shares() * fill.side.sign() })
            }
            Instrument::Share(_) => None,
        })
        .collect();
    legs.sort_by_key(|leg| (leg.strike, leg.right == Right::Call));
    legs
}

fn kind(legs: &[Leg], premium: Money) -> Kind {
    use Right::{Call, Put};
    let debit = premium.is_positive();
    let shape: Vec<(Right, bool)> = legs.iter().map(|leg| (leg.right, leg.shares > 0)).collect();
    let same_strike = legs.windows(2).all(|pair| matches!(pair, [a, b] if a.strike == b.strike));
    let even = legs.windows(2).all(|pair| matches!(pair, [a, b] if a.shares.abs() == b.shares.abs()));
    match shape.as_slice() {
        _ if !even => Kind::Custom,
        [(Call, true)] => Kind::LongCall,
        [(Call, false)] => Kind::ShortCall,
        [(Put, true)] => Kind::LongPut,
        [(Put, false)] => Kind::ShortPut,
        [(Call, first), (Call, second)] if first != second && !same_strike => {
            if debit {
                Kind::DebitCallSpread
            } else {
                Kind::CreditCallSpread
            }
        }
        [(Put, first), (Put, second)] if first != second && !same_strike => {
            if debit {
                Kind::DebitPutSpread
            } else {
                Kind::CreditPutSpread
            }
        }
        [(Put, true), (Call, true)] => {
            if same_strike {
                Kind::LongStraddle
            } else {
                Kind::LongStrangle
            }
        }
        [(Put, false), (Call, false)] => {
            if same_strike {
                Kind::ShortStraddle
            } else {
                Kind::ShortStrangle
            }
        }
        [(Put, true), (Put, false), (Call, false), (Call, true)] => Kind::IronCondor,
        _ => Kind::Custom,
    }
}
