//! The emergency stop: in every process, across restarts, lifted by operators only; and the loop guard (R4.7).

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_engine::limits::STOP_HELD_MS_MAX;

use crate::running::{Folder, Legacy, PLENTY, Serving, handle, is_refused, text, until};

const READS: &str = "generate_fantasy_character";

fn runs(serving: &Serving) -> bool {
    serving.client().call(READS, json!({}))["isError"].is_null()
}

/// R4.7, `STOP_SEEN_MS_MAX`: after `toolcrib stop` every process of the folder refuses, also one that starts later.
#[test]
fn a_stop_holds_on_every_replica_and_across_restarts() {
    let folder = Folder::new();
    let (one, two) = (Serving::start(&folder), Serving::start(&folder));
    assert!(runs(&one) && runs(&two));
    folder.does(&["stop", "a drill"]);
    assert!(!runs(&one) && !runs(&two), "as soon as the command has returned");
    let refused = one.client().call(READS, json!({}));
    assert!(is_refused(&refused) && text(&refused).contains("a drill"), "{refused}");
    assert!(!runs(&two));
    one.end();
    let one = Serving::start(&folder);
    assert!(!runs(&one));
    let status = one.client().call("emergency_status", json!({}));
    assert_eq!(status["structuredContent"]["stopped"], true, "{status}");
    assert!(one.client().ask("tools/list", json!({}))["tools"].as_array().unwrap().len() > 3);
    folder.does(&["unlock"]);
    until("both are unlocked", || runs(&one) && runs(&two));
    assert_eq!(folder.run(&["unlock"]).status.code(), Some(2), "there is nothing left to unlock");
}

/// R12.5: after `toolcrib stop` has returned, the next call is refused in every process, in every round.
#[test]
fn when_stop_has_returned_the_very_next_call_is_refused_everywhere() {
    let folder = Folder::new();
    let (one, two) = (Serving::policy(&folder, PLENTY), Serving::policy(&folder, PLENTY));
    for round in 0..50 {
        let said = folder.does(&["stop", &format!("drill {round}")]);
        assert!(said.starts_with("stopped: everything"), "{said}");
        for serving in [&one, &two] {
            let refused = serving.client().call(READS, json!({}));
            let expected = format!("drill {round}");
            assert!(is_refused(&refused) && text(&refused).contains(&expected), "{round}: {refused}");
        }
        folder.does(&["unlock"]);
        until("both are unlocked", || runs(&one) && runs(&two));
    }
}

fn signal(serving: &Serving, name: &str) {
    let sent = Command::new("kill").args([name, &serving.process.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// R12.5, `STOP_HELD_MS_MAX`: the command and REST name a process that does not confirm within the deadline; the stop
/// is stored and holds elsewhere, and a killed process does not count.
#[test]
fn a_process_that_does_not_confirm_a_stop_is_named() {
    let folder = Folder::new();
    let (one, two, three) = (Serving::start(&folder), Serving::start(&folder), Serving::start(&folder));
    let operator = folder.operator();
    signal(&three, "-KILL");
    signal(&two, "-STOP");
    let begun = Instant::now();
    let output = folder.run(&["stop", "a drill"]);
    let took = begun.elapsed();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains(&format!("process {} has not confirmed", two.process.id())), "{said}");
    assert!(said.contains("the stop is written"), "{said}");
    assert!(took < Duration::from_millis(2 * STOP_HELD_MS_MAX), "{took:?}");
    assert!(!runs(&one), "it holds where it was confirmed");
    let told = one.rest("POST", "stop", Some(&operator), Some(&json!({"reason": "again"})));
    assert_eq!(told.status, 202);
    let told = told.json().unwrap();
    assert_eq!(told["unconfirmed"], json!([format!("process {}", two.process.id())]), "{told}");
    assert_eq!((&told["stopped"], &told["stops"][0]["reason"]), (&json!(true), &json!("again")));
    signal(&two, "-CONT");
    until("the process that slept is stopped", || !runs(&two));
    let stopped = one.client().call("emergency_stop", json!({"reason": "once more"}));
    assert!(!text(&stopped).contains("not confirmed"), "{stopped}");
    let refused = two.client().call(READS, json!({}));
    assert!(is_refused(&refused) && text(&refused).contains("once more"), "{refused}");
}

/// R12.5: a scope that is stopped again shows the newest reason, and every stop is in the audit.
#[test]
fn a_repeated_stop_shows_the_newest_reason() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.does(&["stop", "smoke"]);
    folder.does(&["stop", "fire"]);
    let refused = serving.client().call(READS, json!({}));
    assert!(text(&refused).contains("(fire)") && !text(&refused).contains("smoke"), "{refused}");
    let status = serving.client().call("emergency_status", json!({}));
    let stops = status["structuredContent"]["stops"].as_array().unwrap().clone();
    assert_eq!((stops.len(), &stops[0]["reason"]), (1, &json!("fire")), "{status}");
    serving.end();
    let listed = folder.does(&["audit", "list", "--format", "json"]);
    let reasons: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["record"].take())
        .filter(|record| record["kind"] == "stop")
        .map(|mut record| record["note"].take())
        .collect();
    assert_eq!(reasons, [json!("smoke"), json!("fire")], "{listed}");
}

/// R12.3: a confirmation during a stop runs nothing, however it was asked; after the stop, the same confirmation
/// counts.
#[test]
fn a_confirmation_during_a_stop_runs_nothing() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, PLENTY);
    let (tool, arguments) = ("launch_confetti", json!({"count": 3}));
    let yes = json!({"action": "accept", "content": {"confirm": true}});
    let legacy = Legacy::open(&serving, &json!({"elicitation": {}}));
    let mut stream = legacy.call_request(tool, &arguments).open(serving.address).unwrap();
    let mut next = || loop {
        let event = stream.event().unwrap().expect("the stream goes on");
        if let Ok(message) = serde_json::from_str::<Value>(&event.data) {
            return message;
        }
    };
    let question = next();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let modern = serving.client().with_elicitation();
    let asked = modern.call(tool, arguments.clone());
    let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let plain = serving.client();
    let id = handle(&plain.call(tool, arguments.clone()));
    let token = plain.token(tool, &arguments);
    folder.does(&["stop", "a drill"]);
    folder.does(&["approve", "allow", &id]);
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": yes});
    assert_eq!(legacy.post(&reply).send(serving.address).unwrap().status, 202);
    let result = next()["result"].take();
    assert!(is_refused(&result) && text(&result).contains("emergency stop"), "{result}");
    let retry = || {
        modern.ask(
            "tools/call",
            json!({"name": tool, "arguments": arguments, "requestState": asked["requestState"],
                "inputResponses": {&*key: yes}}),
        )
    };
    let inner = || plain.call("call_tool", json!({"name": tool, "arguments": arguments}));
    let confirmed = [
        retry(),
        plain.confirmed(tool, &arguments, &id),
        plain.confirmed(tool, &arguments, &token),
        legacy.call("generate_fantasy_character", &json!({})),
    ];
    for result in confirmed {
        assert!(is_refused(&result) && text(&result).contains("a drill"), "{result}");
    }
    if plain.ask("tools/list", json!({}))["tools"].to_string().contains("\"call_tool\"") {
        assert!(is_refused(&inner()), "call_tool");
    }
    folder.does(&["unlock"]);
    until("it is unlocked", || runs(&serving));
    for result in [retry(), plain.confirmed(tool, &arguments, &id), plain.confirmed(tool, &arguments, &token)]
    {
        assert_eq!(result["structuredContent"], json!({"launched": 3}), "nothing was burnt: {result}");
    }
}

/// R4.7: a name that matches no caller is refused, because such a stop would stop nobody.
#[test]
fn a_stop_of_nobody_is_refused() {
    let folder = Folder::new();
    let refused = folder.run(&["stop", "--caller", "ann"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("subject:ann"), "{said}");
    folder.does(&["stop", "--caller", "subject:ann"]);
}

/// R4.7: a model may stop, but only an operator unlocks: no token, no elicitation, no credential of another.
#[test]
fn a_model_can_stop_but_not_unlock() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let ann = serving.credential(&folder, &["ann"]);
    let client = serving.client();
    let stopped = client.call("emergency_stop", json!({"reason": "it smells of smoke"}));
    assert_eq!(stopped["structuredContent"]["stopped"], true);
    assert!(!runs(&serving), "at once, where it was asked for");
    let wish = json!({"action": "emergency_unlock", "params_summary": "x"});
    assert!(client.call("get_confirmation_token", wish)["isError"] == true);
    let unlocking = client.clone().with_elicitation().call("emergency_unlock", json!({}));
    let id = handle(&unlocking);
    assert!(is_refused(&client.confirmed("emergency_unlock", &json!({}), &id)));
    assert_eq!(serving.rest("POST", "unlock", Some(&ann), Some(&json!({}))).status, 403);
    assert_eq!(serving.rest("POST", "unlock", None, Some(&json!({}))).status, 401);
    assert!(!runs(&serving));
    folder.does(&["approve", "allow", &id]);
    let unlocked = client.confirmed("emergency_unlock", &json!({}), &id);
    assert_eq!(unlocked["structuredContent"]["stopped"], false, "{unlocked}");
    assert!(runs(&serving));
    let operator = folder.operator();
    assert_eq!(serving.rest("POST", "stop", Some(&ann), Some(&json!({"reason": "again"}))).status, 200);
    assert!(!runs(&serving));
    assert_eq!(serving.rest("POST", "unlock", Some(&operator), Some(&json!({}))).status, 200);
    assert!(runs(&serving));
}

/// `REPEATS_MAX`: without a policy, calls that are not read-only are counted, confirmed or not.
#[test]
fn the_default_stops_the_fifty_first_repetition() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let client = serving.client();
    for _ in 0..50 {
        assert!(text(&client.call("launch_confetti", json!({"count": 1}))).contains("waits for a person"));
    }
    let looped = client.call("launch_confetti", json!({"count": 1}));
    assert!(is_refused(&looped) && text(&looped).contains("51 times"), "{looped}");
}

/// R4.7: a caller that repeats one call is stopped alone, and stays stopped after a restart.
#[test]
fn a_caller_that_loops_is_stopped_and_others_are_not() {
    let folder = Folder::new();
    let policy = "[safety]\nrepeats_read_only_max = 20\n";
    let serving = Serving::policy(&folder, policy);
    let (ann, bob) = (serving.credential(&folder, &["ann"]), serving.credential(&folder, &["bob"]));
    let calls = |serving: &Serving, secret: &str, theme: &str| {
        serving.client().with_secret(secret).call(READS, json!({"theme": theme}))
    };
    let ran = |result: &Value| result["isError"].is_null();
    for _ in 0..20 {
        assert!(ran(&calls(&serving, &ann, "sea")));
        assert!(ran(&calls(&serving, &bob, "forest")));
    }
    let looped = calls(&serving, &ann, "sea");
    assert!(is_refused(&looped) && text(&looped).contains("21 times"), "{looped}");
    assert!(!ran(&calls(&serving, &ann, "anything else")));
    assert!(ran(&calls(&serving, &bob, "sea")));
    serving.end();
    let serving = Serving::policy(&folder, policy);
    assert!(!ran(&calls(&serving, &ann, "sea")));
    let unlock = |serving: &Serving| {
        folder.does(&["unlock", "--caller", "subject:ann"]);
        let status =
            || serving.client().call("emergency_status", json!({}))["structuredContent"]["stopped"].take();
        until("ann is unlocked", || status() == json!(false));
    };
    unlock(&serving);
    // Unlocked by another process, it starts from zero and is stopped again.
    for _ in 0..2 {
        for _ in 0..20 {
            assert!(ran(&calls(&serving, &ann, "sea")));
        }
        assert!(!ran(&calls(&serving, &ann, "sea")));
        unlock(&serving);
    }
}
