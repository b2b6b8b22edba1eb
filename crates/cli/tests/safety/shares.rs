//! Shares: the usage or the stop of one anonymous caller does not affect the others (R4.7).

use serde_json::{Value, json};

use crate::running::{Folder, Legacy, Serving, handle, is_refused, text, until};

const GATED: &str = "launch_confetti";
const READS: &str = "generate_fantasy_character";

fn waits(result: &Value) -> bool {
    text(result).contains("waits for a person")
}

fn ran(result: &Value) -> bool {
    result["isError"].is_null() && result["content"].is_array()
}

/// Returns arguments that no other call of a test has.
fn gold(number: usize) -> Value {
    json!({"from": "vault", "to": format!("somebody {number}"), "amount": 1})
}

/// `APPROVALS_PENDING_MAX`: the 33rd waiting call of a session is refused by its limit, and neither another session nor
/// a client without one loses its place in the queue.
#[test]
fn one_session_that_fills_its_queue_leaves_others_theirs() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let greedy = Legacy::open(&serving, &json!({}));
    for number in 0..32 {
        assert!(waits(&greedy.call("transfer_gold", &gold(number))), "{number}");
    }
    let refused = greedy.call("transfer_gold", &gold(32));
    assert!(is_refused(&refused), "{refused}");
    assert!(text(&refused).contains("at most 32 calls that wait for a person for one caller"), "{refused}");
    assert!(text(&refused).contains(" s, when the first expires"), "{refused}");
    assert!(waits(&greedy.call("transfer_gold", &gold(0))), "what waits already keeps its place");
    assert!(waits(&Legacy::open(&serving, &json!({})).call("transfer_gold", &gold(0))));
    assert!(waits(&serving.client().call("transfer_gold", gold(0))));
}

/// `APPROVALS_PENDING_MAX`, `ADDRESS_SHARES_MAX`: all sessions of one address have four shares together; another
/// address and a credential have their own.
#[test]
fn an_address_that_opens_sessions_has_four_shares_and_no_more() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, "[safety]\napprovals_pending_max = 2\n");
    let full = (0..10).filter(|session| {
        let legacy = Legacy::open(&serving, &json!({}));
        (0..2).any(|number| !waits(&legacy.call("transfer_gold", &gold(session * 2 + number))))
    });
    assert_eq!(full.count(), 6);
    let refused = serving.client().call("transfer_gold", gold(100));
    assert!(
        text(&refused)
            .contains("at most 8 calls that wait for a person for all anonymous callers of one address")
    );
    let elsewhere = serving.client().at_address([127, 0, 0, 2]);
    assert!(waits(&elsewhere.call("transfer_gold", gold(0))));
    let ann = serving.client().with_secret(&serving.credential(&folder, &["ann"]));
    assert!(waits(&ann.call("transfer_gold", gold(0))));
}

/// R4.3: two addresses that request the same call have separate approvals, which are not interchangeable.
#[test]
fn two_addresses_that_want_the_same_call_wait_for_two_approvals() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let (one, two) = (serving.client(), serving.client().at_address([127, 0, 0, 2]));
    let first = handle(&one.call("transfer_gold", gold(0)));
    assert_eq!(handle(&one.call("transfer_gold", gold(0))), first, "the same caller waits once");
    assert_ne!(handle(&two.call("transfer_gold", gold(0))), first);
}

/// `TOKENS_PER_MINUTE_MAX`: the 121st token of one session within a minute is refused, and others get theirs.
#[test]
fn one_session_that_asks_for_tokens_without_end_leaves_others_theirs() {
    let folder = Folder::new();
    // The loop guard would stop the session first.
    let serving = Serving::policy(&folder, "[safety]\nrepeats_max = 0\nrepeats_read_only_max = 0\n");
    let greedy = Legacy::open(&serving, &json!({}));
    let wish = json!({"action": GATED, "params_summary": "x"});
    let mint = |legacy: &Legacy| legacy.call("get_confirmation_token", &wish);
    for number in 0..120 {
        assert!(ran(&mint(&greedy)), "{number}");
    }
    let refused = mint(&greedy);
    assert!(refused["isError"] == true, "{refused}");
    assert!(text(&refused).contains("t most 120 tokens a minute for one caller; try again in "), "{refused}");
    assert!(ran(&mint(&Legacy::open(&serving, &json!({})))));
    assert!(ran(&serving.client().call("get_confirmation_token", wish.clone())));
}

/// R4.7, `REPEATS_MAX`, `LOOP_STOP_MS`: 51 equal calls without a session stop only sessionless callers of that address.
#[test]
fn a_sessionless_caller_that_loops_is_stopped_by_its_address_alone() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let looping = serving.client().at_address([127, 0, 0, 2]);
    let session = Legacy::open(&serving, &json!({}));
    for _ in 0..50 {
        assert!(waits(&looping.call(GATED, json!({"count": 1}))));
    }
    let stopped = looping.call(GATED, json!({"count": 1}));
    assert!(is_refused(&stopped) && text(&stopped).contains("51 times"), "{stopped}");
    assert!(text(&stopped).contains("without a session from address 127.0.0.2"), "{stopped}");
    assert!(text(&stopped).contains("ends by itself in 3600 s"), "{stopped}");
    assert!(is_refused(&looping.call(READS, json!({}))), "it is stopped for every tool");
    assert!(ran(&serving.client().call(READS, json!({}))), "another address is served");
    assert!(ran(&session.call(READS, &json!({}))), "a session is served");
    let status = serving.client().call("emergency_status", json!({}));
    assert_eq!(text(&status), "Not stopped; another caller is.");
    assert!(!status.to_string().contains("127.0.0.2"), "{status}");
    unlocks(&folder, "anonymous@127.0.0.2", || ran(&looping.call(READS, json!({}))));
}

/// R4.7, `REPEATS_MAX`: a session that repeats a call is stopped alone, is named without its full id, and can be
/// unlocked.
#[test]
fn a_session_that_loops_is_stopped_alone() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let (looping, other) = (Legacy::open(&serving, &json!({})), Legacy::open(&serving, &json!({})));
    for _ in 0..50 {
        assert!(waits(&looping.call(GATED, &json!({"count": 1}))));
    }
    let stopped = looping.call(GATED, &json!({"count": 1}));
    assert!(is_refused(&stopped) && text(&stopped).contains("51 times"), "{stopped}");
    assert!(!stopped.to_string().contains(looping.id()), "a session's id opens it");
    assert!(is_refused(&looping.call(READS, &json!({}))));
    assert!(ran(&other.call(READS, &json!({}))));
    assert!(ran(&serving.client().call(READS, json!({}))));
    let operator = folder.operator();
    let shown = serving.rest("GET", "stop", Some(&operator), None).json().unwrap();
    let key = format!("anonymous/{}", &looping.id()[..12]);
    assert_eq!(shown["stops"][0]["caller"], json!(key), "{shown}");
    assert_eq!(shown["stops"][0]["who"], json!(format!("the anonymous session {}…", &looping.id()[..12])));
    let ann = serving.credential(&folder, &["ann"]);
    let hidden = serving.rest("GET", "stop", Some(&ann), None);
    assert!(hidden.text().contains("another anonymous session"), "{}", hidden.text());
    assert!(!hidden.text().contains(&looping.id()[..12]));
    assert!(folder.does(&["audit", "list", "--format", "json"]).contains("the anonymous session"));
    let body = json!({"caller": format!("anonymous/{}", looping.id())});
    assert_eq!(serving.rest("POST", "unlock", Some(&operator), Some(&body)).status, 200);
    assert!(ran(&looping.call(READS, &json!({}))), "it begins anew");
    assert!(waits(&looping.call(GATED, &json!({"count": 1}))), "and is counted anew");
}

fn unlocks(folder: &Folder, caller: &str, is_unlocked: impl Fn() -> bool) {
    folder.does(&["unlock", "--caller", caller]);
    until("it is unlocked", is_unlocked);
}
