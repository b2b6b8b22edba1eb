//! Messages other than answers: list changes, log messages, cancellation; with clients and servers of every era.

use serde_json::{Value, json};
use toolcrib_testkit::http::Request;

use super::client::{Legacy, able, modern, next};
use super::folder::Folder;
use super::running::{Gateway, until};

fn gateway(manner: &str, mark: &str) -> (Gateway, Folder) {
    let program = toolcrib_testkit::deps::built_example("talking").unwrap_or_else(|error| panic!("{error}"));
    let folder = Folder::new(&format!("news-{manner}-{mark}"));
    let text = format!(
        "prefix = \"never\"\n[servers.s]\ncommand = {:?}\nargs = [{manner:?}]\nenv = {{ TALKING_MARK = {:?} }}\n",
        program.display().to_string(),
        folder.0.join("mark").display().to_string()
    );
    (Gateway::start(&["--config", &folder.file("toolcrib.toml", &text)]), folder)
}

/// R5.2: `list_changed` reaches a legacy client's stream and a modern client's subscription, whatever the server
/// speaks.
#[test]
fn a_change_of_a_list_reaches_clients_of_both_eras() {
    for manner in ["legacy", "modern"] {
        let (gateway, _folder) = gateway(manner, "change");
        let legacy = Legacy::new(&gateway, &able());
        let mut session = legacy.listen();
        let wanted = json!({"notifications": {"toolsListChanged": true}});
        let mut subscription =
            modern("subscriptions/listen", &wanted, &able()).open(gateway.address).unwrap();
        let honoured = next(&mut subscription);
        assert_eq!(honoured["method"], "notifications/subscriptions/acknowledged", "{honoured}");
        gateway.ask("tools/call", &json!({"name": "grow", "arguments": {}}));
        assert_eq!(next(&mut session)["method"], "notifications/tools/list_changed", "{manner}");
        let told = next(&mut subscription);
        assert_eq!(told["method"], "notifications/tools/list_changed", "{manner}");
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{told}");
        assert!(gateway.tools().contains(&"grown_0".to_owned()));
    }
}

/// Returns the messages of a call before its answer.
fn logged(request: &Request, gateway: &Gateway) -> Vec<Value> {
    let mut stream = request.open(gateway.address).unwrap();
    assert_eq!(
        stream.header("content-type"),
        Some("text/event-stream"),
        "nothing was said before the answer"
    );
    let mut said = Vec::new();
    loop {
        let message = next(&mut stream);
        if message.get("method").is_none() {
            assert_eq!(message["result"]["content"][0]["text"], "logged", "{message}");
            return said;
        }
        said.push(message["params"]["level"].clone());
    }
}

/// R5.2: log messages reach exactly the clients that requested their level, in the form of each era.
#[test]
fn log_messages_reach_clients_of_both_eras_by_the_level_they_want() {
    for manner in ["legacy", "modern"] {
        let (gateway, _folder) = gateway(manner, "log");
        let legacy = Legacy::new(&gateway, &able());
        legacy.post(
            &json!({"jsonrpc": "2.0", "id": 5, "method": "logging/setLevel", "params": {"level": "warning"}}),
        );
        let call = legacy.calling("tools/call", &json!({"name": "log", "arguments": {}}));
        assert_eq!(logged(&call, &gateway), ["error"], "{manner}");
        let mut params = json!({"name": "log", "arguments": {}});
        params["_meta"] = json!({"io.modelcontextprotocol/logLevel": "debug"});
        assert_eq!(logged(&modern("tools/call", &params, &able()), &gateway), ["debug", "error"], "{manner}");
    }
}

/// R5.2: a legacy client's `notifications/cancelled` and a modern client's disconnect both reach the server.
#[test]
fn a_cancellation_reaches_the_server_from_clients_of_both_eras() {
    for manner in ["legacy", "modern"] {
        let (gateway, folder) = gateway(manner, "cancel");
        let mark = folder.0.join("mark");
        let wait = json!({"name": "wait", "arguments": {}});
        let address = gateway.address;
        let is_under_way =
            || gateway.get("/metrics").1.contains("toolcrib_server_calls_in_flight{server=\"s\"} 1");
        let hanging = modern("tools/call", &wait, &able()).begin(address).unwrap();
        until("under way", is_under_way);
        drop(hanging);
        until("told", || mark.exists());
        std::fs::remove_file(&mark).unwrap();
        let legacy = Legacy::new(&gateway, &able());
        let call = legacy.calling("tools/call", &wait);
        std::thread::scope(|scope| {
            let calling = scope.spawn(|| call.send(address));
            until("under way", is_under_way);
            let cancelled =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
            assert_eq!(legacy.post(&cancelled).status, 202);
            until("told", || mark.exists());
            calling.join().unwrap().unwrap();
        });
    }
}
