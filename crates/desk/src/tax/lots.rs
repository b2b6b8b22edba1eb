//! Tax lots: open purchases, matched with sales. Short sales are separate lots, matched with the purchases that close
//! them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use crate::account::Account;
use crate::date::{Day, Moment};
use crate::desk::Desk;
use crate::fill::{Fill, Side};
use crate::instrument::{Instrument, Symbol};
use crate::money::Money;

/// Which lot a sale takes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Method {
    #[default]
    Fifo,
    Lifo,
    /// Highest cost first.
    Hifo,
}

/// Days after which a gain is long-term.
pub(super) const LONG_TERM_DAYS: i64 = 365;

#[derive(Debug, Clone, Copy)]
pub(super) struct Lot {
    pub(super) account: Account,
    pub(super) symbol: Symbol,
    pub(super) opened: Moment,
    pub(super) side: Side,
    pub(super) shares: i64,
    /// Cost per share with the fees of opening; for a short lot, proceeds per share less fees.
    pub(super) basis: Money,
}

/// Part of a lot, with the execution that closed it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Closed {
    pub(super) account: Account,
    pub(super) symbol: Symbol,
    pub(super) opened: Moment,
    pub(super) closed: Moment,
    pub(super) shares: i64,
    pub(super) proceeds: Money,
    pub(super) cost: Money,
    pub(super) short: bool,
}

impl Closed {
    pub(super) fn gain(&self) -> Money {
        self.proceeds - self.cost
    }

    /// Returns true if the gain is long-term; that of a short sale never is.
    pub(super) fn is_long_term(&self) -> bool {
        !self.short && self.closed.day().since(self.opened.day()) > LONG_TERM_DAYS
    }
}

/// Returns the amount per share, with fees added to a purchase and subtracted from a sale.
fn per_share(fill: &Fill) -> Money {
    (fill.value() + fill.fees.total().times(fill.side.sign())).share(1, fill.shares())
}

/// Matches every execution in shares. Returns the closed parts and the open lots.
pub(super) fn matched(fills: &[Fill], method: Method) -> (Vec<Closed>, Vec<Lot>) {
    let mut open: BTreeMap<(Account, Symbol), Vec<Lot>> = BTreeMap::new();
    let mut closed = Vec::new();
    for fill in fills {
        let Instrument::Share(symbol) = fill.instrument else { continue };
        let (account, price) = (fill.account, per_share(fill));
        let lots = open.entry((account, symbol)).or_default();
        let mut left = fill.quantity;
        while left > 0 {
            let Some(at) = next(lots, fill.side, method) else { break };
            let Some(lot) = lots.get_mut(at) else { break };
            let shares = left.min(lot.shares);
            let (bought, sold) =
                if fill.side == Side::Sell { (lot.basis, price) } else { (price, lot.basis) };
            closed.push(Closed {
                account,
                symbol,
                opened: lot.opened,
                closed: fill.at,
                shares,
                proceeds: sold.times(shares),
                cost: bought.times(shares),
                short: fill.side == Side::Buy,
            });
            lot.shares -= shares;
            left -= shares;
            if lot.shares == 0 {
                lots.remove(at);
            }
        }
        if left > 0 {
            lots.push(Lot { account, symbol, opened: fill.at, side: fill.side, shares: left, basis: price });
        }
    }
    (closed, open.into_values().flatten().collect())
}

/// Returns the index of the next lot to close. Lots are in order of opening.
fn next(lots: &[Lot], side: Side, method: Method) -> Option<usize> {
    let mut fitting = lots.iter().enumerate().filter(|(_, lot)| lot.side != side);
    let found = match method {
        Method::Fifo => fitting.next(),
        Method::Lifo => fitting.next_back(),
        Method::Hifo => fitting.max_by_key(|(at, lot)| (lot.basis, std::cmp::Reverse(*at))),
    };
    found.map(|(at, _)| at)
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Only this account.
    account: Option<Account>,
    /// Which lots past sales took first; fifo when left out.
    method: Option<Method>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TaxLots {
    lots: Vec<Row>,
    unrealized: Money,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Row {
    account: Account,
    symbol: Symbol,
    side: Side,
    opened: Day,
    shares: i64,
    /// Per share, with fees.
    basis: Money,
    unrealized: Money,
    /// From when on a sale is long-term; absent for short sales.
    long_term_from: Option<Day>,
}

pub(super) fn answer(desk: &Desk, wanted: Wanted) -> Result<TaxLots, ToolError> {
    let (_, open) = matched(desk.book.fills(), wanted.method.unwrap_or_default());
    let own = open.iter().filter(|lot| wanted.account.is_none_or(|account| account == lot.account));
    let lots: Vec<Row> = own
        .filter_map(|lot| {
            let last = desk.book.last_close(lot.symbol)?;
            let opened = lot.opened.day();
            Some(Row {
                account: lot.account,
                symbol: lot.symbol,
                side: lot.side,
                opened,
                shares: lot.shares,
                basis: lot.basis,
                unrealized: (last - lot.basis).times(lot.shares).times(lot.side.sign()),
                long_term_from: (lot.side == Side::Buy).then(|| opened.plus(LONG_TERM_DAYS + 1)),
            })
        })
        .collect();
    let unrealized = lots.iter().map(|lot| lot.unrealized).sum();
    Ok(TaxLots { lots, unrealized })
}
