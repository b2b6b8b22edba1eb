//! Toolset `trade-planning`: position sizes and projections, and stored trade plans.

pub(crate) mod plans;
mod projection;
mod size;

use std::sync::Arc;

use toolcrib::{RegisterError, Server, ToolSpec};

use crate::desk::{Shared, reader, writer};
use crate::overview::Nothing;

pub(crate) fn register(server: &Server, desk: &Arc<Shared>) -> Result<(), RegisterError> {
    let tool =
        |name, title, description| ToolSpec::new(name, description).title(title).toolset("trade-planning");
    reader(
        server,
        desk,
        tool(
            "size_position",
            "Position size",
            "Computes how many shares to trade so that a stop costs no more than a part of the account",
        ),
        size::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "project_trade",
            "Trade projection",
            "Projects many trades of a kind from past win rate, win and loss: expected profit, Kelly fraction and risk of a losing streak",
        ),
        projection::answer,
    )?;
    writer(
        server,
        desk,
        tool(
            "save_trade_plan",
            "Save a plan",
            "Keeps a plan for a trade: entry, stop and target, with its risk and reward",
        )
        .destructive(false)
        .idempotent(false),
        plans::save,
    )?;
    reader(
        server,
        desk,
        tool("list_trade_plans", "Plans", "Lists the plans that are kept, with the last price beside each"),
        |desk, _: Nothing| plans::list(desk),
    )?;
    writer(
        server,
        desk,
        tool("discard_trade_plan", "Discard a plan", "Removes a plan for good")
            .destructive(true)
            .idempotent(true),
        plans::discard,
    )
}
