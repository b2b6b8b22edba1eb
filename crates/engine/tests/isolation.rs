//! R3.4: what one caller enables no other caller sees, over many random steps.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_contract::Definition;
use toolcrib_contract::json::{Document, Limits};
use toolcrib_engine::stage::caller;
use toolcrib_engine::tool::{BoxFuture, Invocation};
use toolcrib_engine::{
    Answer, Caller, Engine, Exchange, Mode, Names, Options, Principal, ServerInfo, Session, Tool, ToolError,
    ToolResult, Toolset,
};
use toolcrib_protocol::{ClientCapabilities, Frame, Revision, meta};

const STEPS: usize = 10_000;
const SETS: usize = 6;

#[derive(Debug)]
struct Nothing;

impl Tool for Nothing {
    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async { Ok(ToolResult::text("x").into()) })
    }
}

fn engine() -> Engine {
    let mut options = Options::default();
    options.toolsets.start = Some(Names::These(BTreeSet::new()));
    options.toolsets.mode = Some(Mode::Dynamic);
    options.toolsets.profiles_change = true;
    options.toolsets.declared = (0..SETS).map(|set| Toolset::new(&format!("s{set}"), "")).collect();
    let engine = Engine::new(ServerInfo::new("x", "1"), options, None).unwrap();
    for set in 0..SETS {
        let definition = json!({"name": format!("t{set}"), "inputSchema": {"type": "object"}});
        let definition = Definition::from_value(&definition).unwrap();
        engine.registry().register(definition, Some(&format!("s{set}")), Arc::new(Nothing)).unwrap();
    }
    engine
}

/// A caller and what it should see.
struct Side {
    session: Option<Arc<Session>>,
    principal: Principal,
    expected: BTreeSet<usize>,
}

impl Side {
    async fn ask(&self, engine: &Engine, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({meta::PROTOCOL_VERSION: "2026-07-28", meta::CLIENT_CAPABILITIES: {}});
        let text = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        let Ok(Frame::Request(request)) = Frame::read(document.root()) else { panic!("no request") };
        let caller: Caller<'_> = match &self.session {
            Some(session) => caller::legacy(session, Exchange::silent()),
            None => caller::modern(self.principal.clone(), None, &request, Exchange::silent()).unwrap(),
        };
        let reply = engine.request(&caller, &request).await;
        serde_json::from_slice(&reply.payload.into_bytes()).unwrap()
    }

    async fn sees(&self, engine: &Engine) -> BTreeSet<usize> {
        let list = self.ask(engine, "tools/list", json!({})).await;
        let tools = list["result"]["tools"].as_array().unwrap();
        tools.iter().filter_map(|tool| tool["name"].as_str()?.strip_prefix('t')?.parse().ok()).collect()
    }
}

async fn run(mut sides: [Side; 2]) {
    let engine = engine();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for step in 0..STEPS {
        let who = random(2) as usize;
        let set = random(SETS as u64) as usize;
        let what = random(4);
        let side = &mut sides[who];
        let arguments = json!({"toolset_name": format!("s{set}")});
        match what {
            0 => {
                side.ask(&engine, "tools/call", json!({"name": "enable_toolset", "arguments": arguments}))
                    .await;
                side.expected.insert(set);
            }
            1 => {
                side.ask(&engine, "tools/call", json!({"name": "disable_toolset", "arguments": arguments}))
                    .await;
                side.expected.remove(&set);
            }
            2 => {
                // R3.6: what is not seen cannot be called.
                let answer = side.ask(&engine, "tools/call", json!({"name": format!("t{set}")})).await;
                assert_eq!(
                    answer.get("error").is_none(),
                    side.expected.contains(&set),
                    "step {step}: {answer}"
                );
            }
            _ => {}
        }
        for side in &sides {
            assert_eq!(side.sees(&engine).await, side.expected, "step {step}");
        }
    }
}

fn session(principal: &Principal) -> Option<Arc<Session>> {
    let none = ClientCapabilities::default();
    Some(Session::new(None, principal.clone(), Revision::V2025_11_25, none, None))
}

/// R3.4: two sessions of the same principal.
#[tokio::test]
async fn two_sessions_never_see_each_others_toolsets() {
    let side = || Side {
        session: session(&Principal::Anonymous),
        principal: Principal::Anonymous,
        expected: BTreeSet::new(),
    };
    run([side(), side()]).await;
}

/// R3.4: two modern principals with stored profiles.
#[tokio::test]
async fn two_principals_never_see_each_others_toolsets() {
    let side = |name| Side { session: None, principal: Principal::subject(name), expected: BTreeSet::new() };
    run([side("ann"), side("bob")]).await;
}

/// R3.4: a legacy session and a modern client of one principal do not change each other either.
#[tokio::test]
async fn a_session_and_a_profile_of_one_principal_stay_apart() {
    let principal = Principal::subject("ann");
    let legacy =
        Side { session: session(&principal), principal: principal.clone(), expected: BTreeSet::new() };
    run([legacy, Side { session: None, principal, expected: BTreeSet::new() }]).await;
}
