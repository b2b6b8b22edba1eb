//! Calls with an unknown outcome over REST, for operators.

use http::StatusCode;
use serde_json::json;
use toolcrib_engine::ending::Ending;

use super::{Asked, Told, unkept};

const SHOWN_MAX: u32 = 1_000;

pub(super) async fn unknown(asked: &Asked<'_>) -> Told {
    asked.operator()?;
    let intents = asked.safety.store().unknown(SHOWN_MAX).await.map_err(|error| unkept(&error))?;
    let shown: Vec<_> = intents
        .iter()
        .map(|intent| {
            json!({"id": intent.id, "caller": intent.binding.caller, "action": intent.binding.tool,
                "contract": intent.binding.contract.to_string(), "arguments": intent.binding.arguments.to_string(),
                "started_ms": intent.started_ms, "outcome": intent.ending.map_or("open", Ending::word)})
        })
        .collect();
    Ok((StatusCode::OK, json!({"intents": shown})))
}
