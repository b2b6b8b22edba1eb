//! Questions in mid-call, as each era is asked them, and what tools report while they work.
#![allow(deprecated, reason = "the legacy revisions have sampling and logging")]

use std::time::Duration;

use rmcp::model::LoggingLevel;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::content::text;
use crate::fixture::{failed, typed};
use crate::rounds::{self, Brought, Turn, asks};

const STEP: Duration = Duration::from_millis(50);

pub(crate) async fn progress(context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
    let token = context.meta.get_progress_token();
    for done in [0, 50, 100] {
        if let Some(token) = &token {
            let report = json!({"progressToken": token, "progress": done, "total": 100, "message": format!("{done} of 100")});
            context.peer.notify_progress(typed(report)?).await.map_err(failed)?;
        }
        tokio::time::sleep(STEP).await;
    }
    Ok(text("Progress reported"))
}

pub(crate) async fn logging(
    context: &RequestContext<RoleServer>,
    texts: &[&str],
) -> Result<Value, ErrorData> {
    let is_legacy = context.meta.protocol_version().is_none();
    for said in texts {
        // A modern client hears only what its request asked for.
        if is_legacy || context.meta.log_level().is_some() {
            let message = json!({"level": LoggingLevel::Info, "logger": "conformance", "data": said});
            context.peer.notify_logging_message(typed(message)?).await.map_err(failed)?;
        }
        tokio::time::sleep(STEP).await;
    }
    Ok(text("Logged"))
}

pub(crate) async fn sample(
    context: &RequestContext<RoleServer>,
    brought: &Brought<'_>,
    prompt: &str,
) -> Result<Turn, ErrorData> {
    let reply = match context.meta.protocol_version() {
        Some(_) => match brought.answer("sample") {
            Some(reply) => reply.clone(),
            None => return Ok(asks(&json!({"sample": rounds::sample(prompt)}), None)),
        },
        None => {
            let reply = context.peer.create_message(typed(sampling(prompt))?).await.map_err(failed)?;
            serde_json::to_value(reply).map_err(failed)?
        }
    };
    let said = reply.pointer("/content/text").and_then(Value::as_str).unwrap_or_default();
    Ok(Turn::Done(text(format!("LLM response: {said}"))))
}

pub(crate) fn sampling(prompt: &str) -> Value {
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": prompt}}], "maxTokens": 100})
}

pub(crate) async fn elicit(
    context: &RequestContext<RoleServer>,
    brought: &Brought<'_>,
    message: &str,
    schema: &Value,
) -> Result<Turn, ErrorData> {
    let question = json!({"mode": "form", "message": message, "requestedSchema": schema});
    let reply = match context.meta.protocol_version() {
        Some(_) => match brought.answer("elicit") {
            Some(reply) => reply.clone(),
            None => {
                let request = json!({"elicit": {"method": "elicitation/create", "params": question}});
                return Ok(asks(&request, None));
            }
        },
        None => {
            let reply = context.peer.create_elicitation(typed(question)?).await.map_err(failed)?;
            serde_json::to_value(reply).map_err(failed)?
        }
    };
    let action = reply.get("action").and_then(Value::as_str).unwrap_or_default();
    let content = reply.get("content").cloned().unwrap_or_else(|| json!({}));
    Ok(Turn::Done(text(format!("Elicitation completed: action={action}, content={content}"))))
}

pub(crate) fn name_and_address() -> Value {
    json!({"type": "object", "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"}
    }, "required": ["username", "email"]})
}

pub(crate) fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Verification status", "default": true}
    }, "required": []})
}

pub(crate) fn choices() -> Value {
    let titled = |first: &str, second: &str, third: &str| json!([{"const": "value1", "title": first}, {"const": "value2", "title": second}, {"const": "value3", "title": third}]);
    let plain = json!(["option1", "option2", "option3"]);
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled("First Option", "Second Option", "Third Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("First Choice", "Second Choice", "Third Choice")}}
    }, "required": []})
}
