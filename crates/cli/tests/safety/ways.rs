//! The ways to confirm, and the clients that are left to their own approval flow (R4.4, R4.5).

use serde_json::{Value, json};

use crate::running::{Folder, Legacy, Serving, handle, is_refused, text};

const TOOL: &str = "launch_confetti";
const HUMAN: &str = "[[safety.rules]]\ntools = [\"launch_*\"]\ndemand = \"human\"\n";

/// R4.5: a modern client with elicitation gets `input_required`; its sealed answer passes once, and only for this call.
#[test]
fn a_modern_client_is_asked_by_input_required_and_its_answer_passes_once() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, HUMAN);
    let client = serving.client().with_elicitation();
    let asked = client.call(TOOL, json!({"count": 8}));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert!(question["params"]["message"].as_str().unwrap().contains("\"count\": 8"), "{question}");
    let retry = |count: u64, state: &Value, key: &str, answer: Value| {
        client.ask(
            "tools/call",
            json!({"name": TOOL, "arguments": {"count": count}, "requestState": state,
            "inputResponses": {key: answer}}),
        )
    };
    let state = &asked["requestState"];
    let yes = json!({"action": "accept", "content": {"confirm": true}});
    for no in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept", "content": {"confirm": false}}),
    ] {
        let result = retry(8, state, key, no);
        assert!(is_refused(&result) && text(&result).contains("declined"), "{result}");
    }
    // Answers without a state sealed by this server are ignored, and the server asks.
    let unsealed = client
        .ask("tools/call", json!({"name": TOOL, "arguments": {"count": 8}, "inputResponses": {key: yes}}));
    assert_eq!(unsealed["resultType"], "input_required");
    let other_key = retry(8, state, "toolcrib-confirm-0", yes.clone());
    assert_eq!(other_key["resultType"], "input_required");
    let result = retry(8, state, key, yes.clone());
    assert_eq!(result["structuredContent"], json!({"launched": 8}), "{result}");
    let again = retry(8, state, key, yes.clone());
    assert!(is_refused(&again) && text(&again).contains("used already"), "{again}");
    let request = client.request(
        "tools/call",
        json!({"name": TOOL, "arguments": {"count": 9}, "requestState": state,
        "inputResponses": {key: yes}}),
    );
    let other = request.send(serving.address).unwrap().json().unwrap();
    assert_eq!(other["error"]["code"], -32602, "a state is bound to its arguments: {other}");
}

/// R4.5: a legacy client with elicitation is asked on the call's own stream.
#[test]
fn a_legacy_client_is_asked_by_elicitation() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, HUMAN);
    let client = Legacy::open(&serving, &json!({"elicitation": {}}));
    let arguments = json!({"count": 9});
    let (asked, result) =
        client.call_answering(TOOL, &arguments, &json!({"action": "accept", "content": {"confirm": true}}));
    assert!(asked["message"].as_str().unwrap().contains(TOOL), "{asked}");
    assert_eq!(result["structuredContent"], json!({"launched": 9}), "{result}");
    let (_, result) = client.call_answering(TOOL, &arguments, &json!({"action": "decline"}));
    assert!(is_refused(&result), "{result}");
}

/// R4.5, R4.9: a client without elicitation waits in the queue, where every argument is shown, hidden characters too.
#[test]
fn a_client_that_cannot_be_asked_waits_in_the_queue() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, "[safety]\ndestructive = \"human\"\n");
    let client = serving.client();
    let arguments = json!({"from": "a\u{202e}b", "to": "\u{1b}[31mred", "amount": 5});
    let pending = client.call("transfer_gold", arguments.clone());
    let id = handle(&pending);
    assert!(
        is_refused(&pending)
            && text(&pending).contains(&id)
            && !text(&pending).contains("get_confirmation_token")
    );
    assert_eq!(handle(&client.call("transfer_gold", arguments.clone())), id, "the same call waits once");
    let result = client.confirmed("transfer_gold", &arguments, &id);
    assert!(is_refused(&result) && text(&result).contains("nobody has decided"), "{result}");
    let listed = folder.does(&["approve", "list"]);
    assert!(listed.contains(&id) && listed.contains("\"amount\": 5"), "{listed}");
    assert!(
        listed.contains("\\u{202e}") && listed.contains("\\u{1b}") | listed.contains("\\u001b"),
        "{listed}"
    );
    assert!(!listed.contains('\u{202e}') && !listed.contains('\u{1b}'), "{listed:?}");
    folder.does(&["approve", "allow", &id]);
    let mut other = arguments.clone();
    other["amount"] = 6.into();
    assert!(is_refused(&client.confirmed("transfer_gold", &other, &id)));
    let result = client.confirmed("transfer_gold", &arguments, &id);
    assert_eq!(result["structuredContent"]["transferred"], 5, "{result}");
    assert!(text(&client.confirmed("transfer_gold", &arguments, &id)).contains("used already"));
    // Denied over REST.
    let id = handle(&client.call("transfer_gold", arguments.clone()));
    let operator = folder.operator();
    let path = format!("approvals/{id}");
    assert_eq!(serving.rest("POST", &path, Some(&operator), Some(&json!({"decision": "deny"}))).status, 200);
    assert_eq!(serving.rest("POST", &path, Some(&operator), Some(&json!({"decision": "allow"}))).status, 409);
    let result = client.confirmed("transfer_gold", &arguments, &id);
    assert!(is_refused(&result) && text(&result).contains("denied"), "{result}");
    assert_eq!(folder.run(&["approve", "allow", "apr_0"]).status.code(), Some(2));
}

/// R4.5: arguments are validated before anybody is asked, and a refused call is not in the queue.
#[test]
fn nobody_is_asked_about_arguments_that_break_the_contract() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    for client in [serving.client(), serving.client().with_elicitation()] {
        let result = client.call(TOOL, json!({"count": 0}));
        assert!(text(&result).contains("Invalid arguments"), "{result}");
    }
    assert_eq!(folder.does(&["approve", "list"]), "nothing waits");
}

/// R4.5: without the queue only the two-step token remains, and it says that it does not prove a person.
#[test]
fn without_a_queue_the_two_step_token_is_named_and_labelled() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, "[safety]\nqueue = false\n");
    let result = serving.client().call(TOOL, json!({"count": 2}));
    assert!(
        text(&result).contains("get_confirmation_token")
            && text(&result).contains("does not prove that a person agreed")
    );
    assert_eq!(result["_meta"].get("toolcrib/confirmation"), None);
}

/// R4.5: under `human` a token minted by the model is never enough; one issued by an operator is.
#[test]
fn under_human_only_an_operators_token_passes() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, HUMAN);
    let client = serving.client();
    let arguments = json!({"count": 3});
    let wish = json!({"action": TOOL, "params_summary": "x", "arguments": arguments});
    let refused = client.call("get_confirmation_token", wish.clone());
    assert!(refused["isError"] == true && text(&refused).contains("person"), "{refused}");
    let ann = serving.credential(&folder, &["ann"]);
    assert_eq!(serving.rest("POST", "confirmation-tokens", Some(&ann), Some(&wish)).status, 403);
    let mut wish = wish;
    wish["caller"] = "anonymous".into();
    let minted = serving.rest("POST", "confirmation-tokens", Some(&folder.operator()), Some(&wish));
    assert_eq!(minted.status, 201);
    let token = minted.json().unwrap()["token"].as_str().unwrap().to_owned();
    assert_eq!(client.confirmed(TOOL, &arguments, &token)["structuredContent"], json!({"launched": 3}));
}

/// R4.4: over HTTP a client in the table counts only with a credential that the operator marked.
#[test]
fn a_name_counts_only_with_a_marked_credential_over_http() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let marked = serving.credential(&folder, &["desk", "--honours"]);
    let plain = serving.credential(&folder, &["other"]);
    let arguments = json!({"count": 1});
    let passes = |client: &crate::running::Client| client.call(TOOL, arguments.clone())["isError"].is_null();
    let client = serving.client();
    assert!(!passes(&client.clone().named("claude-code")));
    assert!(!passes(&client.clone().named("claude-code").with_secret(&plain)));
    assert!(!passes(&client.clone().named("somebody").with_secret(&marked)));
    assert!(passes(&client.named("claude-code").with_secret(&marked)));
}

/// R4.4: over stdio the name is enough; a client that is not in the table is asked for a confirmation.
#[test]
fn over_stdio_a_name_is_enough() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let folder = Folder::new();
    for (name, passes) in [("claude-code", true), ("Roo Code", true), ("somebody", false)] {
        let mut command = std::process::Command::new(crate::running::PROGRAM);
        command.args(["serve", "--demo", "workshop", "--stdio", "--data"]).arg(folder.path());
        let (_process, mut input, output) =
            toolcrib_testkit::process::Process::start_piped(&mut command).unwrap();
        let mut output = BufReader::new(output);
        let mut answer = |message: Value| -> Value {
            writeln!(input, "{message}").unwrap();
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        };
        answer(
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}}),
        );
        let result = answer(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": TOOL, "arguments": {"count": 1}}}));
        assert_eq!(result["result"]["isError"].is_null(), passes, "{name}: {result}");
    }
}

/// `CONFIRMATION_CHARS_MAX`: a question that would not show every argument is not asked; the call waits in the queue.
/// `APPROVAL_BYTES_MAX`: a call that is too large to review does not wait there either.
#[test]
fn nobody_is_asked_about_what_cannot_be_shown_whole() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, "[safety]\ndestructive = \"human\"\n");
    let client = serving.client().with_elicitation();
    let arguments = |memo: usize| json!({"from": "a", "to": "b", "amount": 1, "memo": "m".repeat(memo)});
    assert_eq!(client.call("transfer_gold", arguments(3_000))["resultType"], "input_required");
    let waits = client.call("transfer_gold", arguments(5_000));
    assert!(folder.does(&["approve", "list"]).contains(&handle(&waits)));
    let refused = client.call("transfer_gold", arguments(300_000));
    assert!(is_refused(&refused) && text(&refused).contains("262144 bytes"), "{refused}");
    assert_eq!(folder.does(&["approve", "list"]).matches("apr_").count(), 1);
}

/// `APPROVALS_PENDING_MAX`: a caller cannot fill the queue.
#[test]
fn a_caller_has_only_so_many_calls_waiting() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let client = serving.client();
    for amount in 0..32 {
        handle(&client.call("transfer_gold", json!({"from": "a", "to": "b", "amount": amount})));
    }
    let one_more = client.call("transfer_gold", json!({"from": "a", "to": "b", "amount": 32}));
    assert!(is_refused(&one_more) && text(&one_more).contains("at most 32 calls that wait"), "{one_more}");
    let first = handle(&client.call("transfer_gold", json!({"from": "a", "to": "b", "amount": 0})));
    folder.does(&["approve", "deny", &first]);
    handle(&client.call("transfer_gold", json!({"from": "a", "to": "b", "amount": 32})));
}
