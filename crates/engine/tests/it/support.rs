//! Engine with a few toolsets, and callers of both eras.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_contract::Definition;
use toolcrib_contract::json::{Document, Limits};
use toolcrib_engine::stage::caller;
use toolcrib_engine::tool::{BoxFuture, Invocation};
use toolcrib_engine::{
    Answer, Approach, Caller, Engine, Exchange, Mode, Names, Options, Principal, Selection, ServerInfo,
    Session, Tool, ToolError, ToolResult, Toolset, ToolsetOptions,
};
use toolcrib_protocol::{ClientCapabilities, Frame, Revision, meta};

pub(crate) const SETS: usize = 6;

#[derive(Debug)]
struct Nothing;

impl Tool for Nothing {
    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async { Ok(ToolResult::text("x").into()) })
    }
}

/// Returns options with the toolsets `s0` to `s5`, none loaded at the start.
pub(crate) fn toolsets() -> ToolsetOptions {
    ToolsetOptions {
        start: Some(Names::These(BTreeSet::new())),
        mode: Some(Mode::Dynamic),
        profiles_change: true,
        declared: (0..SETS).map(|set| Toolset::new(&format!("s{set}"), "")).collect(),
        ..ToolsetOptions::default()
    }
}

/// Returns an engine with the tools `t0` to `t5`, one in each toolset.
pub(crate) fn engine() -> Engine {
    engine_with(toolsets())
}

/// Returns the engine with other toolset options.
pub(crate) fn engine_with(toolsets: ToolsetOptions) -> Engine {
    let options = Options { toolsets, ..Options::default() };
    let engine = Engine::new(ServerInfo::new("x", "1"), options, None).unwrap();
    for set in 0..SETS {
        let definition = json!({"name": format!("t{set}"), "inputSchema": {"type": "object"}});
        let definition = Definition::from_value(&definition).unwrap();
        engine.registry().register(definition, Some(&format!("s{set}")), Arc::new(Nothing)).unwrap();
    }
    engine
}

/// Test caller.
#[derive(Clone)]
pub(crate) struct Side {
    session: Option<Arc<Session>>,
    principal: Principal,
    approach: Arc<Approach>,
}

impl Side {
    pub(crate) fn legacy(principal: &Principal) -> Self {
        let none = ClientCapabilities::default();
        let session = Session::new(None, principal.clone(), Revision::V2025_11_25, none, None);
        Self { session: Some(session), principal: principal.clone(), approach: Arc::default() }
    }

    pub(crate) fn modern(principal: &Principal) -> Self {
        Self { session: None, principal: principal.clone(), approach: Arc::default() }
    }

    /// Sets the selection of the caller's requests.
    pub(crate) fn by(mut self, selection: Selection) -> Self {
        self.approach = Arc::new(Approach { selection, user_agent: None });
        self
    }

    pub(crate) async fn ask(&self, engine: &Engine, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({meta::PROTOCOL_VERSION: "2026-07-28", meta::CLIENT_CAPABILITIES: {}});
        let text = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        let Ok(Frame::Request(request)) = Frame::read(document.root()) else { panic!("no request") };
        let caller: Caller<'_> = match &self.session {
            Some(session) => caller::legacy(session, Exchange::silent()),
            None => caller::modern(self.principal.clone(), None, &request, Exchange::silent()).unwrap(),
        };
        let caller = caller.by(self.approach.clone());
        let reply = engine.request(&caller, &request).await;
        serde_json::from_slice(&reply.payload.into_bytes()).unwrap()
    }

    pub(crate) async fn call(&self, engine: &Engine, tool: &str, set: usize) -> Value {
        let params = json!({"name": tool, "arguments": {"toolset_name": format!("s{set}")}});
        self.ask(engine, "tools/call", params).await
    }

    /// Returns the numbers of the tools that the caller has listed.
    pub(crate) async fn sees(&self, engine: &Engine) -> BTreeSet<usize> {
        let list = self.ask(engine, "tools/list", json!({})).await;
        let tools = list["result"]["tools"].as_array().unwrap();
        tools.iter().filter_map(|tool| tool["name"].as_str()?.strip_prefix('t')?.parse().ok()).collect()
    }
}
