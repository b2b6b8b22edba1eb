//! Orders: executed at the last price, or resting until they are cancelled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use crate::account::Account;
use crate::date::Moment;
use crate::desk::Desk;
use crate::fill::{Fill, Side, Strategy, Venue};
use crate::generate::costs;
use crate::instrument::{Instrument, Symbol};
use crate::limits::{DESK_FILLS_MAX, DESK_RESTING_MAX};
use crate::money::Money;

/// Half of the spread that the desk trades at.
const HALF_SPREAD: Money = Money::cents(1);
/// Close of trading, 21:00 UTC, in seconds of the day.
const CLOSE: i64 = 75_600;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The account that pays or is paid.
    account: Account,
    /// The share.
    symbol: Symbol,
    /// Which way.
    side: Side,
    /// How many.
    #[schemars(range(min = 1, max = 100_000))]
    shares: i64,
    /// The worst price that is accepted; left out: whatever the market gives.
    #[schemars(range(min = 0.01, max = 100_000.0))]
    limit: Option<f64>,
}

/// An order that waits for its price.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Resting {
    order: u32,
    account: Account,
    symbol: Symbol,
    side: Side,
    shares: i64,
    limit: Money,
}

impl Resting {
    pub(super) fn account(&self) -> Account {
        self.account
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Placed {
    executed: Option<Executed>,
    /// There when the order waits for its price.
    resting: Option<Resting>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Executed {
    execution: u32,
    at: Moment,
    side: Side,
    shares: i64,
    price: Money,
    fees: Money,
    cash_after: Money,
}

pub(super) fn place(desk: &mut Desk, wanted: Wanted) -> Result<Placed, ToolError> {
    let Wanted { account, symbol, side, shares, limit } = wanted;
    let limit = limit.map(Money::from_dollars);
    let last =
        desk.book.last_close(symbol).ok_or_else(|| ToolError::new("The desk has no price of this share."))?;
    let market = last + HALF_SPREAD.times(side.sign());
    let reached = limit.is_none_or(|limit| match side {
        Side::Buy => market <= limit,
        Side::Sell => market >= limit,
    });
    allowed(desk, account, symbol, side, shares, market)?;
    if let Some(limit) = limit.filter(|_| !reached) {
        if desk.resting.len() >= DESK_RESTING_MAX {
            return Err(ToolError::new("Too many orders rest already; cancel some first."));
        }
        let resting = Resting { order: desk.number(), account, symbol, side, shares, limit };
        desk.resting.insert(resting.order, resting.clone());
        return Ok(Placed { executed: None, resting: Some(resting) });
    }
    let executed = execute(desk, account, symbol, side, shares)?;
    Ok(Placed { executed: Some(executed), resting: None })
}

fn allowed(
    desk: &Desk,
    account: Account,
    symbol: Symbol,
    side: Side,
    shares: i64,
    price: Money,
) -> Result<(), ToolError> {
    if desk.closed.contains(&account) {
        return Err(ToolError::new("The account is closed."));
    }
    let held = held(desk, account, symbol);
    match side {
        Side::Buy if price.times(shares) > desk.cash(account) => Err(ToolError::new(format!(
            "The account has {:.2} dollars; the order needs {:.2}.",
            desk.cash(account).dollars(),
            price.times(shares).dollars()
        ))),
        Side::Sell if shares > held && !account.sells_short() => {
            Err(ToolError::new(format!("The account holds {held} shares and does not sell short.")))
        }
        _ => Ok(()),
    }
}

/// Returns the signed number of shares held.
pub(super) fn held(desk: &Desk, account: Account, symbol: Symbol) -> i64 {
    let holdings = desk.book.holdings();
    let own = holdings
        .iter()
        .find(|holding| holding.account == account && holding.instrument == Instrument::Share(symbol));
    own.map_or(0, |holding| holding.quantity)
}

/// Executes at the last price and half the spread, at the close or one second after the last execution.
pub(super) fn execute(
    desk: &mut Desk,
    account: Account,
    symbol: Symbol,
    side: Side,
    quantity: i64,
) -> Result<Executed, ToolError> {
    let (Some(day), Some(last)) = (desk.book.today(), desk.book.last_close(symbol)) else {
        return Err(ToolError::new("The desk has no price of this share."));
    };
    if desk.book.fills().len() >= DESK_FILLS_MAX {
        return Err(ToolError::new("The desk's book is full; start it anew."));
    }
    let latest = desk.book.fills().last().map_or(day.at(CLOSE), |fill| fill.at.plus(1));
    let at = latest.max(day.at(CLOSE));
    let (bid, ask) = (last - HALF_SPREAD, last + HALF_SPREAD);
    let price = if side == Side::Buy { ask } else { bid };
    let instrument = Instrument::Share(symbol);
    let venue = if account == Account::Pro { Venue::Exchange } else { Venue::WholesalerA };
    let execution = costs::Execution { account, instrument, side, quantity, price, venue };
    let fees = costs::fees(&execution);
    let id = desk.book.next_fill();
    let fill = Fill {
        id,
        order: desk.book.next_order(),
        at,
        account,
        instrument,
        side,
        quantity,
        price,
        bid,
        ask,
        venue,
        fees,
        payment_for_order_flow: costs::payment(&execution),
        strategy: Strategy::Discretionary,
    };
    desk.book.append(fill);
    let cash_after = desk.cash(account);
    Ok(Executed { execution: id, at, side, shares: quantity, price, fees: fees.total(), cash_after })
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Orders {
    orders: Vec<Resting>,
}

pub(super) fn list(desk: &Desk) -> Result<Orders, ToolError> {
    Ok(Orders { orders: desk.resting.values().cloned().collect() })
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    /// The order's number, from list_orders.
    order: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Cancelled {
    order: u32,
    /// False when no order of this number rests any more.
    cancelled: bool,
}

pub(super) fn cancel(desk: &mut Desk, which: Which) -> Result<Cancelled, ToolError> {
    Ok(Cancelled { order: which.order, cancelled: desk.resting.remove(&which.order).is_some() })
}
