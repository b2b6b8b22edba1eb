//! REST: authenticated, bounded, and every refusal with its status and a message (R4.6).

use serde_json::{Value, json};
use toolcrib_testkit::http::Request;

use crate::running::{Folder, Serving, is_refused};

const TOOL: &str = "launch_confetti";

/// R4.6: a token issued over REST is accepted by the gate, listed without its secret, and can be revoked.
#[test]
fn tokens_are_made_listed_and_revoked() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let ann = serving.credential(&folder, &["ann"]);
    let wish = json!({"action": TOOL, "params_summary": "two cannons", "arguments": {"count": 2}});
    let mint = || {
        let minted = serving.rest("POST", "confirmation-tokens", Some(&ann), Some(&wish));
        assert_eq!(minted.status, 201, "{}", minted.text());
        minted.json().unwrap()
    };
    let (one, two) = (mint(), mint());
    let text = |value: &Value, name: &str| value[name].as_str().unwrap().to_owned();
    let listed = serving.rest("GET", "confirmation-tokens", Some(&ann), None);
    assert_eq!(listed.json().unwrap()["tokens"].as_array().unwrap().len(), 2);
    assert!(!listed.text().contains("ctk_"));
    let client = serving.client().with_secret(&ann);
    let arguments = json!({"count": 2});
    let path = format!("confirmation-tokens/{}", text(&one, "id"));
    assert_eq!(serving.rest("DELETE", &path, Some(&ann), None).status, 204);
    assert_eq!(serving.rest("DELETE", &path, Some(&ann), None).status, 404);
    assert!(is_refused(&client.confirmed(TOOL, &arguments, &text(&one, "token"))));
    assert!(is_refused(&serving.client().confirmed(TOOL, &arguments, &text(&two, "token"))), "it is ann's");
    assert_eq!(client.confirmed(TOOL, &arguments, &text(&two, "token"))["structuredContent"]["launched"], 2);
    let bob = serving.credential(&folder, &["bob"]);
    let three = mint();
    let path = format!("confirmation-tokens/{}", text(&three, "id"));
    assert_eq!(serving.rest("DELETE", &path, Some(&bob), None).status, 404, "others' tokens do not exist");
    assert_eq!(
        serving.rest("GET", "confirmation-tokens", Some(&bob), None).json().unwrap(),
        json!({"tokens": []})
    );
}

/// R4.6: no credential, a wrong one, a wrong type, a wrong body: the right status, a message, nothing stored.
#[test]
fn bad_requests_get_their_status_and_store_nothing() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let operator = folder.operator();
    let good = json!({"action": TOOL, "params_summary": "x"});
    for secret in [None, Some("wrong"), Some(""), Some(&operator[..operator.len() - 1])] {
        for (method, path) in
            [("POST", "confirmation-tokens"), ("GET", "approvals"), ("GET", "stop"), ("GET", "nothing")]
        {
            let body = (method == "POST").then_some(&good);
            let answer = serving.rest(method, path, secret, body);
            assert_eq!(answer.status, 401, "{method} {path}");
            assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer"));
        }
    }
    let post = |content_type: &str, body: &str| {
        Request::new("POST", "/api/v1/confirmation-tokens")
            .header("Authorization", &format!("Bearer {operator}"))
            .header("Content-Type", content_type)
            .body(body)
            .send(serving.address)
            .unwrap()
    };
    let cases = [
        (415, "text/plain", good.to_string()),
        (400, "application/json", "{".to_owned()),
        (400, "application/json", "[]".to_owned()),
        (400, "application/json", json!({"params_summary": "x"}).to_string()),
        (400, "application/json", json!({"action": 7, "params_summary": "x"}).to_string()),
        (
            400,
            "application/json",
            json!({"action": TOOL, "params_summary": "x", "arguments": []}).to_string(),
        ),
        (
            400,
            "application/json",
            json!({"action": TOOL, "params_summary": "x", "agruments": {}}).to_string(),
        ),
        (400, "application/json", format!(r#"{{"action":"{TOOL}","action":"x","params_summary":"x"}}"#)),
        (422, "application/json", json!({"action": TOOL}).to_string()),
        (422, "application/json", json!({"action": "launch_rockets", "params_summary": "x"}).to_string()),
        (
            422,
            "application/json",
            json!({"action": "generate_fantasy_character", "params_summary": "x"}).to_string(),
        ),
        (
            422,
            "application/json",
            json!({"action": TOOL, "params_summary": "x", "arguments": {"count": 0}}).to_string(),
        ),
    ];
    for (status, content_type, body) in cases {
        let answer = post(content_type, &body);
        let shown: String = body.chars().take(80).collect();
        assert_eq!(answer.status, status, "{shown}: {}", answer.text());
        let json = answer.json().unwrap();
        let message = json["error"]["message"].as_str().unwrap();
        assert!(message.len() > 15, "{shown}: {message}");
    }
    let announced = Request::new("POST", "/api/v1/confirmation-tokens")
        .header("Authorization", &format!("Bearer {operator}"))
        .header("Content-Type", "application/json")
        .header("Content-Length", "50000000")
        .body("{")
        .send(serving.address)
        .unwrap();
    assert_eq!(
        (announced.status, &announced.json().unwrap()["error"]["code"]),
        (413, &json!("body_too_large"))
    );
    let cases = [
        ("POST", "approvals/apr_0", Some(json!({"decision": "allow"})), 404),
        ("POST", "approvals/apr_0", Some(json!({"decision": "maybe"})), 400),
        ("DELETE", "confirmation-tokens/tok_0", None, 404),
        ("PUT", "confirmation-tokens", None, 405),
        ("GET", "nothing", None, 404),
        ("POST", "stop", Some(json!({})), 400),
        ("POST", "unlock", Some(json!({})), 404),
    ];
    for (method, path, body, status) in cases {
        assert_eq!(
            serving.rest(method, path, Some(&operator), body.as_ref()).status,
            status,
            "{method} {path}"
        );
    }
    let tokens = serving.rest("GET", "confirmation-tokens", Some(&operator), None).json().unwrap();
    assert_eq!(tokens, json!({"tokens": []}));
    assert_eq!(
        serving.rest("GET", "approvals", Some(&operator), None).json().unwrap(),
        json!({"approvals": [], "more": 0})
    );
}

/// R4.6: a credential over its rate is told to wait (`REST_REQUESTS_PER_MINUTE_MAX`, `TOKENS_PER_MINUTE_MAX`).
#[test]
fn a_credential_that_asks_too_often_is_told_to_wait() {
    let folder = Folder::new();
    let serving =
        Serving::policy(&folder, "[safety]\nrest_requests_per_minute_max = 5\ntokens_per_minute_max = 2\n");
    let operator = folder.operator();
    let wish = json!({"action": TOOL, "params_summary": "x"});
    let mint = || serving.rest("POST", "confirmation-tokens", Some(&operator), Some(&wish)).status;
    assert_eq!((mint(), mint(), mint()), (201, 201, 429));
    let look = || serving.rest("GET", "stop", Some(&operator), None);
    assert_eq!((look().status, look().status), (200, 200));
    let refused = look();
    let retry_s: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(refused.status, 429);
    assert!((1..=60).contains(&retry_s), "{retry_s}");
    assert!(refused.text().contains("at most 5 requests a minute for one caller"), "{}", refused.text());
}

/// R4.6: every operation of the OpenAPI document exists, and every response it names has the described members.
#[test]
fn the_openapi_document_tells_the_truth() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let operator = folder.operator();
    let document = serving.rest("GET", "openapi.json", None, None).json().unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let path = path.trim_start_matches('/').replace("{id}", "none");
            let body = operation.get("requestBody").map(|_| json!({}));
            let answer = serving.rest(&method.to_uppercase(), &path, Some(&operator), body.as_ref());
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.contains_key(&answer.status.to_string()), "{method} {path}: {}", answer.status);
            assert_ne!(answer.status, 405, "{method} {path}");
            if answer.status == 200 && path != "openapi.json" {
                let schema = &responses["200"]["content"]["application/json"]["schema"]["$ref"];
                let name = schema.as_str().unwrap().rsplit('/').next().unwrap();
                let required = document["components"]["schemas"][name]["required"].clone();
                let json = answer.json().unwrap();
                assert!(
                    required.as_array().unwrap().iter().all(|key| json.get(key.as_str().unwrap()).is_some()),
                    "{json}"
                );
            }
        }
    }
}
