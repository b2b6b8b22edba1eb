//! The emergency stop over REST: any credential may stop everybody or itself, only an operator unlocks.

use http::StatusCode;
use serde_json::Value;
use toolcrib_engine::Principal;
use toolcrib_engine::safety::keep::Scope;

use super::{Asked, Refused, Told, bad, text, unkept};

/// Returns the stops in force. An operator sees all details; others see no name and reason in stops of other callers.
pub(super) fn status(asked: &Asked<'_>) -> (StatusCode, Value) {
    let own = Principal::subject(&asked.credential.name).key();
    let sees = |scope: &Scope| asked.credential.operator || *scope == Scope::Everybody || scope.key() == own;
    (StatusCode::OK, asked.safety.stops().shown(asked.safety.now_ms(), sees))
}

fn scope(caller: Option<String>) -> Scope {
    Scope::named(&caller.unwrap_or_default())
}

pub(super) async fn stop(asked: &Asked<'_>) -> Told {
    let document = asked.object()?;
    let reason = text(&document, "reason")?.filter(|reason| !reason.trim().is_empty());
    let reason = reason.ok_or_else(|| bad("missing_reason", "reason is missing: say why"))?;
    let caller = text(&document, "caller")?;
    if caller.is_some() {
        asked.operator()?;
    }
    let held = match asked.safety.stop(scope(caller), &asked.by(), &reason).await {
        Ok(held) => held,
        Err(error) => {
            tracing::error!(target: "toolcrib", "a stop is in force but not kept: {error}");
            let message = "the stop is in force in this process, but could not be written: other processes of the data \
                           folder are NOT stopped; it is tried again until it is written";
            return Err(Refused::new(StatusCode::SERVICE_UNAVAILABLE, "store_failed", message));
        }
    };
    let (_, mut told) = status(asked);
    let Some(warning) = held.warning() else { return Ok((StatusCode::OK, told)) };
    if let Some(members) = told.as_object_mut() {
        members.insert("unconfirmed".to_owned(), held.unconfirmed.into());
        members.insert("warning".to_owned(), warning.into());
    }
    Ok((StatusCode::ACCEPTED, told))
}

pub(super) async fn unlock(asked: &Asked<'_>) -> Told {
    asked.operator()?;
    let document = asked.object()?;
    let scope = scope(text(&document, "caller")?);
    match asked.safety.unlock(scope, &asked.by()).await {
        Ok(true) => Ok(status(asked)),
        Ok(false) => {
            let message = "nothing is stopped under this name; GET stop shows what is".to_owned();
            Err(Refused::new(StatusCode::NOT_FOUND, "not_stopped", message))
        }
        Err(error) => Err(unkept(&error)),
    }
}
