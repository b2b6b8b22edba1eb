//! Fees of trading, by account.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::ToolError;

use crate::account::Account;
use crate::desk::Desk;
use crate::fill::Fill;
use crate::money::Money;
use crate::scope::Scope;
use crate::statistics::ratio;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FeeBreakdown {
    executions: usize,
    total: Costs,
    accounts: Vec<AccountCosts>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AccountCosts {
    account: Account,
    executions: usize,
    costs: Costs,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Costs {
    commission: Money,
    regulatory: Money,
    exchange: Money,
    total: Money,
    /// Value of all purchases and sales.
    traded: Money,
    /// Total over traded, in basis points; absent where nothing was traded.
    basis_points: Option<f64>,
}

pub(super) fn answer(desk: &Desk, scope: Scope) -> Result<FeeBreakdown, ToolError> {
    let fills: Vec<&Fill> = scope.fills(&desk.book).collect();
    let accounts = Account::ALL.into_iter().filter_map(|account| {
        let own: Vec<&Fill> = fills.iter().copied().filter(|fill| fill.account == account).collect();
        (!own.is_empty()).then(|| AccountCosts { account, executions: own.len(), costs: costs(&own) })
    });
    Ok(FeeBreakdown { executions: fills.len(), accounts: accounts.collect(), total: costs(&fills) })
}

fn costs(fills: &[&Fill]) -> Costs {
    let commission = fills.iter().map(|fill| fill.fees.commission).sum();
    let regulatory = fills.iter().map(|fill| fill.fees.regulatory).sum();
    let exchange = fills.iter().map(|fill| fill.fees.exchange).sum();
    let traded: Money = fills.iter().map(|fill| fill.value()).sum();
    let total: Money = commission + regulatory + exchange;
    let basis_points = ratio(total.dollars() * 10_000.0, traded.dollars());
    Costs { commission, regulatory, exchange, total, traded, basis_points }
}
