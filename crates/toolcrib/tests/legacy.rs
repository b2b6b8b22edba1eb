//! Legacy sessions: principals, streams, resumption, cancellation, batches, questions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::needless_pass_by_value
)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use support::*;
use toolcrib::{
    About, Context, Elicited, HttpOptions, Level, Principal, ResourceContents, Server, ToolError,
};
use toolcrib::{Authenticator, Challenge};

fn object() -> Value {
    json!({"type": "object"})
}

/// Sets a flag when a handler is dropped before its end.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

async fn eventually(flag: &AtomicBool) -> bool {
    for _ in 0..200 {
        if flag.load(Ordering::SeqCst) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[derive(Debug)]
struct ByBearer;

impl Authenticator for ByBearer {
    fn principal(&self, head: &toolcrib::RequestHead) -> Result<Principal, Challenge> {
        head.get("authorization")
            .and_then(|value| value.strip_prefix("Bearer "))
            .map(Principal::subject)
            .ok_or_else(|| Challenge { www_authenticate: "Bearer realm=\"test\"".into() })
    }
}

#[tokio::test]
async fn a_session_belongs_to_the_principal_that_opened_it() {
    let server = Server::new("s", "1").unwrap();
    server
        .register("who", "x", object(), |_, context: Context| async move {
            Ok::<_, ToolError>(context.principal().to_string())
        })
        .unwrap();
    let options = HttpOptions { authenticator: Arc::new(ByBearer), ..HttpOptions::default() };
    let running = serve_with(&server, options).await;
    let to = running.address;
    let nobody = send(to, "POST", &[], &legacy_body(1, "ping", json!({}))).await;
    assert_eq!(
        (nobody.status, nobody.header("www-authenticate")),
        (401, Some("Bearer realm=\"test\"".into()))
    );
    let alice = ("Authorization", "Bearer alice");
    let mallory = ("Authorization", "Bearer mallory");
    let session = initialize(to, LEGACY, json!({}), &[alice]).await;
    let id = ("Mcp-Session-Id", session.as_str());
    let call = legacy_body(1, "tools/call", json!({"name": "who"}));
    assert_eq!(send(to, "POST", &[id, alice], &call).await.result()["content"][0]["text"], "alice");
    assert_eq!(send(to, "POST", &[id, mallory], &call).await.status, 404);
    assert_eq!(send(to, "GET", &[id, mallory], "").await.status, 404);
    assert_eq!(send(to, "DELETE", &[id, mallory], "").await.status, 404);
    assert_eq!(send(to, "POST", &[id, alice], &call).await.status, 200, "the session is still there");
    assert_eq!(send(to, "DELETE", &[id, alice], "").await.status, 204);
    assert_eq!(send(to, "POST", &[id, alice], &call).await.status, 404);
}

#[tokio::test]
async fn batches_exist_for_the_oldest_revisions_only() {
    let running = serve(&Server::new("s", "1").unwrap()).await;
    let to = running.address;
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"b","method":"no/such"},7]"#;
    let old = initialize(to, "2025-03-26", json!({}), &[]).await;
    let answers = send(to, "POST", &[("Mcp-Session-Id", &old)], batch).await.json();
    let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!("b"), &Value::Null]);
    assert_eq!(answers[1]["error"]["code"], -32601);
    assert_eq!(send(to, "POST", &[("Mcp-Session-Id", &old)], "[]").await.code(), -32600);
    let quiet = r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#;
    assert_eq!(send(to, "POST", &[("Mcp-Session-Id", &old)], quiet).await.status, 202);
    for version in ["2025-06-18", LEGACY] {
        let new = initialize(to, version, json!({}), &[]).await;
        let answer = send(to, "POST", &[("Mcp-Session-Id", &new)], batch).await;
        assert_eq!((answer.status, answer.code()), (400, -32600), "{version}");
    }
    assert_eq!(send(to, "POST", &modern_headers("ping", None), batch).await.status, 400);
}

/// R2.7: the disconnect of a legacy client does not cancel its call.
#[tokio::test]
async fn a_legacy_client_that_goes_away_does_not_cancel_its_call() {
    let (started, finished) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let server = Server::new("s", "1").unwrap();
    let flags = (started.clone(), finished.clone());
    server
        .register("slow", "x", object(), move |_, _: Context| {
            let (started, finished) = flags.clone();
            async move {
                started.store(true, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(200)).await;
                finished.store(true, Ordering::SeqCst);
                Ok::<_, ToolError>("done")
            }
        })
        .unwrap();
    let running = serve(&server).await;
    let session = initialize(running.address, LEGACY, json!({}), &[]).await;
    let body = legacy_body(1, "tools/call", json!({"name": "slow"}));
    let connection = open(running.address, "POST", &[("Mcp-Session-Id", &session)], &body).await;
    assert!(eventually(&started).await);
    drop(connection);
    assert!(eventually(&finished).await, "the handler ran to its end");
}

/// R2.7: `notifications/cancelled` cancels a legacy call.
#[tokio::test]
async fn a_cancelled_legacy_call_is_dropped_and_gets_no_answer() {
    let (started, dropped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let server = Server::new("s", "1").unwrap();
    let flags = (started.clone(), dropped.clone());
    server
        .register("waits", "x", object(), move |_, _: Context| {
            let (started, dropped) = flags.clone();
            async move {
                let _guard = Dropped(dropped);
                started.store(true, Ordering::SeqCst);
                std::future::pending::<()>().await;
                Ok::<_, ToolError>("never")
            }
        })
        .unwrap();
    let running = serve(&server).await;
    let to = running.address;
    let session = initialize(to, LEGACY, json!({}), &[]).await;
    let other = initialize(to, LEGACY, json!({}), &[]).await;
    let body = legacy_body(77, "tools/call", json!({"name": "waits"}));
    let mut call = open(to, "POST", &[("Mcp-Session-Id", &session)], &body).await;
    assert!(eventually(&started).await);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}})
        .to_string();
    assert_eq!(send(to, "POST", &[("Mcp-Session-Id", &other)], &cancel).await.status, 202);
    assert!(!dropped.load(Ordering::SeqCst), "another session cannot cancel it");
    assert_eq!(send(to, "POST", &[("Mcp-Session-Id", &session)], &cancel).await.status, 202);
    assert!(eventually(&dropped).await);
    assert_eq!(parse(&call.rest_of_it().await).status, 202);
}

fn stepping() -> Server {
    let server = Server::new("s", "1").unwrap();
    server
        .register("steps", "x", object(), |_, context: Context| async move {
            for step in 1..=5u8 {
                context.progress(f64::from(step), Some(5.0), None);
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
            Ok::<_, ToolError>("arrived")
        })
        .unwrap();
    server
}

#[tokio::test]
async fn a_lost_stream_is_resumed_where_it_was() {
    let running = serve(&stepping()).await;
    let to = running.address;
    let session = initialize(to, LEGACY, json!({}), &[]).await;
    let body = legacy_body(9, "tools/call", json!({"name": "steps", "_meta": {"progressToken": "p"}}));
    let mut lost = open(to, "POST", &[("Mcp-Session-Id", &session)], &body).await;
    let seen = lost.until("\"progress\":1").await;
    assert!(seen.contains("data: \n"), "2025-11-25 streams start with an event without data: {seen}");
    let last = seen.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap().to_owned();
    drop(lost);
    let headers = [("Mcp-Session-Id", session.as_str()), ("Last-Event-ID", last.as_str())];
    let rest = send(to, "GET", &headers, "").await;
    let messages = rest.events();
    let progress: Vec<i64> =
        messages.iter().filter_map(|message| message["params"]["progress"].as_i64()).collect();
    assert_eq!(progress.last(), Some(&5), "{messages:?}");
    assert!(progress.windows(2).all(|pair| pair[0] < pair[1]) && !progress.contains(&1), "{progress:?}");
    let result = messages.last().unwrap();
    assert_eq!((&result["id"], &result["result"]["content"][0]["text"]), (&json!(9), &json!("arrived")));
    let again = send(to, "GET", &headers, "").await;
    assert_eq!(again.events().last().unwrap()["id"], 9, "what was sent once can be had again");
}

#[tokio::test]
async fn a_session_hears_of_changes_on_its_own_stream() {
    let server = stepping();
    server
        .resource("a://x", &About::new("x", "x"), |uri: String, _: Context| async move {
            Ok(vec![ResourceContents::text(&uri, "text/plain", "x")])
        })
        .unwrap();
    let running = serve(&server).await;
    let to = running.address;
    let session = initialize(to, LEGACY, json!({}), &[]).await;
    let deaf = initialize(to, LEGACY, json!({}), &[]).await;
    legacy(to, &session, "resources/subscribe", json!({"uri": "a://x"})).await.result();
    let mut stream = open(to, "GET", &[("Mcp-Session-Id", &session)], "").await;
    let mut other = open(to, "GET", &[("Mcp-Session-Id", &deaf)], "").await;
    stream.until("data: ").await;
    server.resource_changed("a://x");
    stream.until("notifications/resources/updated").await;
    server.unregister("steps");
    stream.until("notifications/tools/list_changed").await;
    let heard = other.until("notifications/tools/list_changed").await;
    assert!(!heard.contains("resources/updated"), "only who follows a resource hears of it");
    legacy(to, &session, "resources/unsubscribe", json!({"uri": "a://x"})).await.result();
}

fn asking() -> Server {
    let server = Server::new("s", "1").unwrap();
    server
        .register("ask", "x", object(), |_, context: Context| async move {
            let schema =
                json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
            match context.elicit("name", "Who are you?", &schema).await? {
                Elicited::Accepted(content) => {
                    Ok(format!("Hello, {}", content["name"].as_str().unwrap_or("?")))
                }
                Elicited::Declined => Ok("declined".to_owned()),
                Elicited::Cancelled => Err(ToolError::new("cancelled")),
            }
        })
        .unwrap();
    server
}

/// R2.7: a legacy client is asked on the call's own stream.
#[tokio::test]
async fn a_legacy_client_is_asked_on_the_calls_stream() {
    let running = serve(&asking()).await;
    let to = running.address;
    for (version, answer, says) in [
        (LEGACY, json!({"action": "accept", "content": {"name": "Ada"}}), "Hello, Ada"),
        ("2025-06-18", json!({"action": "decline"}), "declined"),
        (LEGACY, json!({"action": "cancel"}), "cancelled"),
        (LEGACY, json!({"action": "accept", "content": {"name": 7}}), "shape"),
    ] {
        let session = initialize(to, version, json!({"elicitation": {}}), &[]).await;
        let headers = [("Mcp-Session-Id", session.as_str())];
        let mut call =
            open(to, "POST", &headers, &legacy_body(1, "tools/call", json!({"name": "ask"}))).await;
        let asked = call.until("elicitation/create").await;
        let question = messages(&asked).into_iter().find(|message| message.get("method").is_some()).unwrap();
        assert_eq!(question["params"].get("mode").is_some(), version == LEGACY, "mode came with 2025-11-25");
        let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}).to_string();
        assert_eq!(send(to, "POST", &headers, &reply).await.status, 202);
        let text = call.rest_of_it().await;
        assert!(text.contains(says), "{version}: {text}");
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_told_so() {
    let running = serve(&asking()).await;
    let to = running.address;
    let session = initialize(to, LEGACY, json!({}), &[]).await;
    let result = legacy(to, &session, "tools/call", json!({"name": "ask"})).await.result();
    assert_eq!(result["isError"], true);
    assert!(result["content"][0]["text"].as_str().unwrap().contains("elicitation"), "{result}");
    let without = send(to, "POST", &[], &legacy_body(1, "tools/call", json!({"name": "ask"}))).await.result();
    assert_eq!(without["isError"], true, "no session, no way back");
    let old = initialize(to, "2025-03-26", json!({"elicitation": {}}), &[]).await;
    assert_eq!(legacy(to, &old, "tools/call", json!({"name": "ask"})).await.result()["isError"], true);
}

#[tokio::test]
async fn a_session_decides_what_it_wants_logged() {
    let server = Server::new("s", "1").unwrap();
    server
        .register("talk", "x", object(), |_, context: Context| async move {
            for level in [Level::Debug, Level::Info, Level::Error] {
                context.log(level, None, &json!(level.as_str()));
            }
            Ok::<_, ToolError>("said")
        })
        .unwrap();
    let running = serve(&server).await;
    let to = running.address;
    let session = initialize(to, LEGACY, json!({}), &[]).await;
    let logged = |answer: Answer| answer.body.matches("notifications/message").count();
    assert_eq!(logged(legacy(to, &session, "tools/call", json!({"name": "talk"})).await), 2);
    legacy(to, &session, "logging/setLevel", json!({"level": "error"})).await.result();
    assert_eq!(logged(legacy(to, &session, "tools/call", json!({"name": "talk"})).await), 1);
    assert_eq!(legacy(to, &session, "logging/setLevel", json!({"level": "loud"})).await.code(), -32602);
    let other = initialize(to, LEGACY, json!({}), &[]).await;
    assert_eq!(
        logged(legacy(to, &other, "tools/call", json!({"name": "talk"})).await),
        2,
        "levels are per session"
    );
}

#[tokio::test]
async fn parallel_calls_of_one_session_do_not_wait_for_each_other() {
    let server = Server::new("s", "1").unwrap();
    let inside = Arc::new(AtomicUsize::new(0));
    let counter = inside.clone();
    server
        .register("meet", "x", object(), move |_, _: Context| {
            let inside = counter.clone();
            async move {
                inside.fetch_add(1, Ordering::SeqCst);
                while inside.load(Ordering::SeqCst) < 3 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Ok::<_, ToolError>("met")
            }
        })
        .unwrap();
    let running = serve(&server).await;
    let session = initialize(running.address, LEGACY, json!({}), &[]).await;
    let mut calls = Vec::new();
    for id in 0..3 {
        let (to, session) = (running.address, session.clone());
        calls.push(tokio::spawn(async move {
            let body = legacy_body(id, "tools/call", json!({"name": "meet"}));
            send(to, "POST", &[("Mcp-Session-Id", &session)], &body).await
        }));
    }
    for call in calls {
        assert_eq!(call.await.unwrap().result()["content"][0]["text"], "met");
    }
}
