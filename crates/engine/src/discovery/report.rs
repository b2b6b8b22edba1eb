//! `list_available_toolsets`, `describe_toolset` and `search_tools`.

use serde_json::{Map, Value, json};
use toolcrib_contract::signature;

use super::{effect_class, tools, unknown};
use crate::answer::ToolResult;
use crate::caller::Caller;
use crate::engine::Engine;
use crate::entry::Entry;
use crate::tool::ToolError;
use crate::toolset::catalogue::Kit;

pub(super) fn toolsets(engine: &Engine, caller: &Caller<'_>) -> Result<ToolResult, ToolError> {
    let snapshot = engine.registry().load_full();
    let catalogue = &snapshot.catalogue;
    let standing = engine.standing(caller, catalogue);
    let mut text = String::new();
    let mut listed = Vec::new();
    for (at, kit) in catalogue.kits().iter().enumerate().filter(|(at, _)| standing.reach.has(*at)) {
        let (count, loaded) = (catalogue.count(kit, &standing), standing.loaded.has(at));
        let state = match (loaded, kit.always_loaded) {
            (_, true) => "always loaded",
            (true, _) => "loaded",
            (false, _) => "not loaded",
        };
        let dash = if kit.description.is_empty() { "" } else { ": " };
        text.push_str(&format!("- {} ({}, {state}){dash}{}\n", kit.name, tools(count), kit.description));
        listed.push(json!({
            "name": &*kit.name, "description": &*kit.description, "tool_count": count,
            "loaded": loaded, "always_loaded": kit.always_loaded}));
    }
    let entries = 0..catalogue.entries().len();
    let total = entries.filter(|at| catalogue.admits(*at, &standing.reach, standing.read_only)).count();
    text.push_str(&format!("{} in all.", tools(total)));
    Ok(ToolResult::text(text).with_structured(&json!({"toolsets": listed, "total_tools": total}))?)
}

pub(super) fn toolset(engine: &Engine, caller: &Caller<'_>, name: &str) -> Result<ToolResult, ToolError> {
    let snapshot = engine.registry().load_full();
    let catalogue = &snapshot.catalogue;
    let standing = engine.standing(caller, catalogue);
    let found = catalogue.find(name).filter(|at| standing.reach.has(*at));
    let Some((at, kit)) = found.and_then(|at| Some((at, catalogue.kits().get(at)?))) else {
        return Ok(unknown(name));
    };
    let loaded = standing.loaded.has(at);
    let mut text = format!("{} is {}loaded.\n", kit.name, if loaded { "" } else { "not " });
    let mut listed = Vec::new();
    for at in kit.members.iter().map(|at| *at as usize) {
        if !catalogue.admits(at, &standing.reach, standing.read_only) {
            continue;
        }
        let Some(entry) = catalogue.entry(at) else { continue };
        let definition = entry.contract().definition();
        let description = definition.description().unwrap_or_default();
        text.push_str(&format!("- {}: {}\n", signature(definition), first_line(&description)));
        listed.push(json!({
            "name": entry.name(), "description": description, "annotations": annotations(entry)}));
    }
    let structured =
        json!({"name": &*kit.name, "description": &*kit.description, "loaded": loaded, "tools": listed});
    Ok(ToolResult::text(text.trim_end()).with_structured(&structured)?)
}

pub(super) fn search(
    engine: &Engine,
    caller: &Caller<'_>,
    query: &str,
    limit: usize,
) -> Result<ToolResult, ToolError> {
    let snapshot = engine.registry().load_full();
    let catalogue = &snapshot.catalogue;
    let standing = engine.standing(caller, catalogue);
    let hits = catalogue
        .index()
        .search(query, limit, |at| catalogue.admits(at, &standing.reach, standing.read_only));
    let mut text = String::new();
    let mut listed = Vec::new();
    for hit in hits {
        let Some(entry) = catalogue.entry(hit.at) else { continue };
        let definition = entry.contract().definition();
        let description = definition.description().unwrap_or_default();
        let signature = signature(definition);
        let effect = effect_class(entry.judged().effect);
        // Of several toolsets, one that the caller has loaded is named first.
        let reachable = |kit: &&Kit| catalogue.find(&kit.name).is_some_and(|at| standing.reach.has(at));
        let loaded = |kit: &&Kit| catalogue.find(&kit.name).is_some_and(|at| standing.loaded.has(at));
        let kits = || catalogue.toolsets_of(hit.at).filter(reachable);
        let toolset = kits().find(loaded).or_else(|| kits().next()).map_or("", |kit| &*kit.name);
        let is_loaded = catalogue.admits(hit.at, &standing.loaded, standing.read_only);
        text.push_str(&format!("- {signature} [{toolset}, {effect}]: {}\n", first_line(&description)));
        listed.push(json!({
            "name": entry.name(), "signature": signature, "description": description,
            "toolset": toolset, "effect": effect, "loaded": is_loaded}));
    }
    if listed.is_empty() {
        text.push_str("No tool fits. Other words may help; list_available_toolsets shows what there is.");
    }
    let structured = json!({"tools": listed, "total_tools": catalogue.reachable_count(&standing)});
    Ok(ToolResult::text(text.trim_end()).with_structured(&structured)?)
}

/// Returns the annotations in their wire form.
fn annotations(entry: &Entry) -> Value {
    let wire = entry.contract().definition().wire_text();
    let whole: Value = serde_json::from_str(&wire).unwrap_or_default();
    whole.get("annotations").filter(|it| it.is_object()).cloned().unwrap_or_else(|| Value::Object(Map::new()))
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}
