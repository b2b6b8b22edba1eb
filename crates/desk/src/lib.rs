//! The built-in demonstration server: a small trading desk.
//!
//! Guarantees: the data is generated, is the same on every machine and at every start, and names no real company. Every
//! answer is computed from it on request. Writes of callers (orders, transfers, plans, excursions) stay in memory and
//! end with the process. Refuses requests about data that the desk does not have.
#![allow(clippy::needless_pass_by_value, reason = "a handler owns its arguments")]

mod account;
mod accounts;
mod analytics;
mod bars;
mod book;

mod date;
mod desk;
mod expiry_payoff;
mod fill;
mod generate;
mod instrument;
pub mod limits;
mod money;
mod overview;
mod planning;
mod random;
mod scope;
mod statistics;
mod tax;
mod trip;

use std::sync::Arc;

use toolcrib::{Names, RegisterError, Server, ServerBuilder, Toolset};

pub use account::Account;
pub use bars::Bar;
pub use book::Book;
pub use date::{Day, Moment};
pub use desk::{Desk, Excursion};
pub use fill::{Fees, Fill, Side, Strategy, Venue};
pub use instrument::{Instrument, Right, Symbol};
pub use money::Money;
pub use trip::{Direction, Trip, trips};

use crate::desk::Shared;

/// Returns a server builder with the desk's toolsets: `core`, `discovery` and `trade-analytics` are loaded, the others
/// are found on demand.
#[must_use]
pub fn builder(version: &str) -> ServerBuilder {
    Server::builder("desk", version)
        .title("Desk, the demonstration server of Toolcrib")
        .instructions(
            "A small trading desk over generated data. Analytics are loaded; planning, accounts and tax are toolsets \
             of their own: list_available_toolsets names them, enable_toolset or call_tool reaches them.",
        )
        .toolset(Toolset::new("core", "Overview, quotes and positions").always_loaded())
        .toolset(Toolset::new("trade-analytics", "What past trades earned, cost and teach").programmatic())
        .toolset(Toolset::new("trade-planning", "Sizes, targets and plans for trades to come"))
        .toolset(Toolset::new("accounts", "Balances, orders and transfers; most cannot be undone"))
        .toolset(Toolset::new("tax", "Lots, realised gains, wash sales and an estimate").programmatic())
        .options(|options| options.toolsets.start = Some(Names::parse("trade-analytics")))
}

/// Registers every tool of the desk over newly generated data.
pub fn stock(server: &Server) -> Result<(), RegisterError> {
    stock_with(server, Desk::generated())
}

/// Registers every tool of the desk over `desk`.
pub fn stock_with(server: &Server, desk: Desk) -> Result<(), RegisterError> {
    let desk = Arc::new(Shared::new(desk));
    overview::register(server, &desk)?;
    analytics::register(server, &desk)?;
    planning::register(server, &desk)?;
    accounts::register(server, &desk)?;
    tax::register(server, &desk)
}
