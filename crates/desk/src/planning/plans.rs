//! Trade plans, stored until they are discarded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::ToolError;

use crate::desk::Desk;
use crate::instrument::Symbol;
use crate::limits::DESK_PLANS_MAX;
use crate::money::Money;
use crate::statistics::ratio;
use crate::trip::Direction;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draft {
    /// The share.
    symbol: Symbol,
    /// The price to enter at.
    #[schemars(range(min = 0.01, max = 100_000.0))]
    entry: f64,
    /// The price at which it is given up.
    #[schemars(range(min = 0.01, max = 100_000.0))]
    stop: f64,
    /// The price at which the profit is taken.
    #[schemars(range(min = 0.01, max = 100_000.0))]
    target: f64,
    /// How many shares.
    #[schemars(range(min = 1, max = 100_000))]
    shares: i64,
    /// Why.
    #[schemars(length(max = 500))]
    note: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Plan {
    plan: u32,
    symbol: Symbol,
    direction: Direction,
    entry: Money,
    stop: Money,
    target: Money,
    shares: i64,
    risk: Money,
    reward: Money,
    /// Reward over risk.
    reward_to_risk: Option<f64>,
    /// How often it must win to come out even.
    breakeven_win_rate: Option<f64>,
    note: Option<String>,
}

pub(super) fn save(desk: &mut Desk, draft: Draft) -> Result<Plan, ToolError> {
    let [entry, stop, target] = [draft.entry, draft.stop, draft.target].map(Money::from_dollars);
    let direction = match (stop < entry, target > entry, stop > entry, target < entry) {
        (true, true, ..) => Direction::Long,
        (_, _, true, true) => Direction::Short,
        _ => return Err(ToolError::new("Stop and target must lie on different sides of the entry.")),
    };
    if desk.plans.len() >= DESK_PLANS_MAX {
        return Err(ToolError::new(format!(
            "The desk keeps {DESK_PLANS_MAX} plans at most; discard some first."
        )));
    }
    let (risk, reward) = match direction {
        Direction::Long => (entry - stop, target - entry),
        Direction::Short => (stop - entry, entry - target),
    };
    let (risk, reward) = (risk.times(draft.shares), reward.times(draft.shares));
    let plan = Plan {
        plan: desk.number(),
        symbol: draft.symbol,
        direction,
        entry,
        stop,
        target,
        shares: draft.shares,
        risk,
        reward,
        reward_to_risk: ratio(reward.dollars(), risk.dollars()),
        breakeven_win_rate: ratio(risk.dollars(), (risk + reward).dollars()),
        note: draft.note,
    };
    desk.plans.insert(plan.plan, plan.clone());
    Ok(plan)
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Plans {
    plans: Vec<Priced>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Priced {
    plan: Plan,
    last_price: Option<Money>,
}

pub(super) fn list(desk: &Desk) -> Result<Plans, ToolError> {
    let priced = |plan: &Plan| Priced { plan: plan.clone(), last_price: desk.book.last_close(plan.symbol) };
    Ok(Plans { plans: desk.plans.values().map(priced).collect() })
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    /// The plan's number.
    plan: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Discarded {
    plan: u32,
    /// False when there was none of this number any more.
    discarded: bool,
}

pub(super) fn discard(desk: &mut Desk, which: Which) -> Result<Discarded, ToolError> {
    Ok(Discarded { plan: which.plan, discarded: desk.plans.remove(&which.plan).is_some() })
}
