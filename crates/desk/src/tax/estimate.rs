//! Tax estimate from rates that the caller gives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use super::gains::of_year;
use super::lots::{Closed, Method};
use crate::desk::Desk;
use crate::money::Money;

/// Maximum loss that reduces other income in one year.
const DEDUCTION_MAX: Money = Money::cents(300_000);

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The year of the sales.
    #[schemars(range(min = 1900, max = 9999))]
    year: i64,
    /// Percent on short-term gains.
    #[schemars(range(min = 0.0, max = 100.0))]
    short_term_rate: f64,
    /// Percent on long-term gains.
    #[schemars(range(min = 0.0, max = 100.0))]
    long_term_rate: f64,
    /// Which lots sales take first; fifo when left out.
    method: Option<Method>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Estimate {
    year: i64,
    method: Method,
    short_term_net: Money,
    long_term_net: Money,
    /// After one kind's loss was set off against the other's gain.
    taxed_short_term: Money,
    taxed_long_term: Money,
    /// Loss that lowers other income.
    deduction: Money,
    /// Loss for later years.
    carried_over: Money,
    tax: Money,
}

pub(super) fn answer(desk: &Desk, wanted: Wanted) -> Result<Estimate, ToolError> {
    let method = wanted.method.unwrap_or_default();
    let closed = of_year(desk, wanted.year, None, method);
    let net = |long: bool| closed.iter().filter(|part| part.is_long_term() == long).map(Closed::gain).sum();
    let (short_term_net, long_term_net): (Money, Money) = (net(false), net(true));
    let together = short_term_net + long_term_net;
    let (taxed_short_term, taxed_long_term) =
        match (short_term_net.is_negative(), long_term_net.is_negative()) {
            (false, false) => (short_term_net, long_term_net),
            (false, true) => (together.max(Money::ZERO), Money::ZERO),
            (true, false) => (Money::ZERO, together.max(Money::ZERO)),
            (true, true) => (Money::ZERO, Money::ZERO),
        };
    let loss = (-together).max(Money::ZERO);
    let deduction = loss.min(DEDUCTION_MAX);
    let at = |amount: Money, percent: f64| amount.dollars() * percent / 100.0;
    let tax = at(taxed_short_term, wanted.short_term_rate) + at(taxed_long_term, wanted.long_term_rate);
    Ok(Estimate {
        year: wanted.year,
        method,
        short_term_net,
        long_term_net,
        taxed_short_term,
        taxed_long_term,
        deduction,
        carried_over: loss - deduction,
        tax: Money::from_dollars(tax).to_cents(),
    })
}
