//! Toolset `core`: overview, quotes and positions.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::{RegisterError, Server, ToolError, ToolSpec};

use crate::account::Account;
use crate::book::Holding;
use crate::date::Day;
use crate::desk::{Desk, Shared, reader};
use crate::fill::Strategy;
use crate::instrument::{Instrument, Symbol};
use crate::money::Money;

pub(crate) fn register(server: &Server, desk: &Arc<Shared>) -> Result<(), RegisterError> {
    let tool = |name, title, description| ToolSpec::new(name, description).title(title).toolset("core");
    reader(
        server,
        desk,
        tool(
            "get_desk_overview",
            "Desk overview",
            "Says what the desk has: accounts, shares, strategies, days and counts",
        )
        .priority(1),
        |desk, _: Nothing| overview(desk),
    )?;
    reader(
        server,
        desk,
        tool(
            "get_quote",
            "Quote",
            "Gives the last price of a share, its day, and how it moved over the last month",
        ),
        quote,
    )?;
    reader(
        server,
        desk,
        tool("get_positions", "Positions", "Lists what is held, at cost and at the last price"),
        |desk, wanted: Held| positions(desk, wanted.account),
    )
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

#[derive(Debug, Serialize, JsonSchema)]
struct Overview {
    accounts: Vec<Account>,
    symbols: Vec<Company>,
    strategies: Vec<Strategy>,
    first_day: Day,
    /// The desk's present: its last day with prices.
    today: Day,
    executions: usize,
    round_trips: usize,
    open_positions: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Company {
    symbol: Symbol,
    company: &'static str,
}

fn overview(desk: &Desk) -> Result<Overview, ToolError> {
    let first =
        Symbol::ALL.iter().filter_map(|symbol| desk.book.bars(*symbol).first()).map(|bar| bar.day).min();
    let (Some(first_day), Some(today)) = (first, desk.book.today()) else {
        return Err(ToolError::new("The desk has no prices."));
    };
    let symbols =
        Symbol::ALL.into_iter().map(|symbol| Company { symbol, company: symbol.company() }).collect();
    Ok(Overview {
        accounts: Account::ALL.into_iter().filter(|account| !desk.closed.contains(account)).collect(),
        symbols,
        strategies: Strategy::ALL.to_vec(),
        first_day,
        today,
        executions: desk.book.fills().len(),
        round_trips: desk.book.trips().len(),
        open_positions: desk.book.holdings().len(),
    })
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// The share.
    symbol: Symbol,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Quote {
    symbol: Symbol,
    company: &'static str,
    day: Day,
    price: Money,
    month_low: Money,
    month_high: Money,
    /// Against the close 21 trading days ago, as a fraction; absent with fewer days.
    month_change: Option<f64>,
}

/// Trading days of a month.
const MONTH: usize = 21;

fn quote(desk: &Desk, asked: Asked) -> Result<Quote, ToolError> {
    let bars = desk.book.bars(asked.symbol);
    let last = bars.last().ok_or_else(|| ToolError::new("The desk has no prices of this share."))?;
    let month = bars.get(bars.len().saturating_sub(MONTH)..).unwrap_or(bars);
    let before = bars.len().checked_sub(MONTH + 1).and_then(|at| bars.get(at));
    Ok(Quote {
        symbol: asked.symbol,
        company: asked.symbol.company(),
        day: last.day,
        price: last.close,
        month_low: month.iter().map(|bar| bar.low).min().unwrap_or(last.low),
        month_high: month.iter().map(|bar| bar.high).max().unwrap_or(last.high),
        month_change: before.and_then(|bar| {
            crate::statistics::ratio((last.close - bar.close).dollars(), bar.close.dollars())
        }),
    })
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Held {
    /// Only this account.
    account: Option<Account>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Positions {
    positions: Vec<Position>,
    /// Of the shares; options are not priced by the desk.
    unrealized: Money,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Position {
    account: Account,
    instrument: String,
    /// Negative when short.
    quantity: i64,
    average_cost: Money,
    /// Absent for options, which the desk does not price.
    last_price: Option<Money>,
    market_value: Option<Money>,
    unrealized: Option<Money>,
}

fn positions(desk: &Desk, account: Option<Account>) -> Result<Positions, ToolError> {
    let wanted = |holding: &Holding| account.is_none_or(|wanted| wanted == holding.account);
    let holdings = desk.book.holdings().into_iter().filter(wanted);
    let positions: Vec<Position> = holdings
        .map(|Holding { account, instrument, quantity, cost }| {
            let last_price = match instrument {
                Instrument::Share(symbol) => desk.book.last_close(symbol),
                Instrument::Contract { .. } => None,
            };
            let market_value = last_price.map(|price| price.times(quantity));
            Position {
                account,
                instrument: instrument.to_string(),
                quantity,
                average_cost: cost.share(1, quantity * instrument.multiplier()),
                last_price,
                market_value,
                unrealized: market_value.map(|value| value - cost),
            }
        })
        .collect();
    let unrealized = positions.iter().filter_map(|position| position.unrealized).sum();
    Ok(Positions { positions, unrealized })
}
