//! `enable_toolset` and `disable_toolset`: loading and unloading a toolset, in a legacy client's session or a modern
//! principal's profile.
//!
//! Guarantees: only the caller's own view changes. Refuses, with an alternative, a change that could not take effect:
//! for a client that does not re-list, for a request without a session, and for a modern caller whose profile calls
//! cannot change.

use serde_json::json;

use super::{tools, unknown};
use crate::answer::ToolResult;
use crate::caller::Caller;
use crate::engine::Engine;
use crate::hub::{Batch, Change};
use crate::peer::Peer;
use crate::principal::Principal;
use crate::session::Session;
use crate::tool::ToolError;
use crate::toolset::profile::{Enabled, Step};

pub(super) async fn change(
    engine: &Engine,
    caller: &Caller<'_>,
    name: &str,
    load: bool,
) -> Result<ToolResult, ToolError> {
    let snapshot = engine.registry().load_full();
    let catalogue = &snapshot.catalogue;
    let standing = engine.standing(caller, catalogue);
    let found = catalogue.find(name).filter(|at| standing.reach.has(*at));
    let Some((at, kit)) = found.and_then(|at| Some((at, catalogue.kits().get(at)?))) else {
        return Ok(unknown(name));
    };
    if kit.always_loaded && !load {
        return Ok(ToolResult::error(format!("Toolset {name:?} is always loaded and cannot be disabled.")));
    }
    let count = catalogue.count(kit, &standing);
    let said = |text: String, changed: bool| -> Result<ToolResult, ToolError> {
        let structured = json!({"name": name, "loaded": load, "changed": changed, "tool_count": count});
        Ok(ToolResult::text(text).with_structured(&structured)?)
    };
    if standing.loaded.has(at) == load {
        let state = if load { "loaded already" } else { "not loaded" };
        return said(format!("Toolset {name:?} is {state}; it has {}.", tools(count)), false);
    }
    if let Some(why) = obstacle(engine, caller, name) {
        return Ok(ToolResult::error(why));
    }
    let kits = catalogue.kits().iter().enumerate();
    let start: Enabled = kits
        .filter(|(other, kit)| !kit.always_loaded && standing.loaded.has(*other))
        .map(|(_, kit)| kit.name.clone())
        .collect();
    let step = Step { toolset: kit.name.clone(), load };
    let done = if load { "loaded" } else { "unloaded" };
    match &caller.peer {
        Peer::Legacy(session) => {
            session.change_enabled(start, &step);
            tell(engine, caller, session);
            said(format!("Toolset {name:?} is {done}: {}.", tools(count)), true)
        }
        Peer::Modern(_) => {
            catalogue.options().profiles.change(&caller.principal, start, step).await?;
            engine.hub().publish(&Change::Tools);
            said(
                format!(
                    "Toolset {name:?} is {done} in your profile: {}. List the tools again.",
                    tools(count)
                ),
                true,
            )
        }
    }
}

/// Sends `list_changed` on the session's own stream, or on this call's stream if the session has none.
fn tell(engine: &Engine, caller: &Caller<'_>, session: &Session) {
    if session.is_hearing() || !caller.exchange.streams() {
        session.news().offer(&Change::Tools);
        return;
    }
    let batch = Batch { tools: session.sees(engine.view_of(caller).fingerprint()), ..Batch::default() };
    for message in batch.messages(None) {
        if caller.exchange.send(message).is_ok() {
            session.tell_changed();
        }
    }
}

/// Returns why a call cannot change this caller's list and what to do instead; `None` if it can.
pub(crate) fn obstacle(engine: &Engine, caller: &Caller<'_>, name: &str) -> Option<String> {
    let toolsets = engine.toolsets();
    let address = format!("Connect to `?toolsets={name}` or send `X-MCP-Toolsets: {name}`.");
    let why = match &caller.peer {
        Peer::Legacy(session) if !session.is_lasting() => {
            "This request stands alone: without a session nothing can be loaded for it.".to_owned()
        }
        Peer::Modern(_) if caller.approach().selection.toolsets.is_some() => format!(
            "In this protocol version the address and headers of a request choose its toolsets, and these chose \
             already. {address}"
        ),
        Peer::Modern(_) if !toolsets.profiles_change => format!(
            "In this protocol version a tool list does not change because of a call, and this server keeps profiles \
             as they are. {address}"
        ),
        Peer::Modern(_) if caller.principal == Principal::Anonymous => {
            format!("Without a credential there is no profile to change. {address}")
        }
        _ => {
            let judged = engine.client_mode(caller);
            if judged.mode.relists() {
                return None;
            }
            format!("This client does not read its tool list again ({judged}).")
        }
    };
    Some(format!("{why} Restart the server with `--toolsets {name}`, or use call_tool for a single call."))
}
