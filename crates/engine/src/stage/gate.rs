//! Gate: whether the call may run, and whether somebody has to confirm it first (R4.4, R4.5, R4.7).
//!
//! Guarantees: the stop and the loop guard come first, for every call, and the stop again after a person was asked;
//! arguments were checked before anybody is asked;
//! what has to be confirmed leaves with a clearance that the journal burns. A call that needs nothing pays one atomic
//! load and one counter, and no database.

mod ask;
mod guard;

pub(crate) use guard::{stopped, works_when_stopped};

use toolcrib_contract::json::Node;

use super::{Call, Checked, Cleared, Pass, Recorded};
use crate::answer::ToolResult;
use crate::refusal::Refusal;
use crate::safety::audit::{Event, Kind};
use crate::safety::policy::Demand;
use crate::safety::receipt::Receipt;
use crate::safety::ticket::Clearance;
use crate::safety::{Safety, Who};

impl<'a> Call<'a, Checked<'a>> {
    /// Where safety is not switched on there is nothing to pass and nothing to write; else who has to be passed.
    pub(super) fn unwatched(self) -> Result<Call<'a, Recorded<'a>>, (Self, &'a Safety)> {
        match self.engine.safety() {
            None => Ok(self.at(|Checked(resolved)| {
                let receipt = Receipt::none();
                Recorded { resolved, receipt, confirmed: None }
            })),
            Some(safety) => Err((self, safety)),
        }
    }

    pub(super) async fn clear(self, safety: &'a Safety) -> Result<Call<'a, Cleared<'a>>, Refusal> {
        guard::pass(&self, safety).await?;
        let clearance = match self.stage.0.entry.judged().demand {
            Demand::Never => Clearance::Free,
            Demand::Unaware if safety.trusts(self.caller) => Clearance::Free,
            // Boxed: what is rare must not make every call's state larger.
            _ => Box::pin(ask::confirmed(&self, safety)).await?,
        };
        // A person may have taken a while to confirm it.
        guard::refuse_if_stopped(&self, safety)?;
        Ok(self.at(|Checked(resolved)| Cleared { resolved, pass: Pass { safety, clearance } }))
    }

    fn arguments(&self) -> Node<'_> {
        self.stage.0.arguments.node()
    }

    /// A refusal that says what to do, and its record.
    fn refuse(&self, safety: &Safety, who: &Who, why: &str, result: ToolResult) -> Refusal {
        let entry = &self.stage.0.entry;
        let digest = toolcrib_contract::Digest::of_verbatim(self.arguments());
        safety.note(Event {
            tool: Some(entry.name().to_owned()),
            contract: Some(entry.contract().digest().to_string()),
            arguments: Some(digest.to_string()),
            decision: Some("refused"),
            rule: Some(entry.judged().rule.to_string()),
            by: safety.person().map(str::to_owned),
            note: Some(why.to_owned()),
            ..safety.event(Kind::Refused, who)
        });
        Refusal::Gated(Box::new(result))
    }
}
