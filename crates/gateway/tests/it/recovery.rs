//! Servers that fail and recover.

use std::time::Duration;

use serde_json::json;

use super::bed::{Bed, http, stdio, with_env};
use toolcrib_gateway::Source;
use toolcrib_upstream::{Spec, Transport};

/// R5.6: the last list is served and marked stale, and the server is restarted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_is_started_again_and_its_list_stays() {
    let bed = Bed::new(vec![stdio("bad", "dies")]).await;
    let tools = bed.tools();
    for _ in 0..3 {
        bed.refusal("bad__poke").await;
        assert_eq!(bed.tools(), tools, "the list stays");
        assert!(bed.status("bad").stale || bed.status("bad").state == "ready");
        bed.until("ready again", |bed| bed.status("bad").state == "ready").await;
        bed.text("bad__echo", json!({})).await;
    }
    bed.gateway.stop().await;
}

/// R5.6: a call is retried only if nothing was sent or the tool is idempotent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_tool_that_does_no_harm_twice_is_called_twice() {
    let mark = |name: &str| {
        let path = std::env::temp_dir().join(format!("toolcrib-mark-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    };
    let (one, other) = (mark("one"), mark("other"));
    let bed = Bed::new(vec![
        with_env(stdio("one", "dies-once"), "HOSTILE_MARK", &one.display().to_string()),
        with_env(stdio("other", "dies-once"), "HOSTILE_MARK", &other.display().to_string()),
    ])
    .await;
    assert_eq!(bed.text("one__safe_poke", json!({})).await, "alive");
    let (text, _) = bed.refusal("other__poke").await;
    assert!(text.contains("may have had its effect"), "{text}");
    bed.until("ready again", |bed| bed.status("other").state == "ready").await;
    assert_eq!(bed.text("other__poke", json!({})).await, "alive");
    bed.gateway.stop().await;
    let _ = (std::fs::remove_file(one), std::fs::remove_file(other));
}

/// R5.6: a missing command, a refused connection, a 401 and an answer that is not HTTP are each named; other servers
/// are served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_cannot_be_reached_are_named_with_their_reason() {
    let (_asks, unauthorized) = http("asks", "unauthorized");
    let (_odd, odd) = http("odd", "not-http");
    let missing = Source::new(Spec::command("missing", &["no-such-program-7".to_owned()]).unwrap(), true);
    let refused = Source::new(Spec::url("refused", "http://127.0.0.1:1/mcp"), true);
    let (_plain, mut plain) = http("plain", "");
    if let Transport::Http(endpoint) = &mut plain.spec.transport {
        endpoint.url = endpoint.url.replace("http://", "https://");
    }
    let bed = Bed::new(vec![missing, refused, plain, unauthorized, odd, stdio("good", "")]).await;
    for (name, says) in [
        ("missing", "the command \"no-such-program-7\" cannot be started: no such command or folder"),
        ("refused", "no connection to 127.0.0.1:1: connection refused"),
        ("plain", "no secure connection to 127.0.0.1:"),
        ("asks", "asks for authentication (HTTP 401)"),
        ("odd", "no HTTP"),
    ] {
        bed.until("failed", |bed| bed.status(name).state == "failed").await;
        let status = bed.status(name);
        assert!(status.reason.as_deref().unwrap().contains(says), "{name}: {status:?}");
        assert!(!status.stale && status.tools == 0);
    }
    bed.text("good__echo", json!({})).await;
    bed.gateway.stop().await;
}

/// R5.6: an expired session is re-initialised once, however many calls noticed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forgotten_session_is_opened_once_and_no_call_is_lost() {
    let (_process, source) = http("web", "forgets");
    let bed = std::sync::Arc::new(Bed::new(vec![source]).await);
    for round in 0..30 {
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..10 {
            let bed = bed.clone();
            calls.spawn(async move { bed.text("web__echo", json!({"round": round, "n": number})).await });
        }
        assert_eq!(calls.join_all().await.len(), 10);
    }
    let counted = bed.text("web__safe_poke", json!({})).await;
    let (opened, forgotten) = counted.split_once(' ').unwrap();
    let (opened, forgotten): (u32, u32) = (opened.parse().unwrap(), forgotten.parse().unwrap());
    assert!(forgotten >= 3, "{counted}");
    assert_eq!(opened, forgotten + 1, "one session more for each that was forgotten");
    bed.gateway.stop().await;
}

/// R5.6: servers start in parallel: ten take as long as one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_that_says_nothing_keeps_no_other_from_being_served() {
    let mut silent = stdio("silent", "silent");
    silent.spec.start_ms_max = 60_000;
    let server = toolcrib::Server::new("gateway", "1").unwrap();
    let gateway =
        toolcrib_gateway::Gateway::start(server.engine().clone(), vec![silent, stdio("good", "")]).unwrap();
    let bed = Bed { server, gateway };
    bed.until("served", |bed| bed.tools().len() == 3).await;
    bed.text("good__echo", json!({})).await;
    assert_eq!(bed.status("silent").state, "starting");
    bed.gateway.stop().await;
}

/// R5.2: a server that changes its list during a call is listed again, and the call is still answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contract_that_changes_in_mid_call_appears_without_losing_the_call() {
    for over_http in [false, true] {
        let (_process, source) = if over_http {
            let (process, source) = http("s", "changes");
            (Some(process), source)
        } else {
            (None, stdio("s", "changes"))
        };
        let bed = Bed::new(vec![source]).await;
        assert_eq!(bed.text("s__poke", json!({})).await, "changed");
        bed.until("listed again", |bed| bed.tools().contains(&"s__new_tool".to_owned())).await;
        bed.gateway.stop().await;
    }
}

/// R5.2: the server gets a cancellation when the caller gives up or a deadline passes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_given_up_is_cancelled_at_the_server() {
    let mark = std::env::temp_dir().join(format!("toolcrib-cancelled-{}", std::process::id()));
    let bed = Bed::new(vec![with_env(stdio("s", "hang"), "HOSTILE_MARK", &mark.display().to_string())]).await;
    for gives_up_first in [true, false] {
        let _ = std::fs::remove_file(&mark);
        if gives_up_first {
            let call = bed.server.call("s__poke", json!({}));
            assert!(tokio::time::timeout(Duration::from_millis(100), call).await.is_err());
        } else {
            bed.refusal("s__poke").await;
        }
        bed.until("told", |_| mark.exists()).await;
    }
    bed.gateway.stop().await;
    let _ = std::fs::remove_file(mark);
}
