//! Tokens: bound, short-lived, used once, durable (R4.1 to R4.3).

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::running::{Client, Folder, Legacy, PLENTY, Serving, is_refused, pause, text};
use crate::size;

const TOOL: &str = "launch_confetti";

fn launched(result: &Value) -> bool {
    result["isError"].is_null() && result["structuredContent"].get("launched").is_some()
}

/// R4.1: the answer has the promised shape, and a new token confirms one call.
#[test]
fn a_token_confirms_one_call_and_no_second() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let client = serving.client();
    let arguments = json!({"count": 3});
    let wish = json!({"action": TOOL, "params_summary": "three cannons", "arguments": arguments});
    let result = client.call("get_confirmation_token", wish);
    let token = &result["structuredContent"];
    assert!(token["token"].as_str().unwrap().starts_with("ctk_"));
    assert_eq!((&token["action"], &token["params_summary"]), (&json!(TOOL), &json!("three cannons")));
    assert_eq!(token["expires_in_seconds"], toolcrib_engine::limits::TOKEN_MS / 1_000);
    assert!(token["instruction"].as_str().unwrap().contains("does not prove that a person agreed"));
    let token = token["token"].as_str().unwrap();
    assert!(launched(&client.confirmed(TOOL, &arguments, token)));
    let again = client.confirmed(TOOL, &arguments, token);
    assert!(is_refused(&again) && text(&again).contains("used already"), "{again}");
    let tools = client.ask("tools/list", json!({}));
    let listed =
        tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "get_confirmation_token");
    let hints = &listed.unwrap()["annotations"];
    assert_eq!((&hints["readOnlyHint"], &hints["idempotentHint"]), (&json!(true), &json!(false)));
}

/// R4.1, `SUMMARY_CHARS_MAX`: an action that cannot be confirmed gets no token, and a message with what to do instead.
#[test]
fn bad_wishes_get_a_sentence_and_no_token() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let client = serving.client();
    let cases = [
        (json!({"action": "launch_rockets", "params_summary": "x"}), "tool list"),
        (json!({"action": "generate_fantasy_character", "params_summary": "x"}), "not a destructive tool"),
        (json!({"action": "call_tool", "params_summary": "x"}), "tool list"),
        (json!({"action": "emergency_stop", "params_summary": "x"}), "not a destructive tool"),
        (json!({"action": "emergency_unlock", "params_summary": "x"}), "person"),
        (json!({"action": TOOL}), "params_summary"),
        (json!({"action": TOOL, "params_summary": ""}), "params_summary"),
        (json!({"action": TOOL, "params_summary": "x".repeat(2_001)}), "2000"),
        (json!({"action": TOOL, "params_summary": "x", "arguments": {"count": 101}}), "100"),
        (json!({"action": TOOL, "params_summary": "x", "arguments": 7}), "arguments"),
    ];
    for (wish, says) in cases {
        let result = client.call("get_confirmation_token", wish.clone());
        assert_eq!(result["isError"], true, "{wish}: {result}");
        assert!(text(&result).contains(says), "{wish}: {result}");
    }
    let listed = serving.rest("GET", "confirmation-tokens", Some(&folder.operator()), None).json().unwrap();
    assert_eq!(listed, json!({"tokens": []}));
}

/// R4.3: of a hundred parallel redemptions of one token exactly one passes, for each of many tokens.
#[test]
fn of_a_hundred_parallel_redemptions_exactly_one_passes() {
    const AT_ONCE: usize = 100;
    let folder = Folder::new();
    let serving = Serving::policy(&folder, PLENTY);
    let client = serving.client();
    let arguments = json!({"count": 1});
    let tokens: Vec<String> = (0..size(10, 1_000)).map(|_| client.token(TOOL, &arguments)).collect();
    let barrier = Barrier::new(AT_ONCE);
    let passed: Vec<AtomicUsize> = tokens.iter().map(|_| AtomicUsize::new(0)).collect();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                for (token, passed) in tokens.iter().zip(&passed) {
                    barrier.wait();
                    let result = client.confirmed(TOOL, &arguments, token);
                    if launched(&result) {
                        passed.fetch_add(1, Ordering::Relaxed);
                    } else {
                        assert!(is_refused(&result), "{result}");
                    }
                }
            });
        }
    });
    let wrong: Vec<usize> =
        passed.iter().map(|count| count.load(Ordering::Relaxed)).filter(|n| *n != 1).collect();
    assert!(wrong.is_empty(), "passed more or less than once: {wrong:?}");
}

/// Returns every value that differs from this one in one leaf.
fn mutations(value: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    match value {
        Value::Object(members) => {
            for (key, inner) in members {
                for changed in mutations(inner) {
                    let mut object = members.clone();
                    object.insert(key.clone(), changed);
                    all.push(Value::Object(object));
                }
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                for changed in mutations(inner) {
                    let mut array = items.clone();
                    array[at] = changed;
                    all.push(Value::Array(array));
                }
            }
            if items.len() > 1 {
                let mut swapped = items.clone();
                swapped.swap(0, 1);
                all.push(Value::Array(swapped));
            }
            let mut doubled = items.clone();
            doubled.extend(items.first().cloned());
            all.push(Value::Array(doubled));
            all.push(Value::Array(items.iter().skip(1).cloned().collect()));
        }
        Value::String(text) => {
            let alike = [
                ("a", "\u{430}"),
                ("o", "\u{3bf}"),
                ("e", "\u{435}"),
                ("\u{e9}", "e\u{301}"),
                ("A", "\u{391}"),
            ];
            all.extend(
                alike
                    .iter()
                    .filter(|(from, _)| text.contains(from))
                    .map(|(from, to)| text.replacen(from, to, 1).into()),
            );
            all.extend(
                [
                    format!("{text} "),
                    format!("{text}\u{200b}"),
                    format!("\u{202e}{text}"),
                    text.to_uppercase() + "x",
                ]
                .map(Value::from),
            );
        }
        Value::Number(number) => {
            if let Some(number) = number.as_u64() {
                all.extend([number + 1, number - 1, number + 2, number - 2, number / 2].map(Value::from));
            } else if let Some(number) = number.as_f64() {
                all.extend(
                    [
                        f64::from_bits(number.to_bits() + 1),
                        f64::from_bits(number.to_bits() - 1),
                        number * 2.0,
                    ]
                    .map(Value::from),
                );
            }
        }
        Value::Bool(flag) => all.push((!flag).into()),
        Value::Null => all.push("".into()),
    }
    all
}

/// R4.3: no leaf of the arguments can change, neither by one in 2^53 nor by a similar-looking letter.
#[test]
fn no_other_arguments_pass_with_a_token() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, PLENTY);
    let client = serving.client();
    let base = json!({"from": "vault caf\u{e9}", "to": "Anna", "memo": "rent", "amount": 9_007_199_254_740_993_u64,
        "shares": [{"to": "Bob", "part": 0.1}, {"to": "Eve", "part": 0.25}]});
    let token = client.token("transfer_gold", &base);
    let mut all = mutations(&base);
    for amount in [9_007_199_254_740_992_u64, 9_007_199_254_740_994, u64::MAX, 0] {
        let mut other = base.clone();
        other["amount"] = amount.into();
        all.push(other);
    }
    for key in ["memo", "shares"] {
        let mut other = base.clone();
        other.as_object_mut().unwrap().shift_remove(key);
        all.push(other);
    }
    assert!(all.len() > 40, "{}", all.len());
    for other in &all {
        assert_ne!(*other, base);
        let result = client.confirmed("transfer_gold", other, &token);
        assert!(is_refused(&result), "{other}: {result}");
    }
    // Another key order and other white space are the same arguments.
    let shuffled = r#"{ "shares":[{"part":0.1,"to":"Bob"},{"to":"Eve","part":0.25}], "memo":"rent","to":"Anna",
        "amount":9007199254740993, "from":"vault caf\u00e9" }"#;
    let shuffled: Value = serde_json::from_str(shuffled).unwrap();
    let result = client.confirmed("transfer_gold", &shuffled, &token);
    assert_eq!(result["structuredContent"]["transferred"], json!(9_007_199_254_740_993_u64), "{result}");
}

/// R4.3: no bit of a token can be flipped, and no similar token passes.
#[test]
fn no_flipped_bit_of_a_token_passes() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, PLENTY);
    let client = serving.client();
    let arguments = json!({"count": 2});
    let token = client.token(TOOL, &arguments);
    let mut forged: Vec<String> = (0..token.len() * 8)
        .map(|bit| {
            let flip = |(at, byte): (usize, u8)| {
                char::from(if at == bit / 8 { byte ^ (1 << (bit % 8)) } else { byte })
            };
            token.bytes().enumerate().map(flip).collect()
        })
        .collect();
    forged.extend([
        token.to_uppercase(),
        format!("{token}="),
        format!(" {token}"),
        token[..token.len() - 1].to_owned(),
    ]);
    forged.extend(["ctk_".to_owned(), String::new(), "x".repeat(100_000), token.replace("ctk_", "apr_")]);
    for forged in &forged {
        assert_ne!(*forged, token);
        let result = client.confirmed(TOOL, &arguments, forged);
        assert!(is_refused(&result), "{forged}: {result}");
    }
    for other in [json!(7), json!(null), json!([token]), json!({"token": token})] {
        let result = client.call(TOOL, json!({"count": 2, "confirmation_token": other}));
        assert!(is_refused(&result), "{result}");
    }
    assert!(launched(&client.confirmed(TOOL, &arguments, &token)));
}

/// R4.3: no token passes for another caller, session, tool or policy.
#[test]
fn a_token_is_worth_nothing_to_anybody_or_anything_else() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, PLENTY);
    let (ann, bob) = (serving.credential(&folder, &["ann"]), serving.credential(&folder, &["bob"]));
    let anonymous = serving.client();
    let (ann, bob): (Client, Client) =
        (anonymous.clone().with_secret(&ann), anonymous.clone().with_secret(&bob));
    let arguments = json!({"count": 4});
    let token = ann.token(TOOL, &arguments);
    for other in [&bob, &anonymous] {
        let result = other.confirmed(TOOL, &arguments, &token);
        assert!(is_refused(&result) && text(&result).contains("not known"), "{result}");
    }
    let gold = json!({"from": "a", "to": "b", "amount": 1});
    assert!(is_refused(&ann.confirmed("transfer_gold", &gold, &token)));
    let (one, two) = (Legacy::open(&serving, &json!({})), Legacy::open(&serving, &json!({})));
    let wish = json!({"action": TOOL, "params_summary": "x", "arguments": arguments});
    let in_session =
        one.call("get_confirmation_token", &wish)["structuredContent"]["token"].as_str().unwrap().to_owned();
    let shown = json!({"count": 4, "confirmation_token": in_session});
    assert!(is_refused(&two.call(TOOL, &shown)));
    assert!(is_refused(&anonymous.call(TOOL, shown.clone())));
    assert!(launched(&one.call(TOOL, &shown)));
    // The token after a restart: valid under the same policy, void under another.
    let later = ann.token(TOOL, &arguments);
    serving.end();
    let changed = PLENTY.to_owned() + "[[safety.rules]]\ntools = [\"nothing\"]\ndemand = \"always\"\n";
    let serving = Serving::policy(&folder, &changed);
    let moved = |client: &Client| Client { address: serving.address, ..client.clone() };
    let result = moved(&ann).confirmed(TOOL, &arguments, &later);
    assert!(is_refused(&result) && text(&result).contains("policy has changed"), "{result}");
    serving.end();
    let serving = Serving::policy(&folder, PLENTY);
    let moved = |client: &Client| Client { address: serving.address, ..client.clone() };
    assert!(is_refused(&moved(&bob).confirmed(TOOL, &arguments, &later)));
    assert!(launched(&moved(&ann).confirmed(TOOL, &arguments, &later)));
    assert!(is_refused(&moved(&ann).confirmed(TOOL, &arguments, &token.replace("ctk_", "ctk_0"))));
}

/// R4.3: a used token stays used after a restart; an unused one survives it.
#[test]
fn a_restart_neither_loses_nor_revives_a_token() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let client = serving.client();
    let arguments = json!({"count": 5});
    let (used, unused) = (client.token(TOOL, &arguments), client.token(TOOL, &arguments));
    assert!(launched(&client.confirmed(TOOL, &arguments, &used)));
    serving.end();
    let serving = Serving::start(&folder);
    let client = serving.client();
    assert!(text(&client.confirmed(TOOL, &arguments, &used)).contains("used already"));
    assert!(launched(&client.confirmed(TOOL, &arguments, &unused)));
}

/// R4.3: a token expires after its lifetime (the store's own test checks the millisecond).
#[test]
fn an_expired_token_does_not_pass() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, "[safety]\ntoken_ms = 1500\n");
    let client = serving.client();
    let arguments = json!({"count": 6});
    let (early, late) = (client.token(TOOL, &arguments), client.token(TOOL, &arguments));
    assert!(launched(&client.confirmed(TOOL, &arguments, &early)));
    pause(Duration::from_millis(1_600));
    let result = client.confirmed(TOOL, &arguments, &late);
    assert!(is_refused(&result) && text(&result).contains("expired"), "{result}");
}

/// R4.2: the advertised schema has the token property only for clients that need it, and the tool never receives it.
#[test]
fn the_property_is_advertised_only_to_clients_that_need_it() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let takes = |client: &Client, tool: &str| {
        let tools = client.ask("tools/list", json!({}))["tools"].take();
        let tool = tools.as_array().unwrap().iter().find(|it| it["name"] == tool).unwrap().clone();
        tool["inputSchema"]["properties"].get("confirmation_token").is_some()
    };
    let plain = serving.client();
    assert!(takes(&plain, TOOL) && takes(&plain, "transfer_gold"));
    assert!(!takes(&plain, "generate_fantasy_character"));
    assert!(!takes(&plain.clone().with_elicitation(), TOOL));
    assert!(takes(&plain.clone().named("claude-code"), TOOL), "a name alone is no credential");
    // `deny_unknown_fields`: the handler would refuse an unknown argument.
    let arguments = json!({"count": 7});
    let token = plain.token(TOOL, &arguments);
    assert!(launched(&plain.confirmed(TOOL, &arguments, &token)));
}
