//! Transfers of cash between accounts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use crate::account::Account;
use crate::desk::Desk;
use crate::money::Money;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The account that pays.
    from: Account,
    /// The account that is paid.
    to: Account,
    /// Dollars.
    #[schemars(range(min = 0.01, max = 10_000_000.0))]
    amount: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Transferred {
    from: Account,
    to: Account,
    amount: Money,
    from_cash: Money,
    to_cash: Money,
}

pub(super) fn answer(desk: &mut Desk, wanted: Wanted) -> Result<Transferred, ToolError> {
    let Wanted { from, to, amount } = wanted;
    let amount = Money::from_dollars(amount).to_cents();
    if from == to {
        return Err(ToolError::new("The two accounts are the same."));
    }
    if desk.closed.contains(&from) || desk.closed.contains(&to) {
        return Err(ToolError::new("A closed account neither sends nor receives."));
    }
    let cash = desk.cash(from);
    if amount > cash {
        let text =
            format!("The account has {:.2} dollars, less than {:.2}.", cash.dollars(), amount.dollars());
        return Err(ToolError::new(text));
    }
    pass(desk, from, to, amount);
    Ok(Transferred { from, to, amount, from_cash: desk.cash(from), to_cash: desk.cash(to) })
}

pub(super) fn pass(desk: &mut Desk, from: Account, to: Account, amount: Money) {
    *desk.transfers.entry(from).or_default() += -amount;
    *desk.transfers.entry(to).or_default() += amount;
}
