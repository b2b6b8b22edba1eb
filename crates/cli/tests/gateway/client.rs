//! HTTP clients of both eras that answer elicitations.

use serde_json::{Value, json};
use toolcrib_testkit::http::{Request, Response, Stream};

use super::running::Gateway;

/// Returns the capabilities of a client that can be asked everything.
pub(crate) fn able() -> Value {
    json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}})
}

/// Legacy client with a session.
pub(crate) struct Legacy<'a> {
    gateway: &'a Gateway,
    pub(crate) session: String,
}

impl<'a> Legacy<'a> {
    pub(crate) fn new(gateway: &'a Gateway, capabilities: &Value) -> Self {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
            "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}}});
        let greeted = Request::post_json("/mcp", &hello.to_string()).send(gateway.address).unwrap();
        let session =
            greeted.header("mcp-session-id").unwrap_or_else(|| panic!("{}", greeted.text())).to_owned();
        let client = Self { gateway, session };
        client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn request(&self, request: Request) -> Request {
        request.header("Mcp-Session-Id", &self.session).header("MCP-Protocol-Version", "2025-11-25")
    }

    pub(crate) fn post(&self, message: &Value) -> Response {
        self.request(Request::post_json("/mcp", &message.to_string())).send(self.gateway.address).unwrap()
    }

    /// Opens the stream for messages outside of calls.
    pub(crate) fn listen(&self) -> Stream {
        let request = Request::get("/mcp").header("Accept", "text/event-stream");
        self.request(request).open(self.gateway.address).unwrap()
    }

    /// Builds a request without sending it.
    pub(crate) fn calling(&self, method: &str, params: &Value) -> Request {
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params});
        self.request(Request::post_json("/mcp", &body.to_string()))
    }

    /// Calls, answers every question during the call, and returns the answer and the number of questions.
    pub(crate) fn call(
        &self,
        method: &str,
        params: &Value,
        answer: impl Fn(&Value) -> Value,
    ) -> (Value, usize) {
        let mut stream = self.calling(method, params).open(self.gateway.address).unwrap();
        let mut asked = 0;
        loop {
            let message = next(&mut stream);
            if message.get("method").is_none() {
                return (message, asked);
            }
            asked += 1;
            let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": answer(&message)});
            assert_eq!(self.post(&reply).status, 202);
        }
    }
}

/// Returns the next message of a stream. A response that is no stream is its only message.
pub(crate) fn next(stream: &mut Stream) -> Value {
    loop {
        let event = stream.event().unwrap().expect("the stream goes on");
        if !event.data.is_empty() {
            return serde_json::from_str(&event.data).unwrap();
        }
    }
}

/// Builds the request of a modern client.
pub(crate) fn modern(method: &str, params: &Value, capabilities: &Value) -> Request {
    let mut params = params.clone();
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut request = Request::post_json("/mcp", &body)
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", method);
    if let Some(name) = params.get("name").or(params.get("uri")).and_then(Value::as_str) {
        request = request.header("Mcp-Name", name);
    }
    request
}

/// Calls as a modern client that answers every question, round by round. Returns the answer and the number of
/// questions.
pub(crate) fn modern_call(
    gateway: &Gateway,
    method: &str,
    params: &Value,
    answer: impl Fn(&Value) -> Value,
) -> (Value, usize) {
    let mut params = params.clone();
    let mut asked = 0;
    loop {
        let request = modern(method, &params, &able());
        let message = request.send(gateway.address).unwrap().json().unwrap();
        let result = &message["result"];
        if result["resultType"] != "input_required" {
            return (message, asked);
        }
        let mut responses = json!({});
        for (key, question) in result["inputRequests"].as_object().unwrap() {
            asked += 1;
            responses[key] = answer(question);
        }
        (params["inputResponses"], params["requestState"]) = (responses, result["requestState"].clone());
    }
}
