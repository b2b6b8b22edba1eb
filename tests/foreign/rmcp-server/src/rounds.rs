//! Calls that take several rounds with a modern client.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use rmcp::ErrorData;
use rmcp::model::ClientCapabilities;
use serde_json::{Value, json};

use crate::asking::sampling;
use crate::content::text;

/// Outcome of a round.
pub(crate) enum Turn {
    Done(Value),
    Asks(Value),
}

/// Answers and state that the client sent with its retry.
pub(crate) struct Brought<'a> {
    pub(crate) answers: Option<&'a BTreeMap<String, Value>>,
    pub(crate) state: Option<&'a str>,
}

impl Brought<'_> {
    pub(crate) fn answer(&self, key: &str) -> Option<&Value> {
        self.answers?.get(key)
    }

    /// A field of a form that was accepted.
    fn accepted(&self, key: &str, field: &str) -> Option<String> {
        let answer =
            self.answer(key).filter(|answer| answer.get("action").is_some_and(|it| it == "accept"))?;
        Some(answer.get("content")?.get(field)?.as_str()?.to_owned())
    }
}

/// States that were given out, and what they stand for. A state that is not here was made up.
#[derive(Default)]
pub(crate) struct States(Mutex<(u64, HashMap<String, String>)>);

impl States {
    fn give(&self, about: &str) -> Result<String, ErrorData> {
        let mut held = self.0.lock().map_err(crate::fixture::failed)?;
        held.0 += 1;
        let state = format!("state-{}-{:x}", held.0, held.0.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        held.1.insert(state.clone(), about.to_owned());
        Ok(state)
    }

    fn known(&self, state: Option<&str>) -> Result<Option<String>, ErrorData> {
        let Some(state) = state else { return Ok(None) };
        let held = self.0.lock().map_err(crate::fixture::failed)?;
        let about = held.1.get(state).cloned();
        about.map(Some).ok_or_else(|| ErrorData::invalid_params("requestState is not valid", None))
    }
}

fn form(message: &str, field: &str, kind: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message,
        "requestedSchema": {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}}})
}

pub(crate) fn sample(prompt: &str) -> Value {
    json!({"method": "sampling/createMessage", "params": sampling(prompt)})
}

pub(crate) fn asks(requests: &Value, state: Option<String>) -> Turn {
    let mut result = json!({"resultType": "input_required", "inputRequests": requests});
    if let (Some(state), Some(members)) = (state, result.as_object_mut()) {
        members.insert("requestState".to_owned(), json!(state));
    }
    Turn::Asks(result)
}

/// One round of a tool; `None` if it is no tool of this kind.
pub(crate) fn call(
    name: &str,
    brought: &Brought<'_>,
    capabilities: Option<&ClientCapabilities>,
    states: &States,
) -> Result<Option<Turn>, ErrorData> {
    let roots = json!({"method": "roots/list", "params": {}});
    Ok(Some(match name {
        "test_input_required_result_elicitation" | "test_input_required_result_validate_input" => {
            match brought.accepted("user_name", "name") {
                Some(name) => Turn::Done(text(format!("Hello, {name}!"))),
                None => asks(&json!({"user_name": form("What is your name?", "name", "string")}), None),
            }
        }
        "test_input_required_result_sampling" => match brought.answer("capital_question") {
            Some(answer) => {
                Turn::Done(text(answer.pointer("/content/text").and_then(Value::as_str).unwrap_or("no text")))
            }
            None => asks(&json!({"capital_question": sample("What is the capital of France?")}), None),
        },
        "test_input_required_result_list_roots" => match brought.answer("client_roots") {
            Some(answer) => Turn::Done(text(format!("Roots: {answer}"))),
            None => asks(&json!({"client_roots": roots}), None),
        },
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            let known = states.known(brought.state)?;
            match brought.answer("confirm") {
                Some(_) if known.as_deref() == Some(name) => Turn::Done(text("state-ok")),
                _ => asks(
                    &json!({"confirm": form("Please confirm", "ok", "boolean")}),
                    Some(states.give(name)?),
                ),
            }
        }
        "test_input_required_result_multiple_inputs" => {
            let known = states.known(brought.state)?;
            match brought.answers {
                Some(answers) if known.is_some() && answers.len() >= 3 => {
                    Turn::Done(text(json!(answers).to_string()))
                }
                _ => {
                    let requests = json!({"user_name": form("What is your name?", "name", "string"),
                        "greeting": sample("Generate a greeting"), "client_roots": roots});
                    asks(&requests, Some(states.give(name)?))
                }
            }
        }
        "test_input_required_result_multi_round" => {
            let known = states.known(brought.state)?;
            let first = known.as_deref().and_then(|known| known.strip_prefix("step2 of "));
            match (first, brought.accepted("step1", "name"), brought.accepted("step2", "color")) {
                (Some(first), _, Some(color)) => Turn::Done(text(format!("{first} likes {color}"))),
                (_, Some(first), _) => {
                    let request =
                        json!({"step2": form("Step 2: What is your favorite color?", "color", "string")});
                    asks(&request, Some(states.give(&format!("step2 of {first}"))?))
                }
                _ => {
                    let request = json!({"step1": form("Step 1: What is your name?", "name", "string")});
                    asks(&request, Some(states.give("step1")?))
                }
            }
        }
        "test_input_required_result_capabilities" => {
            if brought.answers.is_some() {
                return Ok(Some(Turn::Done(text("Answered"))));
            }
            let mut requests = serde_json::Map::new();
            if capabilities.is_some_and(|all| all.sampling.is_some()) {
                requests.insert("sample".to_owned(), sample("Say hello"));
            }
            if capabilities.is_some_and(|all| all.elicitation.is_some()) {
                requests.insert("user_name".to_owned(), form("What is your name?", "name", "string"));
            }
            if requests.is_empty() {
                Turn::Done(text("0 answers"))
            } else {
                asks(&Value::Object(requests), None)
            }
        }
        "test_streaming_elicitation" => match brought.answer("go_on") {
            Some(_) => Turn::Done(text("Went on")),
            None => asks(&json!({"go_on": form("Go on?", "ok", "boolean")}), None),
        },
        _ => return Ok(None),
    }))
}

/// One round of the prompt that asks first.
pub(crate) fn prompt(brought: &Brought<'_>) -> Turn {
    match brought.accepted("user_context", "context") {
        Some(context) => Turn::Done(json!({"messages": [{"role": "user",
            "content": {"type": "text", "text": format!("Use this context: {context}")}}]})),
        None => asks(
            &json!({"user_context": form("What context should the prompt use?", "context", "string")}),
            None,
        ),
    }
}
