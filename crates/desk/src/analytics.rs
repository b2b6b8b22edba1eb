//! Toolset `trade-analytics`: eleven read-only analyses, and one writer that enriches trips.

mod drawdown;
mod excursion;
mod execution;
mod expectancy;
mod fees;
mod free;
mod options;
mod pfof;
mod review;
mod round_trips;
mod sqn;
mod strategy;

use std::sync::Arc;

pub(crate) use expectancy::Expectancy;
use toolcrib::{RegisterError, Server, ToolSpec};

use crate::desk::{Shared, reader, writer};

pub(crate) fn register(server: &Server, desk: &Arc<Shared>) -> Result<(), RegisterError> {
    let tool =
        |name, title, description| ToolSpec::new(name, description).title(title).toolset("trade-analytics");
    reader(
        server,
        desk,
        tool(
            "get_round_trips",
            "Round trips",
            "Lists closed trades from flat to flat, newest first, with prices, fees and profit; with excursions once they were enriched",
        ),
        round_trips::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "get_fee_breakdown",
            "Fee breakdown",
            "Adds up commissions, regulatory and exchange fees, by account and as a share of what was traded",
        ),
        fees::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "get_execution_quality",
            "Execution quality",
            "Compares execution prices with the quotes they met, by venue: spread paid, price improvement, how often the quote was met or beaten",
        ),
        execution::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "get_pfof_impact",
            "PFOF impact",
            "Says what payment for order flow came to: what venues paid the broker, against what they gave back in better prices",
        ),
        pfof::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "get_expectancy",
            "Expectancy",
            "Computes win rate, average win and loss, profit factor and expected profit per trade, in dollars and in units of the average loss",
        ),
        expectancy::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "get_drawdown",
            "Drawdown",
            "Follows closed profit in time and finds the deepest fall from a peak, its days, its recovery, and the present fall",
        ),
        drawdown::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "get_strategy_breakdown",
            "Strategy breakdown",
            "Compares strategies: trades, win rate, profit, profit factor and time held",
        ),
        strategy::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "get_sqn",
            "System quality number",
            "Computes the system quality number, the square root of trades times mean over deviation of profit, and says what it means",
        ),
        sqn::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "get_cost_of_free",
            "Cost of free trading",
            "Compares what commission-free trades really cost (fees and worse prices) with the same trades at a commission and at exchange prices",
        ),
        free::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "get_trade_review",
            "Trade review",
            "Reviews a period: best and worst trades, and habits in the data, such as losers held too long or larger trades after losses",
        ),
        review::answer,
    )?;
    reader(
        server,
        desk,
        tool(
            "get_options_strategy",
            "Options strategies",
            "Recognises the strategy of each option order by its legs and computes premium, largest profit and loss, and break-even prices",
        ),
        options::answer,
    )?;
    writer(
        server,
        desk,
        tool("enrich_excursions", "Enrich excursions", "Stores with each round trip in shares how far prices went for and against it, from daily highs and lows; repeating it changes nothing")
            .destructive(false)
            .idempotent(true),
        excursion::answer,
    )
}
