//! Gate stage: decides whether a call may run, and whether it must be confirmed first (policy per tool pattern, R4.4;
//! how a confirmation is asked, R4.5; emergency stop, R4.7).
//!
//! Guarantees: the stop and the loop guard are checked first, for every call, and the stop is checked again after a
//! person was asked; arguments are validated before anyone is asked; a call that had to be confirmed leaves with a
//! clearance that the journal burns. A call that needs no confirmation costs one atomic load and one counter, and no
//! database access.

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
    /// Skips gate and journal if safety is switched off; otherwise returns the call and the `Safety` it has to pass.
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
            // Boxed: confirmations are rare and must not enlarge every call's state.
            _ => Box::pin(ask::confirmed(&self, safety)).await?,
        };
        // Confirming may have taken minutes, so the stop is checked again.
        guard::refuse_if_stopped(&self, safety)?;
        Ok(self.at(|Checked(resolved)| Cleared { resolved, pass: Pass { safety, clearance } }))
    }

    fn arguments(&self) -> Node<'_> {
        self.stage.0.arguments.node()
    }

    /// Writes the audit record of a refusal and returns the refusal; `result` tells the client what to do.
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
