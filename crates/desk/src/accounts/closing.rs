//! Closing of positions and accounts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use super::order::{Executed, execute, held};
use super::transfer::pass;
use crate::account::Account;
use crate::desk::Desk;
use crate::fill::Side;
use crate::instrument::Symbol;
use crate::money::Money;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    /// The account that holds it.
    account: Account,
    /// The share.
    symbol: Symbol,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Closed {
    /// Absent when nothing was held.
    executed: Option<Executed>,
}

pub(super) fn position(desk: &mut Desk, which: Which) -> Result<Closed, ToolError> {
    let quantity = held(desk, which.account, which.symbol);
    let side = if quantity > 0 { Side::Sell } else { Side::Buy };
    let executed = match quantity {
        0 => None,
        _ => Some(execute(desk, which.account, which.symbol, side, quantity.abs())?),
    };
    Ok(Closed { executed })
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ending {
    /// The account to close.
    account: Account,
    /// Where its cash goes.
    send_cash_to: Account,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Ended {
    account: Account,
    send_cash_to: Account,
    amount: Money,
    /// True when it was closed before.
    already: bool,
}

pub(super) fn account(desk: &mut Desk, ending: Ending) -> Result<Ended, ToolError> {
    let Ending { account, send_cash_to } = ending;
    if desk.closed.contains(&account) {
        return Ok(Ended { account, send_cash_to, amount: Money::ZERO, already: true });
    }
    if account == send_cash_to || desk.closed.contains(&send_cash_to) {
        return Err(ToolError::new("The cash must go to another account that is open."));
    }
    let left = desk.book.holdings().iter().filter(|holding| holding.account == account).count();
    if left > 0 {
        let text = format!("The account still holds {left} positions; close them first.");
        return Err(ToolError::new(text));
    }
    let amount = desk.cash(account);
    if amount.is_negative() {
        return Err(ToolError::new("The account owes money; pay it in first."));
    }
    pass(desk, account, send_cash_to, amount);
    desk.resting.retain(|_, order| order.account() != account);
    desk.closed.insert(account);
    Ok(Ended { account, send_cash_to, amount, already: false })
}
