//! The emergency stop of a gateway: the requests that it refuses, and where it is visible (R12.3, R12.5).

use std::process::Command;

use serde_json::{Value, json};

use super::client::{Legacy, able, modern, next};
use super::folder::Folder;
use super::running::{Gateway, PROGRAM, SOON, until};

const TOOL: &str = "launch_confetti";

/// Starts a gateway without confirmations in front of a Toolcrib server with its own gate.
fn gateway(folder: &Folder) -> Gateway {
    let own = |name: &str| folder.0.join(name).display().to_string();
    let policy = folder.file("policy.toml", "[safety]\ndestructive = \"never\"\n");
    let (data, behind) = (own("data"), own("behind"));
    let words = ["--", PROGRAM, "serve", "--stdio", "--demo", "workshop", "--data", behind.as_str()];
    let own = ["--data".to_owned(), data, "--policy".to_owned(), policy];
    let gateway = Gateway::start_with(own, &words);
    until("served", || gateway.tools().contains(&TOOL.to_owned()));
    gateway
}

fn does(folder: &Folder, words: &[&str]) {
    let output = Command::new(PROGRAM).args(words).arg("--data").arg(folder.0.join("data")).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

/// R12.5: `/readyz`, `/metrics` and the log report a stop (who is stopped, by whom, why, since when) and its end.
#[test]
fn a_stop_is_seen_in_the_log_and_on_the_pages() {
    let folder = Folder::new("stop-seen");
    let mut gateway = gateway(&folder);
    assert!(gateway.get("/metrics").1.contains("\ntoolcrib_stops 0\n"));
    does(&folder, &["stop", "smoke in the hall"]);
    let ready: Value = serde_json::from_str(&gateway.get("/readyz").1).unwrap();
    let stop = &ready["stops"][0];
    assert_eq!((&ready["stopped"], &stop["reason"]), (&json!(true), &json!("smoke in the hall")), "{ready}");
    assert!(stop["by"].as_str().unwrap().starts_with("command line"), "{ready}");
    assert_eq!(stop["who"], "everybody", "{ready}");
    assert!(stop["since_ms"].as_u64().is_some(), "{ready}");
    assert!(gateway.get("/metrics").1.contains("\ntoolcrib_stops 1\n"));
    let mut logged = |word: &str| {
        let has = |line: &str| (line.contains(word) && line.contains("smoke in the hall")).then_some(());
        gateway.process.wait_for_line(word, SOON, has).unwrap();
    };
    logged("an emergency stop is in force");
    does(&folder, &["unlock"]);
    logged("an emergency stop has ended");
}

/// R12.3: during a stop nothing reaches a server: no call, no resource subscription, no answer to a question during a
/// call.
#[test]
fn a_stop_holds_back_answers_and_subscriptions() {
    let folder = Folder::new("stop-covers");
    let gateway = gateway(&folder);
    let legacy = Legacy::new(&gateway, &able());
    let wish = json!({"name": TOOL, "arguments": {"count": 2}});
    // The server's own gate asks during the call.
    let mut stream = legacy.calling("tools/call", &wish).open(gateway.address).unwrap();
    let question = next(&mut stream);
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let asked = modern("tools/call", &wish, &able()).send(gateway.address).unwrap().json().unwrap();
    let (key, _) = asked["result"]["inputRequests"].as_object().unwrap().iter().next().unwrap();
    does(&folder, &["stop", "a drill"]);
    let yes = json!({"action": "accept", "content": {"confirm": true}});
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": yes});
    assert_eq!(legacy.post(&reply).status, 202);
    let message = next(&mut stream);
    assert!(!message.to_string().contains("launched"), "{message}");
    let mut again = wish.clone();
    again["requestState"] = asked["result"]["requestState"].clone();
    again["inputResponses"] = json!({ key: yes });
    let message = modern("tools/call", &again, &able()).send(gateway.address).unwrap().json().unwrap();
    assert!(message.to_string().contains("a drill"), "{message}");
    let filter = json!({"notifications": {"resourceSubscriptions": ["file:///x"]}});
    let refused = modern("subscriptions/listen", &filter, &able()).send(gateway.address).unwrap();
    assert!(refused.text().contains("a drill"), "{}", refused.text());
    for (method, params) in [
        ("prompts/get", json!({"name": "p"})),
        ("resources/read", json!({"uri": "file:///x"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}),
        ),
    ] {
        let message = modern(method, &params, &able()).send(gateway.address).unwrap().json().unwrap();
        assert!(message.to_string().contains("a drill"), "{method}: {message}");
    }
    let behind = folder.0.join("behind").display().to_string();
    let listed =
        Command::new(PROGRAM).args(["audit", "list", "--format", "json", "--data", &behind]).output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    assert!(!listed.contains("\"intent\""), "nothing ran: {listed}");
}
