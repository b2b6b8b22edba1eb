//! Toolset `tax`: lots, gains, wash sales and an estimate. Covers shares only, by simplified rules; no tax advice.

mod estimate;
mod gains;
mod lots;
mod wash;

use std::sync::Arc;

use toolcrib::{RegisterError, Server, ToolSpec};

use crate::desk::{Shared, reader};

pub(crate) fn register(server: &Server, desk: &Arc<Shared>) -> Result<(), RegisterError> {
    let tool = |name, title, description| ToolSpec::new(name, description).title(title).toolset("tax");
    reader(
        server,
        desk,
        tool(
            "get_tax_lots",
            "Tax lots",
            "Lists the lots of shares that are still held, with cost, age and unrealised gain",
        ),
        lots::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "get_realized_gains",
            "Realised gains",
            "Matches sales of shares with lots by FIFO, LIFO or highest cost and adds up short-term and long-term gains of a year",
        ),
        gains::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "find_wash_sales",
            "Wash sales",
            "Finds sales of shares at a loss with a purchase of the same share, in any account, within 30 days before or after",
        ),
        wash::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "estimate_tax",
            "Tax estimate",
            "Estimates the tax on a year's gains from given rates; losses are set off, at most 3,000 dollars against other income",
        ),
        estimate::answer,
    )
}
