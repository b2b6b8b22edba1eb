//! Journal stage: writes what must be durable before the call leaves (R4.8: a destructive call is journalled before
//! it is sent).
//!
//! Guarantees: a destructive or confirmed call leaves only after its intent is on disk, in the same transaction that
//! burns its clearance; if that write fails, the call is refused. Every other call only leaves an audit record at its
//! end, written off the request path. While such records cannot be written, only read-only calls and the safety tools
//! run.

use toolcrib_contract::Digest;

use super::gate::{stopped, works_when_stopped};
use super::{Call, Cleared, Pass, Recorded, Resolved};
use crate::answer::ToolResult;
use crate::caller::Caller;
use crate::ending::Ending;
use crate::refusal::Refusal;
use crate::safety::audit::{Event, Kind};
use crate::safety::keep::{Admission, Intent};
use crate::safety::receipt::Receipt;
use crate::safety::ticket::{self, Binding, Clearance, Spent};
use crate::safety::vouch::ConfirmedBy;
use crate::safety::{Safety, Who};

impl<'a> Call<'a, Cleared<'a>> {
    pub(super) async fn record(self) -> Result<Call<'a, Recorded<'a>>, Refusal> {
        let Call { engine, caller, request, stage: Cleared { resolved, pass } } = self;
        let confirmed = ConfirmedBy::of(&pass.clearance, resolved.entry.judged().demand);
        let receipt = match pass {
            Pass { safety, clearance: Clearance::Free } if !resolved.entry.judged().effect.destructive => {
                let entry = &resolved.entry;
                // The safety tools always run: an emergency stop must work on a full disk.
                let needs_record = !entry.judged().effect.read_only && entry.safety().is_none();
                if !safety.trail().room().await && needs_record {
                    return Err(unrecorded(safety, caller, &resolved));
                }
                Receipt::call(safety, caller, &resolved.entry, resolved.arguments.node().raw())
            }
            pass => Box::pin(admit(&pass, caller, &resolved)).await?,
        };
        Ok(Call { engine, caller, request, stage: Recorded { resolved, receipt, confirmed } })
    }
}

/// Refuses a call that is not read-only while audit records cannot be written.
fn unrecorded(safety: &Safety, caller: &Caller<'_>, resolved: &Resolved<'_>) -> Refusal {
    let entry = &resolved.entry;
    safety.note(Event {
        tool: Some(entry.name().to_owned()),
        contract: Some(entry.contract().digest().to_string()),
        arguments: Some(Digest::of_verbatim(resolved.arguments.node()).to_string()),
        decision: Some("refused"),
        rule: Some(entry.judged().rule.to_string()),
        note: Some("the audit cannot be written".to_owned()),
        ..safety.event(Kind::Refused, &Who::of(caller))
    });
    Refusal::Gated(Box::new(ToolResult::error(
        "Not run: the audit cannot be written, and a call that is not read-only may not run without. Tell the person.",
    )))
}

/// Burns the clearance and writes the intent, in one transaction.
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
    // If the caller disconnects while the intent is written, the call never ran: it ends as refused.
    let mut receipt = Receipt::intent(safety, caller, entry, id, event.clone());
    receipt.settle(Ending::Refused);
    let admitted = safety.store().admit(admission).await;
    if !matches!(admitted, Ok(Ok(_))) {
        receipt.void();
    }
    match admitted {
        Ok(Ok(ticket)) => {
            receipt.confirm_by(ticket);
            // A stop may have been put in force while the intent was written.
            if !works_when_stopped(entry)
                && let Some(text) = stopped(caller, safety)
            {
                return Err(failed(text));
            }
            receipt.settle(Ending::Unknown);
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

/// Returns the person at this process's terminal who confirmed the call; an approval names its own person.
fn confirmed_by(safety: &Safety, clearance: &Clearance) -> Option<String> {
    match clearance {
        Clearance::Asked | Clearance::Sealed { .. } | Clearance::Token { .. } => {
            safety.person().map(str::to_owned)
        }
        Clearance::Free | Clearance::Approval { .. } | Clearance::Vouched { .. } => None,
    }
}

fn spent_text(spent: Spent, tool: &str, clearance: &Clearance) -> String {
    let (what, next) = match clearance {
        Clearance::Approval { .. } => ("approval", format!("Call {tool} without it to ask for a new one.")),
        Clearance::Sealed { .. } => {
            ("confirmation", format!("Call {tool} again, without requestState, to be asked anew."))
        }
        Clearance::Vouched { .. } => (
            "gateway's confirmation",
            format!("Call {tool} again through the gateway to have it confirmed anew."),
        ),
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
