//! Realised gains of a year.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use super::lots::{Closed, Method, matched};
use crate::account::Account;
use crate::desk::Desk;
use crate::money::Money;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The year of the sales.
    #[schemars(range(min = 1900, max = 9999))]
    year: i64,
    /// Only this account.
    account: Option<Account>,
    /// Which lots sales take first; fifo when left out.
    method: Option<Method>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Gains {
    year: i64,
    method: Method,
    sales: usize,
    proceeds: Money,
    cost: Money,
    short_term: Term,
    long_term: Term,
    total: Money,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Term {
    gains: Money,
    /// As a positive amount.
    losses: Money,
    net: Money,
}

/// Returns the parts of lots that were closed in a year.
pub(super) fn of_year(desk: &Desk, year: i64, account: Option<Account>, method: Method) -> Vec<Closed> {
    let (mut closed, _) = matched(desk.book.fills(), method);
    closed.retain(|part| {
        part.closed.day().year() == year && account.is_none_or(|account| account == part.account)
    });
    closed
}

pub(super) fn answer(desk: &Desk, wanted: Wanted) -> Result<Gains, ToolError> {
    let method = wanted.method.unwrap_or_default();
    let closed = of_year(desk, wanted.year, wanted.account, method);
    let term = |long: bool| {
        let own = || closed.iter().filter(|part| part.is_long_term() == long).map(Closed::gain);
        let gains: Money = own().filter(|gain| gain.is_positive()).sum();
        let losses: Money = own().filter(|gain| gain.is_negative()).map(|loss| -loss).sum();
        Term { gains, losses, net: gains - losses }
    };
    Ok(Gains {
        year: wanted.year,
        method,
        sales: closed.len(),
        proceeds: closed.iter().map(|part| part.proceeds).sum(),
        cost: closed.iter().map(|part| part.cost).sum(),
        short_term: term(false),
        long_term: term(true),
        total: closed.iter().map(Closed::gain).sum(),
    })
}
