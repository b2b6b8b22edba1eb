//! The approval queue over REST, for operators.

use http::StatusCode;
use serde_json::{Value, json};
use toolcrib_engine::safety::keep::Decided;
use toolcrib_engine::safety::shown;
use toolcrib_engine::safety::ticket::Approval;

use super::{Asked, Refused, Told, bad, text, unkept};

/// Includes all arguments, as they were sent and as they are shown to a person.
fn json_of(approval: &Approval) -> Value {
    let binding = &approval.binding;
    json!({"id": approval.id, "state": approval.state, "caller": binding.caller, "session": binding.session,
        "client": approval.client, "action": binding.tool, "contract": binding.contract.to_string(),
        "arguments": serde_json::from_str::<Value>(&approval.arguments).unwrap_or_default(),
        "arguments_digest": binding.arguments.to_string(), "arguments_shown": shown::arguments(&approval.arguments),
        "created_ms": approval.created_ms, "expires_ms": approval.expires_ms, "decided_by": approval.decided_by})
}

pub(super) async fn list(asked: &Asked<'_>) -> Told {
    asked.operator()?;
    let waiting =
        asked.safety.store().approvals(asked.safety.now_ms()).await.map_err(|error| unkept(&error))?;
    let approvals: Vec<Value> = waiting.approvals.iter().map(json_of).collect();
    Ok((StatusCode::OK, json!({"approvals": approvals, "more": waiting.more})))
}

pub(super) async fn decide(asked: &Asked<'_>, id: &str) -> Told {
    asked.operator()?;
    let document = asked.object()?;
    let allow = match text(&document, "decision")?.as_deref() {
        Some("allow") => true,
        Some("deny") => false,
        _ => return Err(bad("bad_decision", "decision must be \"allow\" or \"deny\"")),
    };
    match asked.safety.decide(id, allow, &asked.by()).await.map_err(|error| unkept(&error))? {
        Decided::Done(approval) => Ok((StatusCode::OK, json_of(&approval))),
        Decided::Unknown => {
            let message = "there is no approval with this id".to_owned();
            Err(Refused::new(StatusCode::NOT_FOUND, "unknown_approval", message))
        }
        Decided::Over(approval) => {
            let message = format!("it is not waiting any more: {}", json!(approval.state));
            Err(Refused::new(StatusCode::CONFLICT, "not_waiting", message))
        }
    }
}
