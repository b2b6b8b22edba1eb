//! Two gates in a row: a Toolcrib server with a gate behind a Toolcrib gateway with a gate (R12.4).

use std::process::{Command, Output};

use serde_json::{Value, json};
use toolcrib_contract::Digest;
use toolcrib_contract::json::{Document, Limits};
use toolcrib_engine::safety::vouch::{ConfirmedBy, STATEMENT};
use toolcrib_store::Keys;

use super::client::{Legacy, able, modern, modern_call};
use super::folder::Folder;
use super::running::{Gateway, PROGRAM, until};

const TOOL: &str = "launch_confetti";

/// Connection from the gateway to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Stdio,
    Http,
    /// HTTP in the last legacy revision.
    Legacy,
}

/// A server with a gate, and a gateway with a gate in front of it.
struct Pair {
    outer: Gateway,
    inner: Option<Gateway>,
    folder: Folder,
}

fn program(words: &[&str]) -> Output {
    Command::new(PROGRAM).args(words).output().unwrap()
}

impl Pair {
    /// Starts a pair. With `trusted`, the server's policy lists the gateway's key.
    fn start(name: &str, way: Way, trusted: bool, inner_policy: &str) -> Self {
        let folder = Folder::new(&format!("gates-{name}-{way:?}-{trusted}"));
        let (outer_data, inner_data) = (folder.0.join("outer"), folder.0.join("inner"));
        let (outer_data, inner_data) = (outer_data.display().to_string(), inner_data.display().to_string());
        assert!(program(&["credential", "list", "--data", &outer_data]).status.success());
        let key = std::fs::read_to_string(folder.0.join("outer/audit.pub")).unwrap();
        let trust =
            if trusted { format!("trusted_gateways = [\"{}\"]\n", key.trim()) } else { String::new() };
        let policy = folder.file("policy.toml", &format!("[safety]\n{trust}{inner_policy}"));
        let own = || ["--demo", "workshop", "--data", &inner_data, "--policy", &policy].map(str::to_owned);
        let inner = (way != Way::Stdio).then(|| Gateway::start_with(own(), &[]));
        let text = match &inner {
            Some(inner) => {
                let revision = if way == Way::Legacy { "revision = \"2025-11-25\"\n" } else { "" };
                format!("[servers.s]\nurl = {:?}\n{revision}", inner.url())
            }
            None => {
                let words: Vec<String> =
                    ["serve".to_owned(), "--stdio".to_owned()].into_iter().chain(own()).collect();
                format!("[servers.s]\ncommand = {PROGRAM:?}\nargs = {words:?}\n")
            }
        };
        let config = folder.file("toolcrib.toml", &text);
        let outer = Gateway::start_with(
            ["--data".to_owned(), outer_data],
            &["--config", &config, "--prefix", "never"],
        );
        until("served", || outer.tools().contains(&TOOL.to_owned()));
        Self { outer, inner, folder }
    }

    fn data(&self, side: &str) -> String {
        self.folder.0.join(side).display().to_string()
    }

    fn approve(&self, id: &str) {
        let output = program(&["approve", "allow", id, "--data", &self.data("outer")]);
        assert!(output.status.success(), "{output:?}");
    }

    /// Returns the audit records of one side that have this kind and concern the tool.
    fn records(&self, side: &str, kind: &str) -> Vec<Value> {
        let output =
            program(&["audit", "list", "--last", "1000", "--format", "json", "--data", &self.data(side)]);
        let text = String::from_utf8(output.stdout).unwrap();
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["record"].take());
        records.filter(|record| record["kind"] == kind && record["tool"] == TOOL).collect()
    }
}

fn yes(_: &Value) -> Value {
    json!({"action": "accept", "content": {"confirm": true}})
}

fn wish(count: u32) -> Value {
    json!({"name": TOOL, "arguments": {"count": count}})
}

fn launched(message: &Value) -> &Value {
    &message["result"]["structuredContent"]["launched"]
}

fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

fn handle(message: &Value) -> String {
    let handle = &message["result"]["_meta"]["toolcrib/confirmation"]["handle"];
    handle.as_str().unwrap_or_else(|| panic!("no handle: {message}")).to_owned()
}

/// Calls in every way that asks a person: clients of both eras, by elicitation or in the approval queue.
fn one_question_and_one_execution(pair: &Pair, how: &str) {
    let outer = &pair.outer;
    let (message, asked) = modern_call(outer, "tools/call", &wish(1), yes);
    assert_eq!((launched(&message), asked), (&json!(1), 1), "{how}: {message}");
    let legacy = Legacy::new(outer, &able());
    let (message, asked) = legacy.call("tools/call", &wish(2), yes);
    assert_eq!((launched(&message), asked), (&json!(2), 1), "{how}: {message}");
    let plain_legacy = Legacy::new(outer, &json!({}));
    let call_legacy = |params: &Value| {
        plain_legacy.calling("tools/call", params).send(outer.address).unwrap().json().unwrap()
    };
    let call_modern = |params: &Value| outer.ask("tools/call", params);
    type Caller<'a> = &'a dyn Fn(&Value) -> Value;
    let calls: [(u32, Caller<'_>); 2] = [(3, &call_modern), (4, &call_legacy)];
    for (count, call) in calls {
        let id = handle(&call(&wish(count)));
        pair.approve(&id);
        let mut confirmed = wish(count);
        confirmed["arguments"]["confirmation_token"] = id.into();
        let message = call(&confirmed);
        assert_eq!(launched(&message), &json!(count), "{how}: {message}");
        let message = call(&confirmed);
        assert!(text(&message).contains("used already"), "{how}: {message}");
    }
    until("written", || pair.records("inner", "outcome").len() == 4);
    let intents = pair.records("inner", "intent");
    assert_eq!(intents.len(), 4, "{how}: each ran once: {intents:?}");
    // Records of questions are written behind the calls.
    until("written", || pair.records("outer", "asked").len() >= 4);
    assert_eq!(pair.records("outer", "asked").len(), 4, "{how}: one question each");
}

/// R12.4: if the server trusts the gateway, a person is asked once and the call runs once, over stdio and HTTP, with
/// clients and servers of both eras; the server's own gate asks nobody.
#[test]
fn a_trusted_gateway_vouches_and_nobody_is_asked_twice() {
    for way in [Way::Stdio, Way::Http, Way::Legacy] {
        let pair = Pair::start("vouch", way, true, "destructive = \"human\"\n");
        one_question_and_one_execution(&pair, &format!("{way:?}"));
        let asked = pair.records("inner", "asked");
        assert!(asked.is_empty(), "{way:?}: {asked:?}");
        let by = pair.records("inner", "intent");
        assert!(by.iter().all(|it| it["ticket"].as_str().unwrap().starts_with("vouched-")), "{by:?}");
        // A two-step token at the gateway does not prove a person.
        let token = |tool: &str| {
            let arguments = json!({"action": tool, "params_summary": "a test", "arguments": {"count": 5}});
            let given = pair
                .outer
                .ask("tools/call", &json!({"name": "get_confirmation_token", "arguments": arguments}));
            given["result"]["structuredContent"]["token"].as_str().map(str::to_owned)
        };
        if let Some(token) = token(TOOL) {
            let mut confirmed = wish(5);
            confirmed["arguments"]["confirmation_token"] = token.into();
            let message = pair.outer.ask("tools/call", &confirmed);
            assert!(text(&message).contains("confirmed by a person"), "{way:?}: {message}");
        }
        assert_eq!(pair.records("inner", "intent").len(), 4);
    }
}

/// R12.4: without configuration, the gateway answers the server's question about the call that a person confirmed at
/// the gateway: still one question and one execution.
#[test]
fn a_gateway_that_is_not_trusted_answers_for_the_person_who_confirmed() {
    for way in [Way::Stdio, Way::Http, Way::Legacy] {
        let pair = Pair::start("answer", way, false, "destructive = \"human\"\n");
        one_question_and_one_execution(&pair, &format!("{way:?}"));
    }
}

/// R12.4: a two-step token confirms at both gates if the server trusts the gateway; otherwise the refusal names the
/// setting and the key, and nothing runs.
#[test]
fn a_token_counts_at_both_gates_or_the_refusal_names_the_setting() {
    for trusted in [true, false] {
        let pair = Pair::start("token", Way::Http, trusted, "");
        let arguments = json!({"action": TOOL, "params_summary": "a test", "arguments": {"count": 6}});
        let wish_token = json!({"name": "get_confirmation_token", "arguments": arguments});
        let given = pair.outer.ask("tools/call", &wish_token);
        let token =
            given["result"]["structuredContent"]["token"].as_str().unwrap_or_else(|| panic!("{given}"));
        let mut confirmed = wish(6);
        confirmed["arguments"]["confirmation_token"] = token.into();
        let message = pair.outer.ask("tools/call", &confirmed);
        if trusted {
            assert_eq!(launched(&message), &json!(6), "{message}");
        } else {
            let key = std::fs::read_to_string(pair.folder.0.join("outer/audit.pub")).unwrap();
            let setting = format!("trusted_gateways = [\"{}\"]", key.trim());
            assert!(text(&message).starts_with("Not run") && text(&message).contains(&setting), "{message}");
        }
        assert_eq!(pair.records("inner", "intent").len(), usize::from(trusted));
    }
}

/// R12.4: a gateway whose policy lets the call through forwards the handle of the server's own approval.
#[test]
fn the_handle_of_the_servers_own_approval_passes_a_gateway_that_asks_nobody() {
    let pair = Pair::start("handle", Way::Http, false, "destructive = \"human\"\n");
    let policy = pair.folder.file("open.toml", "[safety]\ndestructive = \"never\"\n");
    let config = pair.folder.0.join("toolcrib.toml").display().to_string();
    let words = ["--config", &config, "--prefix", "never", "--policy", &policy];
    let open = Gateway::start_with(["--data".to_owned(), pair.data("open")], &words);
    until("served", || open.tools().contains(&TOOL.to_owned()));
    let id = handle(&open.ask("tools/call", &wish(7)));
    let output = program(&["approve", "allow", &id, "--data", &pair.data("inner")]);
    assert!(output.status.success(), "{output:?}");
    let mut confirmed = wish(7);
    confirmed["arguments"]["confirmation_token"] = id.into();
    let message = open.ask("tools/call", &confirmed);
    assert_eq!(launched(&message), &json!(7), "{message}");
}

/// R12.4: a statement is valid once, for its server, tool and arguments, under a trusted key; a client cannot supply
/// one.
#[test]
fn a_statement_that_is_replayed_changed_or_of_an_unknown_key_is_refused() {
    let pair = Pair::start("forged", Way::Http, true, "destructive = \"human\"\n");
    let inner = pair.inner.as_ref().unwrap();
    let audience = std::fs::read_to_string(pair.folder.0.join("inner/audit.pub")).unwrap();
    let trusted = Keys::load_or_create(&pair.folder.0.join("outer")).unwrap().voucher;
    let unknown = Keys::random().unwrap().voucher;
    let now_ms = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        u64::try_from(since.as_millis()).unwrap()
    };
    let digest = |count: &str| {
        let text = format!("{{\"count\":{count}}}");
        Digest::of_verbatim(Document::parse(text.as_bytes(), &Limits::message()).unwrap().root())
    };
    let call = |gateway: &Gateway, statement: &str, count: u32| {
        let mut params = wish(count);
        params["_meta"][STATEMENT] = serde_json::from_str(statement).unwrap();
        modern("tools/call", &params, &json!({})).send(gateway.address).unwrap().json().unwrap()
    };
    let vouch = |voucher: &toolcrib_engine::safety::vouch::Voucher, audience: &str, by| {
        voucher.vouch(audience.trim(), TOOL, &digest("8"), by, now_ms()).unwrap()
    };
    let good = vouch(&trusted, &audience, ConfirmedBy::Person);
    let refused = |message: &Value, why: &str| {
        assert!(text(message).starts_with("Not run") && text(message).contains(why), "{why}: {message}");
    };
    refused(&call(inner, &good, 9), "other arguments");
    refused(&call(inner, &vouch(&unknown, &audience, ConfirmedBy::Person), 8), "does not trust");
    refused(&call(inner, &vouch(&trusted, &"0".repeat(64), ConfirmedBy::Person), 8), "another server");
    refused(&call(inner, &vouch(&trusted, &audience, ConfirmedBy::Token), 8), "confirmed by a person");
    let old = trusted.vouch(audience.trim(), TOOL, &digest("8"), ConfirmedBy::Person, 0).unwrap();
    refused(&call(inner, &old, 8), "expired");
    refused(&call(inner, &good.replace("person", "token"), 8), "signature");
    // A statement from a client is not forwarded by the gateway, which trusts nobody.
    refused(&call(&pair.outer, &good, 8), "does not trust");
    assert!(pair.records("inner", "intent").is_empty());
    let message = call(inner, &good, 8);
    assert_eq!(launched(&message), &json!(8), "{message}");
    refused(&call(inner, &good, 8), "used already");
    assert_eq!(pair.records("inner", "intent").len(), 1);
}
