//! Definitions of the discovery tools, which find, load and call other tools (R3.1); their answers are in
//! `discovery/`.
//!
//! They are ordinary contracts of toolset `discovery`: their arguments and answers are checked like any other's.
//! `call_tool` has no answer of its own: the view stage replaces it by the tool it names, and every later stage
//! judges that tool. Its own hints are therefore the worst case, or read-only in a read-only view.

pub(crate) mod enable;
mod report;

use serde_json::{Value, json};
use toolcrib_contract::json::Node;
use toolcrib_contract::{Definition, DefinitionError, Effect};

use crate::answer::{Answer, ToolResult};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::limits::SEARCH_RESULTS_MAX;
use crate::tool::ToolError;

/// Annotations of `call_tool` in a read-only view.
pub(crate) const CALL_READERS: &str =
    r#"{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":false,"openWorldHint":true}"#;

/// Discovery tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meta {
    List,
    Describe,
    Enable,
    Disable,
    Search,
    Call,
}

impl Meta {
    pub const ALL: [Self; 6] =
        [Self::List, Self::Describe, Self::Enable, Self::Disable, Self::Search, Self::Call];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list_available_toolsets",
            Self::Describe => "describe_toolset",
            Self::Enable => "enable_toolset",
            Self::Disable => "disable_toolset",
            Self::Search => "search_tools",
            Self::Call => "call_tool",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::List => {
                "Lists the toolsets of this server: what each is for, how many tools it has, whether it is loaded."
            }
            Self::Describe => {
                "Lists the tools of one toolset, loaded or not, with what they do to the world."
            }
            Self::Enable => "Loads a toolset, so that its tools appear in the tool list.",
            Self::Disable => "Unloads a toolset, so that its tools leave the tool list.",
            Self::Search => "Finds tools by what they do, also those that are not listed.",
            Self::Call => {
                "Calls a tool by name, also one that is not listed. It is checked and confirmed exactly like a direct \
                 call; search_tools and describe_toolset show which arguments it takes."
            }
        }
    }

    fn annotations(self) -> Value {
        match self {
            Self::List | Self::Describe | Self::Search => json!({
                "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
            Self::Enable | Self::Disable => json!({
                "readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
            Self::Call => json!({
                "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}),
        }
    }

    fn input(self) -> Value {
        let named = json!({"toolset_name": {"type": "string", "minLength": 1, "description": "As in list_available_toolsets"}});
        let (properties, required) = match self {
            Self::List => (json!({}), json!([])),
            Self::Describe | Self::Enable | Self::Disable => (named, json!(["toolset_name"])),
            Self::Search => (
                json!({
                    "query": {"type": "string", "minLength": 1, "maxLength": 1_000, "description": "What the tool should do, in plain words"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": SEARCH_RESULTS_MAX, "description": "At most so many results; 10 if absent"}}),
                json!(["query"]),
            ),
            Self::Call => (
                json!({
                    "name": {"type": "string", "minLength": 1, "description": "The tool's name"},
                    "arguments": {"type": "object", "description": "What the tool itself takes"}}),
                json!(["name"]),
            ),
        };
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    fn output(self) -> Value {
        let text = || json!({"type": "string"});
        let flag = || json!({"type": "boolean"});
        let count = || json!({"type": "integer", "minimum": 0});
        let object = |properties: Value| {
            let required: Vec<String> =
                properties.as_object().map(|members| members.keys().cloned().collect()).unwrap_or_default();
            json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
        };
        let list = |items: Value| json!({"type": "array", "items": items});
        match self {
            Self::List => object(json!({
                "toolsets": list(object(json!({
                    "name": text(), "description": text(), "tool_count": count(), "loaded": flag(), "always_loaded": flag()}))),
                "total_tools": count()})),
            Self::Describe => object(json!({
                "name": text(), "description": text(), "loaded": flag(),
                "tools": list(object(json!({"name": text(), "description": text(), "annotations": {"type": "object"}})))})),
            Self::Enable | Self::Disable => object(json!({
                "name": text(), "loaded": flag(), "changed": flag(), "tool_count": count()})),
            Self::Search => object(json!({
                "tools": list(object(json!({
                    "name": text(), "signature": text(), "description": text(), "toolset": text(),
                    "effect": {"enum": ["read_only", "write", "destructive"]}, "loaded": flag()}))),
                "total_tools": count()})),
            Self::Call => json!({
                "type": "object",
                "description": "The called tool's structured content; {\"result\": …} if that is no object, {\"text\": …} if it has none"}),
        }
    }

    /// Returns the definition to register.
    pub(crate) fn definition(self) -> Result<Definition, DefinitionError> {
        Definition::from_value(&json!({
            "name": self.name(),
            "description": self.description(),
            "inputSchema": self.input(),
            "outputSchema": self.output(),
            "annotations": self.annotations(),
        }))
    }
}

/// Answers a discovery tool. Never called for `call_tool`.
pub(crate) async fn answer(
    engine: &Engine,
    caller: &Caller<'_>,
    meta: Meta,
    arguments: Node<'_>,
) -> Result<Answer, ToolError> {
    let text = |name: &str| arguments.get(name).and_then(Node::as_str).unwrap_or_default().into_owned();
    let result = match meta {
        Meta::List => report::toolsets(engine, caller)?,
        Meta::Describe => report::toolset(engine, caller, &text("toolset_name"))?,
        Meta::Search => {
            let limit = arguments.get("limit").and_then(Node::as_u64).unwrap_or(10);
            report::search(
                engine,
                caller,
                &text("query"),
                usize::try_from(limit).unwrap_or(SEARCH_RESULTS_MAX),
            )?
        }
        Meta::Enable => enable::change(engine, caller, &text("toolset_name"), true).await?,
        Meta::Disable => enable::change(engine, caller, &text("toolset_name"), false).await?,
        Meta::Call => return Err(ToolError::new("call_tool was given no tool to call.")),
    };
    Ok(result.into())
}

/// Returns the answer for a toolset that does not exist or that this caller cannot reach.
fn unknown(name: &str) -> ToolResult {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    ToolResult::error(format!(
        "There is no toolset {shown:?}. Call list_available_toolsets to see which there are."
    ))
}

/// Returns the effect of a call as one word.
pub(crate) fn effect_class(effect: Effect) -> &'static str {
    match effect {
        Effect { read_only: true, .. } => "read_only",
        Effect { destructive: true, .. } => "destructive",
        _ => "write",
    }
}

/// Formats a count: `1 tool`, `2 tools`.
fn tools(count: usize) -> String {
    if count == 1 { "1 tool".to_owned() } else { format!("{count} tools") }
}
