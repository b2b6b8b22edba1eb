//! Toolset `accounts`: balances, orders and transfers. Most of its writers are destructive.

mod balance;
mod closing;
pub(crate) mod order;
mod transfer;

use std::sync::Arc;

use toolcrib::{RegisterError, Server, ToolSpec};

use crate::desk::{Shared, reader, writer};
use crate::overview::Nothing;

pub(crate) fn register(server: &Server, desk: &Arc<Shared>) -> Result<(), RegisterError> {
    let tool = |name, title, description| ToolSpec::new(name, description).title(title).toolset("accounts");
    reader(
        server,
        desk,
        tool("get_balances", "Balances", "Gives each account's cash, shares at the last price, and total"),
        |desk, _: Nothing| balance::answer(desk),
    )?;
    reader(
        server,
        desk,
        tool("list_orders", "Resting orders", "Lists limit orders that wait for their price"),
        |desk, _: Nothing| order::list(desk),
    )?;
    writer(
        server,
        desk,
        tool("set_account_label", "Label an account", "Gives an account a name for people")
            .destructive(false)
            .idempotent(true),
        balance::label,
    )?;
    writer(
        server,
        desk,
        tool("place_order", "Place an order", "Buys or sells shares at the last price, or rests as a limit order; an execution cannot be taken back")
            .destructive(true)
            .idempotent(false),
        order::place,
    )?;
    writer(
        server,
        desk,
        tool("cancel_order", "Cancel an order", "Cancels a resting limit order")
            .destructive(true)
            .idempotent(true),
        order::cancel,
    )?;
    writer(
        server,
        desk,
        tool("transfer_cash", "Transfer cash", "Moves cash from one account to another")
            .destructive(true)
            .idempotent(false),
        transfer::answer,
    )?;
    writer(
        server,
        desk,
        tool(
            "close_position",
            "Close a position",
            "Sells, or buys back, all that an account holds of a share, at the last price",
        )
        .destructive(true)
        .idempotent(true),
        closing::position,
    )?;
    writer(
        server,
        desk,
        tool(
            "close_account",
            "Close an account",
            "Closes an account for good and sends its cash to another; refused while it holds anything",
        )
        .destructive(true)
        .idempotent(true),
        closing::account,
    )
}
