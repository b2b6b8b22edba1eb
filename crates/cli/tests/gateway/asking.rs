//! Elicitations during a call, a prompt and a resource, with clients and servers of every era.

use serde_json::{Value, json};

use super::client::{Legacy, able, modern, modern_call};
use super::folder::Folder;
use super::running::{Gateway, until};

fn server(manner: &str) -> [String; 2] {
    let path = toolcrib_testkit::deps::built_example("talking").unwrap_or_else(|error| panic!("{error}"));
    [path.display().to_string(), manner.to_owned()]
}

fn gateway(manner: &str) -> Gateway {
    let [program, manner] = server(manner);
    Gateway::start(&["--", &program, &manner])
}

/// Answers a question of the server; the result contains the name.
fn answer(question: &Value) -> Value {
    match question["method"].as_str().unwrap() {
        "elicitation/create" => json!({"action": "accept", "content": {"name": "Ada"}}),
        "sampling/createMessage" => {
            json!({"role": "assistant", "content": {"type": "text", "text": "Ada"}, "model": "m"})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///Ada"}]}),
        other => panic!("{other}"),
    }
}

/// Requests that ask, in each of the three methods.
fn places() -> Vec<(&'static str, Value)> {
    let kinds = ["elicitation", "sampling", "roots"];
    let of = |kind: &&str| {
        [
            ("tools/call", json!({"name": kind, "arguments": {}})),
            ("prompts/get", json!({"name": kind})),
            ("resources/read", json!({"uri": format!("ask://{kind}")})),
        ]
    };
    kinds.iter().flat_map(of).collect()
}

fn asked_everywhere(gateway: &Gateway) {
    let legacy = Legacy::new(gateway, &able());
    for (method, params) in places() {
        let (answered, asked) = legacy.call(method, &params, answer);
        assert!(answered["result"].to_string().contains("Ada"), "legacy {method} {params}: {answered}");
        assert_eq!(asked, 1, "legacy {method} {params}");
        let (answered, asked) = modern_call(gateway, method, &params, answer);
        assert!(answered["result"].to_string().contains("Ada"), "modern {method} {params}: {answered}");
        assert_eq!((asked, &answered["result"]["resultType"]), (1, &json!("complete")), "{method} {params}");
    }
}

/// R5.2: elicitation, sampling and roots of a legacy server reach clients of both eras, in all three methods.
#[test]
fn a_legacy_server_asks_clients_of_both_eras_in_calls_prompts_and_resources() {
    asked_everywhere(&gateway("legacy"));
}

/// R5.2: elicitation, sampling and roots of a modern server reach clients of both eras, in all three methods.
#[test]
fn a_modern_server_asks_clients_of_both_eras_in_calls_prompts_and_resources() {
    asked_everywhere(&gateway("modern"));
}

/// R5.6: a modern server that asks in every round is stopped at the limit of rounds, also with a legacy client.
#[test]
fn a_modern_server_that_asks_for_ever_is_stopped() {
    let gateway = gateway("forever");
    let legacy = Legacy::new(&gateway, &able());
    for (method, params) in places() {
        let (refused, asked) = legacy.call(method, &params, answer);
        assert_eq!(asked, 10, "{method} {params}");
        assert!(refused.to_string().contains("asked too often"), "{refused}");
    }
}

/// R5.2: a client without the capability gets an error that names it, and no call hangs.
#[test]
fn a_client_that_cannot_be_asked_is_told_so_in_every_method() {
    for manner in ["legacy", "modern"] {
        let gateway = gateway(manner);
        for (method, params) in places() {
            let answer = modern(method, &params, &json!({})).send(gateway.address).unwrap().json().unwrap();
            let said = answer.to_string();
            assert!(!said.contains("Ada") && !said.contains("input_required"), "{manner} {method}: {said}");
        }
    }
}

/// R5.2: a parked request belongs to its request: the state is valid for the same request only.
#[test]
fn the_state_of_a_parked_resource_takes_up_no_other_request() {
    let gateway = gateway("legacy");
    let asked = modern("resources/read", &json!({"uri": "ask://elicitation"}), &able());
    let asked = asked.send(gateway.address).unwrap().json().unwrap();
    let (key, question) = asked["result"]["inputRequests"].as_object().unwrap().iter().next().unwrap();
    let mut params =
        json!({"uri": "ask://roots", "inputResponses": {}, "requestState": asked["result"]["requestState"]});
    params["inputResponses"][key] = answer(question);
    let refused = modern("resources/read", &params, &able()).send(gateway.address).unwrap().json().unwrap();
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    params["uri"] = json!("ask://elicitation");
    let answered = modern("resources/read", &params, &able()).send(gateway.address).unwrap().json().unwrap();
    assert!(answered["result"].to_string().contains("Ada"), "{answered}");
}

/// R5.2: a server that speaks both eras but asks only in the legacy way is spoken to in the revision the file names.
#[test]
fn a_server_that_answers_both_ways_is_spoken_to_as_the_file_says() {
    let folder = Folder::new("revision");
    let [program, manner] = server("both");
    let table = format!("[servers.s]\ncommand = {program:?}\nargs = [{manner:?}]\n");
    let path = folder.file("toolcrib.toml", &table);
    let gateway = Gateway::start(&["--config", &path]);
    let revision = || {
        let ready: Value = serde_json::from_str(&gateway.get("/readyz").1).unwrap();
        ready["servers"][0].clone()
    };
    let params = json!({"name": "s__elicitation", "arguments": {}});
    assert_eq!(revision()["revision"], "2026-07-28");
    assert_eq!(modern_call(&gateway, "tools/call", &params, answer).1, 0, "it cannot ask");
    // In force without a restart.
    folder.file("toolcrib.toml", &format!("{table}revision = \"2025-06-18\"\n"));
    until("pinned", || revision()["revision"] == "2025-06-18");
    let (answered, asked) = modern_call(&gateway, "tools/call", &params, answer);
    assert!(asked == 1 && answered["result"].to_string().contains("Ada"), "{answered}");
}

/// R5.2: a modern server that refuses the version and names a known one is asked again in that version.
#[test]
fn a_server_that_names_another_version_is_asked_again() {
    let gateway = gateway("picky");
    let ready: Value = serde_json::from_str(&gateway.get("/readyz").1).unwrap();
    assert_eq!(ready["servers"][0]["revision"], "2026-07-28", "{ready}");
}

/// R5.2: a server that does not speak the revision the file names is reported, with its answer.
#[test]
fn a_server_that_does_not_speak_the_revision_of_the_file_is_named() {
    let folder = Folder::new("other-revision");
    let [program, _] = server("");
    let table = |name: &str, manner: &str, revision: &str| {
        format!("[servers.{name}]\ncommand = {program:?}\nargs = [{manner:?}]\nrevision = {revision:?}\n")
    };
    let everything = super::running::npm("server-everything", &["stdio"]);
    let text = format!(
        "{}{}{}[servers.old]\ncommand = {:?}\nargs = {:?}\nrevision = \"2026-07-28\"\n",
        table("modern", "modern", "2025-11-25"),
        table("legacy", "legacy", "2026-07-28"),
        table("fits", "legacy", "2025-03-26"),
        everything[0],
        &everything[1..],
    );
    let gateway = Gateway::start(&["--config", &folder.file("toolcrib.toml", &text)]);
    let ready: Value = serde_json::from_str(&gateway.get("/readyz").1).unwrap();
    let of = |name: &str| {
        ready["servers"].as_array().unwrap().iter().find(|server| server["name"] == name).unwrap().clone()
    };
    assert_eq!((&of("fits")["state"], &of("fits")["revision"]), (&json!("ready"), &json!("2025-03-26")));
    assert!(of("modern")["reason"].as_str().unwrap().contains("refused"), "{ready}");
    for name in ["legacy", "old"] {
        let reason = of(name)["reason"].as_str().unwrap_or_else(|| panic!("{ready}")).to_owned();
        assert!(reason.contains("does not speak MCP 2026-07-28"), "{reason}");
    }
}
