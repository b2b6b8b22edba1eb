//! Gate: whether the call may run, and whether somebody has to confirm it first (R4.4, R4.5, R4.7).
//!
//! Guarantees: the stop and the loop guard come first, for every call; arguments were checked before anybody is asked;
//! what has to be confirmed leaves with a clearance that the journal burns. A call that needs nothing pays one atomic
//! load and one counter, and no database.

mod ask;
mod guard;

use toolcrib_contract::json::Node;

use super::{Call, Checked, Cleared, Pass};
use crate::answer::ToolResult;
use crate::refusal::Refusal;
use crate::safety::audit::{Event, Kind};
use crate::safety::policy::Demand;
use crate::safety::ticket::Clearance;
use crate::safety::{Safety, Who};

impl<'a> Call<'a, Checked<'a>> {
    pub(super) async fn clear(self) -> Result<Call<'a, Cleared<'a>>, Refusal> {
        let Some(safety) = self.engine.safety() else {
            return Ok(self.at(|Checked(resolved)| Cleared { resolved, pass: None }));
        };
        guard::pass(&self, safety).await?;
        let clearance = match self.stage.0.entry.judged().demand {
            Demand::Never => Clearance::Free,
            Demand::Unaware if safety.trusts(self.caller) => Clearance::Free,
            // Boxed: what is rare must not make every call's state larger.
            _ => Box::pin(ask::confirmed(&self, safety)).await?,
        };
        Ok(self.at(|Checked(resolved)| Cleared { resolved, pass: Some(Pass { safety, clearance }) }))
    }

    fn arguments(&self) -> Node<'_> {
        self.stage.0.arguments.node()
    }

    /// A refusal that says what to do, and its record.
    fn refuse(&self, safety: &Safety, who: &Who, why: &str, result: ToolResult) -> Refusal {
        let entry = &self.stage.0.entry;
        let digest = toolcrib_contract::Digest::of(self.arguments()).ok();
        safety.note(Event {
            tool: Some(entry.name().to_owned()),
            contract: Some(entry.contract().digest().to_string()),
            arguments: digest.map(|digest| digest.to_string()),
            decision: Some("refused"),
            rule: Some(entry.judged().rule.to_string()),
            note: Some(why.to_owned()),
            ..safety.event(Kind::Refused, who)
        });
        Refusal::Gated(Box::new(result))
    }
}
