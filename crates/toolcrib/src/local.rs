//! In-process calls: a process calls its own server, through the same stages as any client.
//!
//! The call is a modern request of the principal `local`. Questions in mid-call (the gate's for a confirmation, a
//! tool's or an upstream server's for input) are answered by a callback of the process, and the call goes on with the
//! answers, at most [`LOCAL_ROUNDS_MAX`] times.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolcrib_contract::json::{Document, Limits};
use toolcrib_engine::stage::caller;
use toolcrib_engine::{Approach, Exchange, Names, Principal, Selection};
use toolcrib_protocol::{Frame, Revision, meta};

use crate::limits::LOCAL_ROUNDS_MAX;
use crate::server::Server;

/// Error of an in-process call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct CallError {
    pub code: i64,
    pub message: String,
}

/// Client data that a process gives for itself.
#[derive(Debug, Clone, Default)]
pub struct LocalClient {
    /// Client name, as in `clientInfo`; `None` sends none.
    pub name: Option<String>,
    /// Client capabilities for questions that can be answered, as MCP declares them, such as `{"elicitation": {}}`.
    pub capabilities: Map<String, Value>,
}

/// Question that a call asks before it goes on.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Key of the question among those of this call.
    pub key: &'a str,
    /// Method, such as `elicitation/create`.
    pub method: &'a str,
    pub params: &'a Value,
}

/// Sealed state and answers for the next round of a call.
#[derive(Debug, Default)]
struct Brought {
    state: Option<Value>,
    answers: Map<String, Value>,
}

impl Server {
    /// Calls a tool in this process, through the same checks as any client; returns the MCP result. Every question is
    /// declined.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<Value, CallError> {
        let nobody = async |_: Asked<'_>| json!({"action": "decline"});
        self.call_asking(&LocalClient::default(), name, arguments, nobody).await
    }

    /// Calls a tool, with a callback that answers questions in mid-call. `answer` returns the result that a client
    /// would send, such as `{"action": "accept", "content": {…}}`.
    pub async fn call_asking(
        &self,
        client: &LocalClient,
        name: &str,
        arguments: Value,
        mut answer: impl AsyncFnMut(Asked<'_>) -> Value,
    ) -> Result<Value, CallError> {
        let mut brought = Brought::default();
        for _ in 0..=LOCAL_ROUNDS_MAX {
            let mut result = self.round(client, name, &arguments, &brought).await?;
            if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
                return Ok(result);
            }
            let questions = result.get_mut("inputRequests").map_or(Value::Null, Value::take);
            let mut answers = Map::new();
            for (key, question) in questions.as_object().into_iter().flatten() {
                let method = question.get("method").and_then(Value::as_str).unwrap_or_default();
                let params = question.get("params").unwrap_or(&Value::Null);
                answers.insert(key.clone(), answer(Asked { key, method, params }).await);
            }
            brought = Brought { state: result.get_mut("requestState").map(Value::take), answers };
        }
        Err(failed(&format!("LOCAL_ROUNDS_MAX: the call asked more than {LOCAL_ROUNDS_MAX} times")))
    }

    /// Sends one request and returns its result.
    async fn round(
        &self,
        client: &LocalClient,
        name: &str,
        arguments: &Value,
        brought: &Brought,
    ) -> Result<Value, CallError> {
        let mut about = json!({meta::PROTOCOL_VERSION: Revision::FIRST_MODERN.as_str(),
            meta::CLIENT_CAPABILITIES: client.capabilities});
        if let (Some(name), Some(members)) = (&client.name, about.as_object_mut()) {
            let info = json!({"name": name, "version": env!("CARGO_PKG_VERSION")});
            members.insert(meta::CLIENT_INFO.to_owned(), info);
        }
        let mut params = json!({"name": name, "arguments": arguments, "_meta": about});
        if let (Some(state), Some(members)) = (&brought.state, params.as_object_mut()) {
            members.insert("requestState".to_owned(), state.clone());
            members.insert("inputResponses".to_owned(), Value::Object(brought.answers.clone()));
        }
        let text = json!({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": params}).to_string();
        let document = Document::parse(text.as_bytes(), &Limits::message())
            .map_err(|error| failed(&error.to_string()))?;
        let Ok(Frame::Request(request)) = Frame::read(document.root()) else {
            return Err(failed("the call could not be written"));
        };
        let reply = match caller::modern(Principal::Local, None, &request, Exchange::silent()) {
            // The process may use all that the operator allows, not only the toolsets loaded at the start.
            Ok(caller) => self.engine().request(&caller.by(self.whole()), &request).await,
            Err(refusal) => self.engine().rescue(Revision::FIRST_MODERN, &request, refusal),
        };
        let mut answer: Value = serde_json::from_slice(&reply.payload.into_bytes())
            .map_err(|error| failed(&error.to_string()))?;
        match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(CallError {
                code: answer.pointer("/error/code").and_then(Value::as_i64).unwrap_or(-32603),
                message: answer
                    .pointer("/error/message")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
            }),
        }
    }

    /// Returns an approach that selects every toolset.
    fn whole(&self) -> Arc<Approach> {
        if !self.engine().toolsets().is_on() {
            return Arc::default();
        }
        let selection = Selection { toolsets: Some(Names::All), read_only: false };
        Arc::new(Approach { selection, user_agent: None })
    }
}

fn failed(message: &str) -> CallError {
    CallError { code: -32603, message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use toolcrib_engine::{Context, ToolError};

    use super::*;

    fn able() -> LocalClient {
        let capabilities = json!({"elicitation": {}}).as_object().cloned().unwrap_or_default();
        LocalClient { name: Some("test".to_owned()), capabilities }
    }

    fn server() -> Server {
        let server = Server::new("asks", "1").unwrap();
        let schema = json!({"type": "object", "properties": {"times": {"type": "integer"}}});
        let ask = |arguments: Value, context: Context| async move {
            let form = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
            let times = arguments["times"].as_u64().unwrap_or_default();
            for number in 0..times {
                context.elicit(&format!("q{number}"), "A number?", &form).await?;
            }
            Ok::<_, ToolError>(format!("asked {times} times"))
        };
        server.register("ask", "Asks", schema, ask).unwrap();
        server
    }

    /// R12.3: a process that calls its own server answers the questions of the call.
    #[tokio::test]
    async fn a_question_in_mid_call_is_answered_by_the_process() {
        let mut keys = Vec::new();
        let answer = async |asked: Asked<'_>| {
            keys.push(asked.key.to_owned());
            assert_eq!((asked.method, &asked.params["message"]), ("elicitation/create", &json!("A number?")));
            json!({"action": "accept", "content": {"n": 1}})
        };
        let result = server().call_asking(&able(), "ask", json!({"times": 2}), answer).await.unwrap();
        assert_eq!(result["content"][0]["text"], "asked 2 times", "{result}");
        assert_eq!(keys, ["q0", "q1"]);
    }

    /// `LOCAL_ROUNDS_MAX`: a call that asks without end fails with the limit's name.
    #[tokio::test]
    async fn a_call_that_asks_over_local_rounds_max_times_is_given_up() {
        async fn one(_: Asked<'_>) -> Value {
            json!({"action": "accept", "content": {"n": 1}})
        }
        let most = json!({"times": LOCAL_ROUNDS_MAX});
        assert!(server().call_asking(&able(), "ask", most, one).await.is_ok());
        let more = json!({"times": LOCAL_ROUNDS_MAX + 1});
        let error = server().call_asking(&able(), "ask", more, one).await.unwrap_err();
        assert!(error.message.starts_with("LOCAL_ROUNDS_MAX"), "{error}");
    }
}
