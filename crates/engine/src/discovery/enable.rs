//! Loading and unloading a toolset: in a legacy client's session, or in a modern principal's profile.
//!
//! Guarantees: never for anybody else. Refuses, with a way out, where it could not take effect: a client that does not
//! list again, a request that stands alone, a modern caller whose operator keeps profiles as they are.

use serde_json::json;

use super::{report, tools, unknown};
use crate::answer::ToolResult;
use crate::caller::Caller;
use crate::engine::Engine;
use crate::hub::Change;
use crate::peer::Peer;
use crate::principal::Principal;
use crate::tool::ToolError;
use crate::toolset::profile::Enabled;

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
    let count = report::count(catalogue, kit, &standing);
    let said = |text: String, changed: bool| -> Result<ToolResult, ToolError> {
        let structured = json!({"name": name, "loaded": load, "changed": changed, "tool_count": count});
        Ok(ToolResult::text(text).with_structured(&structured)?)
    };
    if standing.loaded.has(at) == load {
        let state = if load { "loaded already" } else { "not loaded" };
        return said(format!("Toolset {name:?} is {state}; it has {}.", tools(count)), false);
    }
    if let Some(refusal) = refuse(engine, caller, name) {
        return Ok(refusal);
    }
    let kits = catalogue.kits().iter().enumerate();
    let mut enabled: Enabled = kits
        .filter(|(other, kit)| !kit.always_loaded && *other != at && standing.loaded.has(*other))
        .map(|(_, kit)| kit.name.clone())
        .collect();
    if load {
        enabled.insert(kit.name.clone());
    }
    let done = if load { "loaded" } else { "unloaded" };
    match &caller.peer {
        Peer::Legacy(session) => {
            session.set_enabled(enabled);
            session.news().offer(&Change::Tools);
            said(format!("Toolset {name:?} is {done}: {}.", tools(count)), true)
        }
        Peer::Modern(_) => {
            engine.options().toolsets.profiles.put(&caller.principal, enabled).await?;
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

/// Why the list cannot change, and what can be done instead.
fn refuse(engine: &Engine, caller: &Caller<'_>, name: &str) -> Option<ToolResult> {
    let instead = format!("Restart the server with `--toolsets {name}`, or use call_tool for a single call.");
    let why = match &caller.peer {
        Peer::Legacy(session) if !session.is_lasting() => {
            "This request stands alone: without a session nothing can be loaded for it.".to_owned()
        }
        Peer::Modern(_) if !engine.options().toolsets.profiles_change => format!(
            "In this protocol version a tool list does not change because of a call, and this server keeps profiles \
             as they are. Connect to `?toolsets={name}` or send `X-MCP-Toolsets: {name}`."
        ),
        Peer::Modern(_) if caller.principal == Principal::Anonymous => format!(
            "Without a credential there is no profile to change. Connect to `?toolsets={name}` or send \
             `X-MCP-Toolsets: {name}`."
        ),
        _ => {
            let judged = engine.client_mode(caller);
            if judged.mode.relists() {
                return None;
            }
            format!("This client does not read its tool list again ({judged}).")
        }
    };
    Some(ToolResult::error(format!("{why} {instead}")))
}
