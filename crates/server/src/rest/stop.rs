//! The emergency stop over REST: any credential may stop everything or itself, only an operator unlocks.

use http::StatusCode;
use serde_json::Value;
use toolcrib_engine::safety::keep::Scope;

use super::{Asked, Refused, Told, bad, text, unkept};

pub(super) fn status(asked: &Asked<'_>) -> (StatusCode, Value) {
    (StatusCode::OK, asked.safety.stops().shown())
}

fn scope(caller: Option<String>) -> Scope {
    caller.filter(|caller| !caller.is_empty()).map_or(Scope::Everybody, Scope::Caller)
}

pub(super) async fn stop(asked: &Asked<'_>) -> Told {
    let document = asked.object()?;
    let reason = text(&document, "reason")?.filter(|reason| !reason.trim().is_empty());
    let reason = reason.ok_or_else(|| bad("missing_reason", "reason is missing: say why"))?;
    let caller = text(&document, "caller")?;
    if caller.is_some() {
        asked.operator()?;
    }
    asked.safety.stop(scope(caller), &asked.by(), &reason).await.map_err(|error| unkept(&error))?;
    Ok(status(asked))
}

pub(super) async fn unlock(asked: &Asked<'_>) -> Told {
    asked.operator()?;
    let document = asked.object()?;
    let scope = scope(text(&document, "caller")?);
    match asked.safety.unlock(scope, &asked.by()).await {
        Ok(true) => Ok(status(asked)),
        Ok(false) => {
            let message = "nothing is stopped under this name; GET stop shows what is".to_owned();
            Err(Refused(StatusCode::NOT_FOUND, "not_stopped", message))
        }
        Err(error) => Err(unkept(&error)),
    }
}
