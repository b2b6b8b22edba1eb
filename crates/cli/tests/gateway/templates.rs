//! Resource templates of upstream servers, hostile ones included, behind the real gateway.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Legacy, able};
use super::folder::Folder;
use super::running::{Gateway, until};

/// Maximum time of an answer that needs no large computation, with other load on the machine.
const AT_ONCE: Duration = Duration::from_millis(1_000);

fn server(name: &str, words: &[&str]) -> String {
    let path = toolcrib_testkit::deps::built_example("templated").unwrap_or_else(|error| panic!("{error}"));
    format!("[servers.{name}]\ncommand = {:?}\nargs = {words:?}\n", path.display().to_string())
}

fn gateway(folder: &Folder, servers: &[String]) -> Gateway {
    Gateway::start(&["--config", &folder.file("toolcrib.toml", &servers.concat())])
}

fn templates(gateway: &Gateway) -> Vec<Value> {
    let listed = gateway.ask("resources/templates/list", &json!({}));
    listed["result"]["resourceTemplates"].as_array().cloned().unwrap_or_default()
}

fn timed(ask: impl FnOnce() -> Value) -> Value {
    let begun = Instant::now();
    let answer = ask();
    assert!(begun.elapsed() < AT_ONCE, "{:?}: {answer}", begun.elapsed());
    answer
}

/// R5.3: templates of every level are served; invalid ones are quarantined with the location of the fault.
#[test]
fn templates_of_every_level_are_served_and_others_quarantined() {
    let folder = Folder::new("template-levels");
    let words = ["s://find{?q}", "s://{a}{b}", "s://dir{/path*}", "s://{broken", "s://{a-b}"];
    let gateway = gateway(&folder, &[server("one", &words)]);
    until("listed", || templates(&gateway).len() == 3);
    for uri in ["s://find", "s://find?q=what", "s://xy", "s://dir/a/b"] {
        let read = gateway.ask("resources/read", &json!({"uri": uri}));
        assert_eq!(read["result"]["contents"][0]["text"], uri, "{read}");
    }
    for (template, variable) in [("s://find{?q}", "q"), ("s://{a}{b}", "b")] {
        let reference = json!({"type": "ref/resource", "uri": template});
        let completed = gateway.ask(
            "completion/complete",
            &json!({"ref": reference, "argument": {"name": variable, "value": ""}}),
        );
        assert_eq!(completed["result"]["completion"]["values"], json!(["done"]), "{completed}");
    }
    let (_, ready) = gateway.get("/readyz");
    assert!(ready.contains("the `{` at byte 4 is never closed"), "{ready}");
    assert!(ready.contains("is not a variable name"), "{ready}");
}

/// R5.6: templates that once blocked both workers for seconds; a URI over `URI_BYTES_MAX` is refused by the limit's
/// name in every method; other servers keep answering.
#[test]
fn a_template_that_invites_backtracking_blocks_nobody() {
    let folder = Folder::new("template-backtracking");
    let (six, profile) = ("a://{a}a{b}a{c}a{d}a{e}a{f}ax", "a://{id}-profile");
    let gateway = gateway(&folder, &[server("bad", &[six, profile]), server("good", &["good://{x}"])]);
    until("listed", || templates(&gateway).len() == 3);
    let client = Legacy::new(&gateway, &able());
    let ask = |method: &str, params: &Value| client.calling(method, params).send(gateway.address).unwrap();
    let ask = |method: &str, params: &Value| timed(|| ask(method, params).json().unwrap());
    let neighbour = || {
        let read = ask("resources/read", &json!({"uri": "good://1"}));
        assert_eq!(read["result"]["contents"][0]["text"], "good://1", "{read}");
    };
    // No template matches; the servers of this scheme are asked for the URI.
    let short = format!("a://{}", "a".repeat(96));
    let read = ask("resources/read", &json!({"uri": short}));
    assert_eq!(read["result"]["contents"][0]["text"], *short, "{read}");
    neighbour();
    let long = format!("a://{}", "-profil".repeat(480 * 1024 / 7));
    let reference = json!({"type": "ref/resource", "uri": long});
    for (method, params) in [
        ("resources/read", json!({"uri": long})),
        ("resources/subscribe", json!({"uri": long})),
        ("resources/unsubscribe", json!({"uri": long})),
        ("completion/complete", json!({"ref": reference, "argument": {"name": "a", "value": ""}})),
    ] {
        let refused = ask(method, &params);
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("URI_BYTES_MAX") && message.contains("8192"), "{message}");
        neighbour();
    }
    let subscriptions = json!({"notifications": {"resourceSubscriptions": [long]}});
    let refused = timed(|| gateway.ask("subscriptions/listen", &subscriptions));
    assert!(refused["error"]["message"].as_str().unwrap().contains("URI_BYTES_MAX"), "{refused}");
}

/// R5.6: the maximum number of templates of a server, none with a literal prefix: `TEMPLATE_STEPS_MAX` ends the search,
/// and other requests are answered meanwhile.
#[test]
fn a_search_through_ten_thousand_templates_blocks_nobody() {
    let folder = Folder::new("template-many");
    let gateway = gateway(&folder, &[server("bad", &["many", "10000"]), server("good", &["good://{x}"])]);
    until("listed", || templates(&gateway).len() > 9_999);
    // Contains every literal of the templates in place, and a `/` where none is allowed.
    let worst = format!("x/{}!", "a".repeat(8 * 1024 - 3));
    std::thread::scope(|scope| {
        let attackers: Vec<_> =
            (0..4).map(|_| scope.spawn(|| gateway.ask("resources/read", &json!({"uri": worst})))).collect();
        for _ in 0..5 {
            let read = timed(|| gateway.ask("resources/read", &json!({"uri": "good://1"})));
            assert_eq!(read["result"]["contents"][0]["text"], "good://1", "{read}");
        }
        for attacker in attackers {
            let refused = attacker.join().unwrap();
            assert!(
                refused["error"]["message"].as_str().unwrap().contains("TEMPLATE_STEPS_MAX"),
                "{refused}"
            );
        }
    });
}
