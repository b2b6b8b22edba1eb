//! The emergency stop: everywhere, across restarts, lifted by operators only; and callers that loop (R4.7).

use serde_json::{Value, json};

use crate::running::{Folder, Serving, handle, is_refused, text, until};

const READS: &str = "generate_fantasy_character";

fn runs(serving: &Serving) -> bool {
    serving.client().call(READS, json!({}))["isError"].is_null()
}

/// R4.7, `STOP_SEEN_MS_MAX`: stopped by the command line, every process of the folder refuses, also one that starts later.
#[test]
fn a_stop_holds_on_every_replica_and_across_restarts() {
    let folder = Folder::new();
    let (one, two) = (Serving::start(&folder), Serving::start(&folder));
    assert!(runs(&one) && runs(&two));
    folder.does(&["stop", "a drill"]);
    until("both are stopped", || !runs(&one) && !runs(&two));
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

/// R4.7: a name that is no caller's is refused, because such a stop would stop nobody.
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

/// `REPEATS_MAX`: without a policy, the call that is not read-only is counted, confirmed or not.
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

/// R4.7: a caller that repeats one call is stopped by itself, it alone, and stays so after a restart.
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
    // Unlocked by another process, it begins anew, and is stopped anew.
    for _ in 0..2 {
        for _ in 0..20 {
            assert!(ran(&calls(&serving, &ann, "sea")));
        }
        assert!(!ran(&calls(&serving, &ann, "sea")));
        unlock(&serving);
    }
}
