//! Safety tools, in toolset `discovery`: tokens for destructive calls (R4.1), and the emergency stop (R4.7).

use serde_json::{Value, json};
use toolcrib_contract::json::Node;
use toolcrib_contract::{Definition, DefinitionError};

use super::keep::Scope;
use super::mint::{MintError, Wish};
use super::policy::{Demand, Judged};
use super::ticket::Issuer;
use super::{Safety, Who};
use crate::answer::{Answer, ToolResult};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::limits::SUMMARY_CHARS_MAX;
use crate::tool::ToolError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SafetyTool {
    Token,
    Stop,
    Unlock,
    Status,
}

impl SafetyTool {
    pub const ALL: [Self; 4] = [Self::Token, Self::Stop, Self::Unlock, Self::Status];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Token => "get_confirmation_token",
            Self::Stop => "emergency_stop",
            Self::Unlock => "emergency_unlock",
            Self::Status => "emergency_status",
        }
    }

    /// Returns true if the tool works during an emergency stop.
    #[must_use]
    pub const fn works_when_stopped(self) -> bool {
        !matches!(self, Self::Token)
    }

    /// Returns the fixed judgement of the tool, which the policy cannot change: unlocking takes a person.
    pub(crate) fn judged(self, mut judged: Judged) -> Judged {
        let (demand, rule) = match self {
            Self::Unlock => (Demand::Human, "human for emergency_unlock"),
            _ => (Demand::Never, "never for safety tools"),
        };
        (judged.demand, judged.rule) = (demand, rule.into());
        judged
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Token => {
                "Gives a token that confirms one call of a destructive tool. Say in params_summary what the call will \
                 do, show it to the person, then call the tool with the token as confirmation_token. Give the call's \
                 arguments too, and the token is good for exactly those."
            }
            Self::Stop => {
                "Stops every tool of this server at once, for everybody, until an operator unlocks it. For emergencies."
            }
            Self::Unlock => {
                "Asks an operator to lift the emergency stop. The call waits for the operator's approval."
            }
            Self::Status => "Says whether the emergency stop is in force, since when and why.",
        }
    }

    fn annotations(self) -> Value {
        let (read_only, destructive, idempotent) = match self {
            Self::Token => (true, false, false),
            Self::Stop => (false, false, true),
            Self::Unlock => (false, true, true),
            Self::Status => (true, false, true),
        };
        json!({"readOnlyHint": read_only, "destructiveHint": destructive, "idempotentHint": idempotent, "openWorldHint": false})
    }

    fn input(self) -> Value {
        let (properties, required) = match self {
            Self::Token => (
                json!({
                    "action": {"type": "string", "minLength": 1, "description": "The name of the destructive tool"},
                    "params_summary": {"type": "string", "minLength": 1, "maxLength": SUMMARY_CHARS_MAX,
                        "description": "What the call will do and to what, in a sentence a person understands"},
                    "arguments": {"type": "object", "description": "Exactly the arguments that the call will have"}}),
                json!(["action", "params_summary"]),
            ),
            Self::Stop => (
                json!({"reason": {"type": "string", "minLength": 1, "maxLength": SUMMARY_CHARS_MAX, "description": "Why"}}),
                json!(["reason"]),
            ),
            // Only the queue clears it, so the property for the handle is always advertised.
            Self::Unlock => (
                json!({"confirmation_token": {"type": "string", "description": "The handle of the operator's approval"}}),
                json!([]),
            ),
            Self::Status => (json!({}), json!([])),
        };
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    fn output(self) -> Value {
        let (properties, required) = match self {
            Self::Token => (
                json!({"token": {"type": "string"}, "action": {"type": "string"}, "params_summary": {"type": "string"},
                    "expires_in_seconds": {"type": "integer"}, "instruction": {"type": "string"}}),
                json!(["token", "action", "params_summary", "expires_in_seconds", "instruction"]),
            ),
            Self::Stop | Self::Unlock | Self::Status => (
                json!({"stopped": {"type": "boolean"}, "stops": {"type": "array", "items": {"type": "object",
                    "properties": {"caller": {"type": ["string", "null"]}, "who": {"type": "string"},
                        "by": {"type": "string"}, "reason": {"type": "string"}, "since_ms": {"type": "integer"},
                        "expires_ms": {"type": ["integer", "null"]}},
                    "required": ["caller", "who", "by", "reason", "since_ms"]}}}),
                json!(["stopped", "stops"]),
            ),
        };
        json!({"type": "object", "properties": properties, "required": required})
    }

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

/// Answers a safety tool.
pub(crate) async fn answer(
    engine: &Engine,
    caller: &Caller<'_>,
    tool: SafetyTool,
    arguments: Node<'_>,
) -> Result<Answer, ToolError> {
    let Some(safety) = engine.safety() else { return Err(ToolError::new("Safety is not switched on.")) };
    let text = |name: &str| arguments.get(name).and_then(Node::as_str).unwrap_or_default().into_owned();
    let who = Who::of(caller);
    let result = match tool {
        SafetyTool::Token => {
            token(
                engine,
                safety,
                caller,
                &who,
                &text("action"),
                &text("params_summary"),
                arguments.get("arguments"),
            )
            .await?
        }
        SafetyTool::Stop => {
            let line = match safety.stop(Scope::Everybody, &who.caller, &text("reason")).await {
                Ok(held) => {
                    let unlock = safety.command(&Scope::Everybody.unlock());
                    let warning =
                        held.warning().map(|warning| format!(" Warning: {warning}. Tell the person."));
                    let warning = warning.unwrap_or_default();
                    format!("Stopped. Only an operator can unlock: `{unlock}`, or REST.{warning}")
                }
                Err(error) => {
                    tracing::error!(target: "toolcrib", "a stop is in force but not kept: {error}");
                    format!(
                        "Stopped in this process, but the stop could not be written ({error}): other processes of the \
                         data folder are NOT stopped, and a restart forgets it. It is tried again until it is written."
                    )
                }
            };
            status(safety, &who, &line)?
        }
        SafetyTool::Unlock => {
            // The gate let it pass, so an operator approved exactly this call.
            let own = Scope::of(&who.user.share);
            for scope in [Scope::Everybody, Scope::Caller(who.caller.clone()), own] {
                safety.unlock(scope, "operator, by approval").await?;
            }
            status(safety, &who, "Unlocked.")?
        }
        SafetyTool::Status => {
            let stop = safety.stops().of(&caller.principal, &who.user.share, safety.now_ms());
            let line = match stop {
                Some(_) => "Stopped.",
                None if safety.stops().any() => "Not stopped; another caller is.",
                None => "Not stopped.",
            };
            status(safety, &who, line)?
        }
    };
    Ok(result.into())
}

async fn token(
    engine: &Engine,
    safety: &Safety,
    caller: &Caller<'_>,
    who: &Who,
    action: &str,
    summary: &str,
    arguments: Option<Node<'_>>,
) -> Result<ToolResult, ToolError> {
    let Some(entry) = engine.reachable(caller, action) else {
        let shown: String = action.chars().filter(|c| !c.is_control()).take(80).collect();
        return Ok(ToolResult::error(format!(
            "There is no tool {shown:?} that you can call. Give the name of a destructive tool from the tool list as action."
        )));
    };
    let wish = Wish { who, entry: &entry, summary, arguments, issuer: Issuer::Caller };
    let minted = match safety.mint(wish).await {
        Ok(minted) => minted,
        Err(error @ (MintError::NoRandomness(_) | MintError::Unkept(_))) => return Err(error.into()),
        Err(error) => {
            let mut text = error.to_string();
            // The first letter becomes a capital, unless the sentence begins with the tool's name.
            let first = text.get(..1).filter(|_| !text.starts_with(action)).map(str::to_uppercase);
            if let Some(first) = first {
                text.replace_range(..1, &first);
            }
            return Ok(ToolResult::error(format!("{text}.")));
        }
    };
    let seconds = minted.expires_in_ms / 1_000;
    let same = if arguments.is_some() { "exactly these arguments" } else { "its arguments" };
    let mut instruction = format!(
        "Call {action} with {same} and confirmation_token set to this token, within {seconds} seconds. It works once. \
         It does not prove that a person agreed: show params_summary to the person first."
    );
    if entry.judged().demand == Demand::Never
        || (entry.judged().demand == Demand::Unaware && safety.trusts(caller))
    {
        instruction.push_str(" Here it is informational: the call passes without it.");
    }
    let structured = json!({"token": minted.secret.as_str(), "action": action, "params_summary": summary,
        "expires_in_seconds": seconds, "instruction": instruction});
    Ok(ToolResult::structured(&structured)?)
}

fn status(safety: &Safety, who: &Who, line: &str) -> Result<ToolResult, ToolError> {
    let shown = safety.stops().shown(safety.now_ms(), |scope| who.is_within(scope));
    Ok(ToolResult::text(line).with_structured(&shown)?)
}
