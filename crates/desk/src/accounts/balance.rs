//! Balances and labels of the accounts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use crate::account::Account;
use crate::desk::Desk;
use crate::instrument::Instrument;
use crate::money::Money;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Balances {
    accounts: Vec<Balance>,
    total: Money,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Balance {
    account: Account,
    label: Option<String>,
    closed: bool,
    cash: Money,
    /// At the last price; negative when short. Options are not counted.
    shares: Money,
    total: Money,
}

pub(super) fn answer(desk: &Desk) -> Result<Balances, ToolError> {
    let holdings = desk.book.holdings();
    let accounts: Vec<Balance> = Account::ALL
        .into_iter()
        .map(|account| {
            let own = holdings.iter().filter(|holding| holding.account == account);
            let shares = own
                .filter_map(|holding| match holding.instrument {
                    Instrument::Share(symbol) => Some(desk.book.last_close(symbol)?.times(holding.quantity)),
                    Instrument::Contract { .. } => None,
                })
                .sum();
            let cash = desk.cash(account);
            let label = desk.labels.get(&account).cloned();
            Balance {
                account,
                label,
                closed: desk.closed.contains(&account),
                cash,
                shares,
                total: cash + shares,
            }
        })
        .collect();
    let total = accounts.iter().map(|balance| balance.total).sum();
    Ok(Balances { accounts, total })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Naming {
    /// The account.
    account: Account,
    /// Its name for people.
    #[schemars(length(min = 1, max = 100))]
    label: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Named {
    account: Account,
    label: String,
    before: Option<String>,
}

pub(super) fn label(desk: &mut Desk, naming: Naming) -> Result<Named, ToolError> {
    let before = desk.labels.insert(naming.account, naming.label.clone());
    Ok(Named { account: naming.account, label: naming.label, before })
}
