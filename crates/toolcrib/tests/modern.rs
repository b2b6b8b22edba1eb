//! Stateless era: streams, cancellation, subscriptions, rounds with sealed state.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::needless_pass_by_value
)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use support::*;
use toolcrib::engine::clock::Clock;
use toolcrib::{
    Authenticator, Challenge, Context, Elicited, HttpOptions, Level, Principal, Question, Server, ToolError,
};

fn object() -> Value {
    json!({"type": "object"})
}

fn chatty() -> Server {
    let server = Server::new("s", "1").unwrap();
    server
        .register("steps", "x", object(), |_, context: Context| async move {
            for step in [1.0, 2.0, 2.0, 1.0, 3.0] {
                context.progress(step, None, None);
            }
            context.log(Level::Warning, Some("test"), &json!({"k": 1}));
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok::<_, ToolError>("done")
        })
        .unwrap();
    server
}

/// R2.7: progress and logs are sent only on request, progress only grows, and an answer without them is plain JSON.
#[tokio::test]
async fn an_answer_streams_only_when_there_is_something_to_say() {
    let running = serve(&chatty()).await;
    let to = running.address;
    let plain = modern(to, "tools/call", json!({"name": "steps"})).await;
    assert_eq!(plain.header("content-type").as_deref(), Some("application/json"));
    let meta = json!({"progressToken": 7, "io.modelcontextprotocol/logLevel": "warning"});
    let streamed = modern(to, "tools/call", json!({"name": "steps", "_meta": meta})).await;
    assert_eq!(streamed.header("content-type").as_deref(), Some("text/event-stream"));
    assert_eq!(streamed.header("x-accel-buffering").as_deref(), Some("no"));
    let messages = streamed.events();
    let progress: Vec<&Value> = messages
        .iter()
        .filter(|m| m["method"] == "notifications/progress")
        .map(|m| &m["params"]["progress"])
        .collect();
    assert_eq!(progress, [&json!(1), &json!(2), &json!(3)]);
    assert_eq!(messages[0]["params"]["progressToken"], 7);
    assert_eq!(messages.iter().filter(|m| m["method"] == "notifications/message").count(), 1);
    assert_eq!(messages.last().unwrap()["result"]["content"][0]["text"], "done");
    let body = modern_body(1, "tools/call", json!({"name": "steps", "_meta": {"progressToken": 7}}));
    let mut headers = modern_headers("tools/call", Some("steps"));
    headers.push(("Accept", "application/json"));
    let quiet = send(to, "POST", &headers, &body).await;
    assert_eq!(
        quiet.result()["content"][0]["text"],
        "done",
        "a client that takes no stream gets the answer alone"
    );
}

struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// R2.7: the disconnect of a modern client cancels its call, streaming or not.
#[tokio::test]
async fn a_modern_client_that_goes_away_cancels_its_call() {
    for streams in [false, true] {
        let (started, dropped, told) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let flags = (started.clone(), dropped.clone(), told.clone());
        let server = Server::new("s", "1").unwrap();
        server
            .register("waits", "x", object(), move |_, context: Context| {
                let (started, dropped, told) = flags.clone();
                async move {
                    let _guard = Dropped(dropped);
                    let elsewhere = context.clone();
                    tokio::spawn(async move {
                        elsewhere.cancelled().await;
                        told.store(true, Ordering::SeqCst);
                    });
                    context.progress(1.0, None, None);
                    started.store(true, Ordering::SeqCst);
                    std::future::pending::<()>().await;
                    Ok::<_, ToolError>("never")
                }
            })
            .unwrap();
        let running = serve(&server).await;
        let meta = if streams { json!({"progressToken": 1}) } else { json!({}) };
        let body = modern_body(1, "tools/call", json!({"name": "waits", "_meta": meta}));
        let mut call =
            open(running.address, "POST", &modern_headers("tools/call", Some("waits")), &body).await;
        if streams {
            call.until("notifications/progress").await;
        }
        for flag in [&started, &dropped, &told] {
            if Arc::ptr_eq(flag, &dropped) {
                assert!(!dropped.load(Ordering::SeqCst));
                drop(std::mem::replace(&mut call, open(running.address, "POST", &[], "").await));
            }
            let mut seen = false;
            for _ in 0..300 {
                seen = flag.load(Ordering::SeqCst);
                if seen {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert!(seen, "streams {streams}");
        }
    }
}

#[tokio::test]
async fn a_subscription_is_acknowledged_tagged_filtered_and_ended() {
    let server = chatty();
    let mut running = serve(&server).await;
    let to = running.address;
    let filter = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}});
    let body = modern_body(42, "subscriptions/listen", filter);
    let mut listening = open(to, "POST", &modern_headers("subscriptions/listen", None), &body).await;
    listening.until("acknowledged").await;
    let nothing = modern_body(43, "subscriptions/listen", json!({"notifications": {}}));
    let mut silent = open(to, "POST", &modern_headers("subscriptions/listen", None), &nothing).await;
    silent.until("acknowledged").await;
    for _ in 0..20 {
        server.unregister("steps");
        server.register("steps", "x", object(), |_, _: Context| async { Ok::<_, ToolError>("") }).unwrap();
    }
    listening.until("tools/list_changed").await;
    running.stop();
    let heard = messages(&listening.rest_of_it().await);
    assert_eq!(heard[0]["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        heard[0]["params"]["notifications"],
        json!({"toolsListChanged": true}),
        "there are no prompts here"
    );
    let tag = |message: &Value| message["_meta"]["io.modelcontextprotocol/subscriptionId"].clone();
    assert!(heard[..heard.len() - 1].iter().all(|message| tag(&message["params"]) == 42));
    assert_eq!(heard.len(), 3, "forty changes are one notification: {heard:?}");
    let end = heard.last().unwrap();
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!(42), &json!("complete")));
    assert_eq!(tag(&end["result"]), 42);
    let unheard = messages(&silent.rest_of_it().await);
    assert_eq!(unheard.len(), 2, "nothing unasked: {unheard:?}");
    running.done.take().unwrap().await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stopping_server_finishes_what_is_under_way() {
    let server = Server::new("s", "1").unwrap();
    server
        .register("slow", "x", object(), |_, _: Context| async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            Ok::<_, ToolError>("finished")
        })
        .unwrap();
    let mut running = serve(&server).await;
    let body = modern_body(1, "tools/call", json!({"name": "slow"}));
    let mut call = open(running.address, "POST", &modern_headers("tools/call", Some("slow")), &body).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    running.stop();
    assert!(call.rest_of_it().await.contains("finished"));
    running.done.take().unwrap().await.unwrap().unwrap();
    assert!(tokio::net::TcpStream::connect(running.address).await.is_err());
}

#[derive(Debug, Default)]
struct Hands(AtomicU64);

impl Clock for Hands {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Debug)]
struct ByHeader;

impl Authenticator for ByHeader {
    fn principal(&self, head: &toolcrib::RequestHead) -> Result<Principal, Challenge> {
        let name = head.get("x-user").unwrap_or("nobody");
        Ok(Principal::subject(name))
    }
}

/// Authenticator that gives the first two requests different principals and refuses all others.
#[derive(Debug, Default)]
struct Twice(AtomicU64);

impl Authenticator for Twice {
    fn principal(&self, _: &toolcrib::RequestHead) -> Result<Principal, Challenge> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            number @ 0..2 => Ok(Principal::subject(&format!("caller-{number}"))),
            _ => Err(Challenge::bearer()),
        }
    }
}

/// R5.9: the result of parsing a head is cached for the next equal head, but each request is authenticated anew.
#[tokio::test]
async fn the_sender_of_a_head_that_comes_again_is_asked_for_again() {
    let server = Server::new("s", "1").unwrap();
    server
        .register("who", "x", object(), |_, context: Context| async move {
            Ok::<_, ToolError>(context.principal().to_string())
        })
        .unwrap();
    let options = HttpOptions { authenticator: Arc::new(Twice::default()), ..HttpOptions::default() };
    let running = serve_with(&server, options).await;
    let mut headers = modern_headers("tools/call", Some("who"));
    headers.push(("Connection", "-"));
    let body = modern_body(1, "tools/call", json!({"name": "who"}));
    let mut connection = open(running.address, "POST", &headers, &body).await;
    connection.until("caller-0").await;
    let again = request_text(running.address, "POST", &headers, &body);
    connection.more(&again).await;
    connection.until("caller-1").await;
    connection.more(&again).await;
    let all = connection.until("authentication is required").await;
    assert_eq!((all.matches("HTTP/1.1 200").count(), all.matches("HTTP/1.1 401").count()), (2, 1), "{all}");
}

fn asking(clock: Arc<Hands>) -> Server {
    let server = Server::builder("s", "1").options(|options| options.clock = clock).build().unwrap();
    for name in ["ask", "ask_too"] {
        server
            .register(name, "x", object(), |_, context: Context| async move {
                let schema =
                    json!({"type": "object", "properties": {"v": {"type": "string"}}, "required": ["v"]});
                let mut said = Vec::new();
                for key in ["one", "two"] {
                    match context.elicit(key, key, &schema).await? {
                        Elicited::Accepted(content) => {
                            said.push(content["v"].as_str().unwrap_or("?").to_owned());
                        }
                        _ => return Err(ToolError::new("no")),
                    }
                }
                Ok(said.join("+"))
            })
            .unwrap();
    }
    server
}

fn accept(value: &str) -> Value {
    json!({"action": "accept", "content": {"v": value}})
}

async fn ask(to: std::net::SocketAddr, user: &str, params: Value) -> Answer {
    let name = params["name"].as_str().unwrap().to_owned();
    let body = modern_body_with(1, "tools/call", params, json!({"elicitation": {}}));
    let mut headers = modern_headers("tools/call", Some(&name));
    headers.push(("X-User", user));
    send(to, "POST", &headers, &body).await
}

/// R2.7: questions in two rounds; the sealed state carries the answers of the first.
#[tokio::test]
async fn questions_are_asked_in_rounds_and_state_cannot_be_forged() {
    let clock = Arc::new(Hands::default());
    let options = HttpOptions { authenticator: Arc::new(ByHeader), ..HttpOptions::default() };
    let running = serve_with(&asking(clock.clone()), options).await;
    let to = running.address;
    let first = ask(to, "ada", json!({"name": "ask", "arguments": {"a": 1, "b": 2}})).await.result();
    assert_eq!(first["resultType"], "input_required");
    assert_eq!(first["inputRequests"]["one"]["method"], "elicitation/create");
    let state = first["requestState"].as_str().unwrap().to_owned();
    let with = |state: &str, arguments: Value, responses: Value| json!({"name": "ask", "arguments": arguments, "inputResponses": responses, "requestState": state});
    let arguments = json!({"b": 2, "a": 1});
    let one = json!({"one": accept("x"), "extra": accept("y")});
    let second = ask(to, "ada", with(&state, arguments.clone(), one.clone())).await.result();
    assert_eq!(second["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["two"]);
    let state2 = second["requestState"].as_str().unwrap();
    let third = ask(to, "ada", with(state2, arguments.clone(), json!({"two": accept("z")}))).await.result();
    assert_eq!((&third["resultType"], &third["content"][0]["text"]), (&json!("complete"), &json!("x+z")));

    let wrong = json!({"one": {"action": "accept", "content": {"v": 7}}});
    let again = ask(to, "ada", with(&state, arguments.clone(), wrong)).await.result();
    assert_eq!(again["resultType"], "input_required", "an answer of the wrong shape is asked for again");

    let refused = async |user: &str, params: Value| {
        let answer = ask(to, user, params).await;
        assert_eq!(answer.code(), -32602, "{answer:?}");
    };
    refused("mallory", with(&state, arguments.clone(), one.clone())).await;
    refused("ada", with(&state, json!({"a": 1, "b": 3}), one.clone())).await;
    refused("ada", with("", arguments.clone(), one.clone())).await;
    refused("ada", with("bm9uc2Vuc2U", arguments.clone(), one.clone())).await;
    let mut other = with(&state, arguments.clone(), one.clone());
    other["name"] = json!("ask_too");
    refused("ada", other).await;
    for at in (0..state.len()).step_by(17) {
        let mut bytes = state.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        refused("ada", with(&String::from_utf8(bytes).unwrap(), arguments.clone(), one.clone())).await;
    }
    clock.0.store(toolcrib::engine::limits::STATE_MS_MAX - 1, Ordering::SeqCst);
    ask(to, "ada", with(&state, arguments.clone(), one.clone())).await.result();
    clock.0.store(toolcrib::engine::limits::STATE_MS_MAX, Ordering::SeqCst);
    refused("ada", with(&state, arguments.clone(), one)).await;
}

#[tokio::test]
async fn a_capability_that_was_not_declared_is_400_and_minus_32021() {
    let server = Server::new("s", "1").unwrap();
    server
        .register("sample", "x", object(), |_, context: Context| async move {
            context.ask("s", Question::sample(&json!({"messages": [], "maxTokens": 1}))).await?;
            Ok::<_, ToolError>("")
        })
        .unwrap();
    let running = serve(&server).await;
    let answer = modern(running.address, "tools/call", json!({"name": "sample"})).await;
    assert_eq!((answer.status, answer.code()), (400, -32021));
    assert_eq!(answer.json()["error"]["data"]["requiredCapabilities"], json!({"sampling": {}}));
}

/// R3.5: same view, same bytes.
#[tokio::test]
async fn lists_are_the_same_bytes_whatever_the_order_of_registration() {
    let mut bodies = Vec::new();
    for order in [["a", "b", "c"], ["c", "a", "b"]] {
        let server = Server::new("s", "1").unwrap();
        for name in order {
            server.register(name, "x", object(), |_, _: Context| async { Ok::<_, ToolError>("") }).unwrap();
        }
        let running = serve(&server).await;
        bodies.push(modern(running.address, "tools/list", json!({})).await.body);
    }
    assert_eq!(bodies[0], bodies[1]);
}
