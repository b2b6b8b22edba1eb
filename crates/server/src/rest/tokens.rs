//! Confirmation tokens over REST. An operator's token proves a person's confirmation; any other is for its owner's
//! calls only.

use std::sync::Arc;

use http::StatusCode;
use serde_json::json;
use toolcrib_engine::peer::{ModernPeer, Peer};
use toolcrib_engine::safety::Who;
use toolcrib_engine::safety::allowance::User;
use toolcrib_engine::safety::mint::{MintError, Wish};
use toolcrib_engine::safety::ticket::Issuer;
use toolcrib_engine::{Caller, Exchange, Principal};
use toolcrib_protocol::{ClientCapabilities, Revision};

use super::{Asked, Refused, Told, bad, text, unkept};

pub(super) async fn mint(asked: &Asked<'_>) -> Told {
    let document = asked.object()?;
    let known = ["action", "params_summary", "arguments", "caller"];
    for (key, _) in document.root().members() {
        if !known.iter().any(|name| key.is_text(name)) {
            let message = format!("{} is no member here; there are {}", key.raw(), known.join(", "));
            return Err(bad("unknown_member", &message));
        }
    }
    let action = text(&document, "action")?
        .ok_or_else(|| bad("missing_action", "action is missing: give the name of a destructive tool"))?;
    let summary = text(&document, "params_summary")?.unwrap_or_default();
    let arguments = document.root().get("arguments");
    if arguments.is_some_and(|arguments| !arguments.is_object()) {
        return Err(bad("malformed", "arguments must be an object"));
    }
    let own = Principal::subject(&asked.credential.name);
    let caller = match text(&document, "caller")? {
        Some(_) if !asked.credential.operator => asked.operator().map(|()| String::new())?,
        Some(caller) => caller,
        None => own.key(),
    };
    let entry = asked.engine.reachable(&as_caller(own), &action).ok_or_else(|| {
        let message = format!("there is no tool {action:?} that this credential can call");
        Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_action", message)
    })?;
    let issuer = if asked.credential.operator { Issuer::Operator } else { Issuer::Caller };
    // Counts towards the quota of the requester, whoever the token is for.
    let user = User::subject(&asked.credential.name);
    let who = Who { caller, session: None, client: None, user };
    let wish = Wish { who: &who, entry: &entry, summary: &summary, arguments, issuer };
    let minted = asked.safety.mint(wish).await.map_err(|error| refused(&error))?;
    let seconds = minted.expires_in_ms / 1_000;
    Ok((
        StatusCode::CREATED,
        json!({"id": minted.id, "token": minted.secret.as_str(), "action": action, "params_summary": summary,
            "expires_in_seconds": seconds, "caller": who.caller, "instruction": format!(
                "Call {action} as {} with this token as confirmation_token, within {seconds} seconds. It works once.",
                who.caller)}),
    ))
}

fn as_caller(principal: Principal) -> Caller<'static> {
    let peer = ModernPeer {
        revision: Revision::FIRST_MODERN,
        capabilities: ClientCapabilities::default(),
        client_info: None,
        log_level: None,
    };
    Caller {
        principal,
        peer: Peer::Modern(Arc::new(peer)),
        headers: None,
        exchange: Exchange::silent(),
        approach: None,
        address: None,
    }
}

fn refused(error: &MintError) -> Refused {
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    let (status, code) = match error {
        MintError::NotDestructive(_) => (unprocessable, "not_destructive"),
        MintError::NeedsPerson(_) => (StatusCode::FORBIDDEN, "needs_a_person"),
        MintError::NoSummary => (unprocessable, "missing_summary"),
        MintError::LongSummary => (unprocessable, "long_summary"),
        MintError::NoArguments => (unprocessable, "missing_arguments"),
        MintError::BadArguments(_) => (unprocessable, "bad_arguments"),
        MintError::Unchecked(_) => (StatusCode::SERVICE_UNAVAILABLE, "unchecked_arguments"),
        MintError::TooOften(often) => return Refused::too_often("too_many_tokens", *often),
        MintError::NoRandomness(_) | MintError::Unkept(_) => return unkept(error),
    };
    Refused::new(status, code, error.to_string())
}

/// Lists live tokens without their secrets: an operator sees all, others only their own.
pub(super) async fn list(asked: &Asked<'_>) -> Told {
    let tokens = asked.safety.store().tokens(asked.safety.now_ms()).await.map_err(|error| unkept(&error))?;
    let own = Principal::subject(&asked.credential.name).key();
    let shown: Vec<_> = tokens
        .iter()
        .filter(|token| asked.credential.operator || token.caller == own)
        .map(|token| {
            json!({"id": token.id, "caller": token.caller, "session": token.session, "action": token.tool,
                "contract": token.contract.to_string(), "arguments": token.arguments.map(|digest| digest.to_string()),
                "params_summary": token.summary, "issuer": token.issuer,
                "created_ms": token.created_ms, "expires_ms": token.expires_ms})
        })
        .collect();
    Ok((StatusCode::OK, json!({"tokens": shown})))
}

pub(super) async fn revoke(asked: &Asked<'_>, id: &str) -> Told {
    let not_found = || {
        let message = "there is no live token with this id".to_owned();
        Refused::new(StatusCode::NOT_FOUND, "unknown_token", message)
    };
    if !asked.credential.operator {
        let own = Principal::subject(&asked.credential.name).key();
        let tokens =
            asked.safety.store().tokens(asked.safety.now_ms()).await.map_err(|error| unkept(&error))?;
        if !tokens.iter().any(|token| token.id == id && token.caller == own) {
            return Err(not_found());
        }
    }
    match asked.safety.revoke(id, &asked.by()).await {
        Ok(true) => Ok((StatusCode::NO_CONTENT, json!(null))),
        Ok(false) => Err(not_found()),
        Err(error) => Err(unkept(&error)),
    }
}
