//! Journal: what must be durable before the call leaves (R4.8).
//!
//! Guarantees: a destructive or confirmed call leaves only after its intent is on disk, in the same transaction that
//! burnt what let it pass; where that cannot be written, it does not leave. Any other call leaves nothing here but a
//! record at its end, gathered off its way.

use toolcrib_contract::Digest;

use super::{Call, Cleared, Pass, Recorded, Resolved};
use crate::answer::ToolResult;
use crate::caller::Caller;
use crate::ending::Ending;
use crate::refusal::Refusal;
use crate::safety::audit::{Event, Kind};
use crate::safety::keep::{Admission, Intent};
use crate::safety::receipt::Receipt;
use crate::safety::ticket::{self, Binding, Clearance, Spent};
use crate::safety::{Safety, Who};

impl<'a> Call<'a, Cleared<'a>> {
    pub(super) async fn record(self) -> Result<Call<'a, Recorded<'a>>, Refusal> {
        let Call { engine, caller, request, stage: Cleared { resolved, pass } } = self;
        let receipt = match pass {
            Pass { safety, clearance: Clearance::Free } if !resolved.entry.judged().effect.destructive => {
                safety.trail().room().await;
                Receipt::call(safety, caller, &resolved.entry, resolved.arguments.node().raw())
            }
            pass => Box::pin(admit(&pass, caller, &resolved)).await?,
        };
        Ok(Call { engine, caller, request, stage: Recorded { resolved, receipt } })
    }
}

/// Burns the clearance and writes the intent.
async fn admit<'a>(
    pass: &Pass<'a>,
    caller: &'a Caller<'a>,
    resolved: &Resolved<'_>,
) -> Result<Receipt<'a>, Refusal> {
    let (safety, who) = (pass.safety, &Who::of(caller));
    let entry = &resolved.entry;
    let failed = |text: String| Refusal::Gated(Box::new(ToolResult::error(text)));
    let arguments = Digest::of_verbatim(resolved.arguments.node());
    let now_ms = safety.now_ms();
    let id = ticket::name("int_").map_err(|error| failed(format!("Not run: {error}.")))?;
    let binding = Binding {
        caller: who.caller.clone(),
        session: who.session.clone(),
        tool: entry.name().to_owned(),
        contract: entry.contract().digest(),
        arguments,
        policy: safety.fingerprint(),
    };
    let event = Event {
        tool: Some(binding.tool.clone()),
        contract: Some(binding.contract.to_string()),
        arguments: Some(arguments.to_string()),
        decision: Some("allowed"),
        rule: Some(entry.judged().rule.to_string()),
        intent: Some(id.clone()),
        by: confirmed_by(safety, &pass.clearance),
        ..safety.event(Kind::Intent, who)
    };
    let admission = Admission {
        clearance: pass.clearance.clone(),
        intent: Intent { id: id.clone(), binding, started_ms: now_ms, ending: None },
        event: event.clone(),
        now_ms,
    };
    // A caller that goes away while the intent is written leaves a call that never ran.
    let mut receipt = Receipt::intent(safety, caller, entry, id, event.clone());
    receipt.settle(Ending::Refused);
    let admitted = safety.store().admit(admission).await;
    if !matches!(admitted, Ok(Ok(_))) {
        receipt.void();
    }
    match admitted {
        Ok(Ok(ticket)) => {
            receipt.settle(Ending::Unknown);
            receipt.confirm_by(ticket);
            Ok(receipt)
        }
        Ok(Err(spent)) => {
            let refused = Event {
                kind: Kind::Refused,
                decision: Some("refused"),
                intent: None,
                note: Some(spent.name().to_owned()),
                ..event
            };
            safety.note(refused);
            Err(failed(spent_text(spent, entry.name(), &pass.clearance)))
        }
        Err(error) => {
            tracing::error!(target: "toolcrib", "{error}");
            Err(failed(
                "Not run: the journal cannot be written, and this call may not run without. Tell the person."
                    .into(),
            ))
        }
    }
}

/// Names the person at this process's terminal who confirmed the call; an approval names its own.
fn confirmed_by(safety: &Safety, clearance: &Clearance) -> Option<String> {
    match clearance {
        Clearance::Asked | Clearance::Sealed { .. } | Clearance::Token { .. } => {
            safety.person().map(str::to_owned)
        }
        Clearance::Free | Clearance::Approval { .. } => None,
    }
}

fn spent_text(spent: Spent, tool: &str, clearance: &Clearance) -> String {
    let (what, next) = match clearance {
        Clearance::Approval { .. } => ("approval", format!("Call {tool} without it to ask for a new one.")),
        Clearance::Sealed { .. } => {
            ("confirmation", format!("Call {tool} again, without requestState, to be asked anew."))
        }
        _ => (
            "token",
            format!(
                "Get a new one from get_confirmation_token for exactly this call, or call {tool} without one to be asked."
            ),
        ),
    };
    match spent {
        Spent::Pending => format!(
            "Not run: nobody has decided over this approval yet. Call {tool} again with the same handle when a person has."
        ),
        Spent::Denied => {
            format!("Not run: a person denied it. Do not call {tool} like this again unless asked to.")
        }
        spent => format!("Not run: the {what} does not confirm this call: {spent}. {next}"),
    }
}
