//! Wash sales: sales at a loss with a purchase of the same share close to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use super::gains::of_year;
use super::lots::Method;
use crate::account::Account;
use crate::date::Day;
use crate::desk::Desk;
use crate::fill::Side;
use crate::instrument::{Instrument, Symbol};
use crate::money::Money;

/// Days before and after the sale.
const WINDOW: i64 = 30;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The year of the sales.
    #[schemars(range(min = 1900, max = 9999))]
    year: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WashSales {
    sales: Vec<Wash>,
    /// Losses that do not count now.
    disallowed: Money,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Wash {
    account: Account,
    symbol: Symbol,
    sold: Day,
    shares: i64,
    loss: Money,
    bought: Day,
    bought_in: Account,
    bought_shares: i64,
    /// The part of the loss for the shares that were bought back.
    disallowed: Money,
}

pub(super) fn answer(desk: &Desk, wanted: Wanted) -> Result<WashSales, ToolError> {
    let buys = || {
        desk.book.fills().iter().filter_map(|fill| match fill.instrument {
            Instrument::Share(symbol) if fill.side == Side::Buy => Some((symbol, fill)),
            _ => None,
        })
    };
    // A purchase replaces each of its shares only once.
    let mut used: std::collections::BTreeMap<u32, i64> = std::collections::BTreeMap::new();
    let mut sales = Vec::new();
    for part in of_year(desk, wanted.year, None, Method::Fifo) {
        if part.short || !part.gain().is_negative() {
            continue;
        }
        let sold = part.closed.day();
        let mut left = part.shares;
        for (symbol, fill) in buys() {
            let bought = fill.at.day();
            // The purchase of the sold shares themselves replaces nothing.
            let replaces = symbol == part.symbol
                && fill.at != part.opened
                && bought.since(sold).abs() <= WINDOW
                && !(fill.account == part.account && fill.at < part.closed && fill.at <= part.opened);
            let free = fill.quantity - used.get(&fill.id).copied().unwrap_or(0);
            let shares = left.min(free);
            if !replaces || shares <= 0 {
                continue;
            }
            *used.entry(fill.id).or_default() += shares;
            left -= shares;
            sales.push(Wash {
                account: part.account,
                symbol,
                sold,
                shares: part.shares,
                loss: -part.gain(),
                bought,
                bought_in: fill.account,
                bought_shares: shares,
                disallowed: (-part.gain()).share(shares, part.shares),
            });
        }
    }
    let disallowed = sales.iter().map(|wash| wash.disallowed).sum();
    Ok(WashSales { sales, disallowed })
}
