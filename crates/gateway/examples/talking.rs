//! MCP server over stdio for tests that asks its client questions while it handles a request.
//!
//! In `tools/call`, `prompts/get` and `resources/read` it asks for a form, a completion or the roots, by the name of
//! the requested item; the result contains the answer unchanged. Its tool `grow` extends its list and announces it,
//! `log` logs at two levels, `wait` never answers and records its cancellation in a file.
//!
//! `talking legacy` asks by requests of its own. `talking modern` answers `input_required`; `talking forever` does so
//! after every answer. `talking picky` refuses the version of the first request. `talking both` speaks both eras but
//! asks only in the legacy way, which it tells modern callers.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a server for tests"
)]

use std::collections::HashMap;
use std::io::BufRead as _;

use serde_json::{Value, json};

const KINDS: [&str; 3] = ["elicitation", "sampling", "roots"];

fn main() {
    let manner = std::env::args().nth(1).unwrap_or_default();
    let mut talker = Talker { manner, waiting: HashMap::new(), grown: 0, is_asked: false, listener: None };
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap_or_default()) else { continue };
        talker.hear(&message);
    }
}

struct Talker {
    manner: String,
    /// Id of our question to the request that it belongs to.
    waiting: HashMap<String, (Value, String)>,
    grown: usize,
    is_asked: bool,
    /// Request that listens for changes.
    listener: Option<Value>,
}

impl Talker {
    fn hear(&mut self, message: &Value) {
        let id = message["id"].clone();
        let Some(method) = message["method"].as_str() else {
            // An answer to a question: the request can be answered now.
            if let Some((request, method)) = id.as_str().and_then(|id| self.waiting.remove(id)) {
                let result = result(&method, &message["result"].to_string());
                say(&json!({"jsonrpc": "2.0", "id": request, "result": result}));
            }
            return;
        };
        if method == "notifications/cancelled"
            && let Ok(mark) = std::env::var("TALKING_MARK")
        {
            std::fs::write(mark, message["params"]["requestId"].to_string()).unwrap();
        }
        let is_modern = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion").is_some();
        let Some(mut answer) = self.answer(method, message, is_modern) else { return };
        if answer.get("code").is_some() {
            return say(&json!({"jsonrpc": "2.0", "id": id, "error": answer}));
        }
        if is_modern && answer.get("resultType").is_none() {
            answer["resultType"] = json!("complete");
            (answer["ttlMs"], answer["cacheScope"]) = (json!(0), json!("private"));
        }
        say(&json!({"jsonrpc": "2.0", "id": id, "result": answer}));
    }

    /// Returns the answer; `None` if there is none yet.
    fn answer(&mut self, method: &str, message: &Value, is_modern: bool) -> Option<Value> {
        let id = message["id"].clone();
        let (speaks_modern, speaks_legacy) =
            (self.manner != "legacy", !["modern", "forever", "picky"].contains(&self.manner.as_str()));
        Some(match method {
            // Its first answer is an error that lists the versions which it supports.
            "server/discover" if self.manner == "picky" && !std::mem::replace(&mut self.is_asked, true) => {
                json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"], "requested": "x"}})
            }
            "server/discover" if speaks_modern => {
                json!({"supportedVersions": ["2026-07-28"], "capabilities": capabilities()})
            }
            "initialize" if speaks_legacy => json!({"protocolVersion": message["params"]["protocolVersion"],
                "capabilities": capabilities(), "serverInfo": {"name": "talking", "version": "1"}}),
            "tools/list" => {
                let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
                let grown = (0..self.grown).map(|number| format!("grown_{number}"));
                let names =
                    KINDS.iter().chain(&["grow", "log", "wait"]).map(|name| (*name).to_owned()).chain(grown);
                json!({"tools": names.map(|name| tool(&name)).collect::<Vec<_>>()})
            }
            "prompts/list" => json!({"prompts": KINDS.map(|kind| json!({"name": kind}))}),
            "resources/list" => {
                json!({"resources": KINDS.map(|kind| json!({"uri": format!("ask://{kind}"), "name": kind}))})
            }
            "resources/templates/list" => json!({"resourceTemplates": []}),
            "logging/setLevel" | "ping" => json!({}),
            "subscriptions/listen" => {
                say(
                    &json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
                    "notifications": {"toolsListChanged": true}, "_meta": {"io.modelcontextprotocol/subscriptionId": id}}}),
                );
                self.listener = Some(id);
                return None;
            }
            "tools/call" if message["params"]["name"] == "grow" => {
                self.grown += 1;
                let mut params = json!({});
                if let Some(listener) = &self.listener {
                    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": listener});
                }
                say(
                    &json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": params}),
                );
                result(method, "grown")
            }
            "tools/call" if message["params"]["name"] == "log" => {
                for level in ["debug", "error"] {
                    say(&json!({"jsonrpc": "2.0", "method": "notifications/message",
                        "params": {"level": level, "data": format!("at {level}")}}));
                }
                result(method, "logged")
            }
            "tools/call" if message["params"]["name"] == "wait" => return None,
            "tools/call" | "prompts/get" | "resources/read" => return self.ask(method, message, is_modern),
            _ if id.is_null() => return None,
            other => json!({"code": -32601, "message": format!("no {other}")}),
        })
    }

    fn ask(&mut self, method: &str, message: &Value, is_modern: bool) -> Option<Value> {
        let params = &message["params"];
        let named = params["name"].as_str().or(params["uri"].as_str()).unwrap();
        let (asks, about) = question(named.trim_start_matches("ask://"));
        if !is_modern {
            let name = format!("question of {}", message["id"]);
            say(&json!({"jsonrpc": "2.0", "id": name, "method": asks, "params": about}));
            self.waiting.insert(name, (message["id"].clone(), method.to_owned()));
            return None;
        }
        Some(match params.pointer("/inputResponses/answer") {
            _ if self.manner == "both" => result(method, "it is only asked in the old way"),
            Some(given) if params["requestState"] == "kept" && self.manner != "forever" => {
                result(method, &given.to_string())
            }
            _ => json!({"resultType": "input_required", "requestState": "kept",
                "inputRequests": {"answer": {"method": asks, "params": about}}}),
        })
    }
}

fn say(message: &Value) {
    println!("{message}");
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "prompts": {}, "resources": {}, "logging": {}})
}

fn question(kind: &str) -> (&'static str, Value) {
    match kind {
        "elicitation" => (
            "elicitation/create",
            json!({"mode": "form", "message": "Who?", "requestedSchema": {"type": "object",
                "properties": {"name": {"type": "string"}}, "required": ["name"]}}),
        ),
        "sampling" => (
            "sampling/createMessage",
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Who?"}}], "maxTokens": 10}),
        ),
        "roots" => ("roots/list", json!({})),
        other => panic!("no kind {other}"),
    }
}

fn result(method: &str, text: &str) -> Value {
    match method {
        "tools/call" => json!({"content": [{"type": "text", "text": text}]}),
        "prompts/get" => json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}),
        _ => json!({"contents": [{"uri": "ask://x", "text": text}]}),
    }
}
