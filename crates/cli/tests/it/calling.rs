//! `call`, on the desk in the same process and over HTTP.

use crate::home::Home;
use crate::serving::desk;

/// R8.1: arguments are parsed by the schema and checked before they are sent.
#[test]
fn arguments_are_checked_before_they_leave() {
    let home = Home::new("call");
    let ran = home.run(&["call", "desk/get_quote", "symbol=ACME"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.json()["company"], "Acme Anvils");
    let typed = home.run(&["call", "desk/get_round_trips", "limit=2", "account=pro", "--format", "json"]);
    assert_eq!(typed.json()["structuredContent"]["trips"].as_array().unwrap().len(), 2, "{}", typed.out);
    let object = home.run(&["call", "desk/get_round_trips", "--args", "{\"limit\": 1}"]);
    assert_eq!(object.json()["trips"].as_array().unwrap().len(), 1);
    for (words, reason) in [
        (&["call", "desk/get_quote", "symbol=XYZ"][..], "/symbol"),
        (&["call", "desk/get_quote", "sybol=ACME"], "sybol"),
        (&["call", "desk/get_round_trips", "limit=0"], "/limit"),
        (&["call", "desk/nothing"], "known: "),
        (&["call", "nothing"], "SERVER/TOOL"),
        (&["call", "elsewhere/tool"], "known: desk"),
        (&["call", "desk/get_quote", "--args", "[1]"], "no JSON object"),
    ] {
        let ran = home.run(words);
        assert_eq!(ran.code, 2, "{words:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(reason), "{words:?}: {}", ran.err);
    }
}

/// R8.1: a destructive tool needs a confirmation; without a terminal it needs `--yes`.
#[test]
fn a_destructive_tool_is_never_called_unasked() {
    let home = Home::new("call-destructive");
    let transfer = ["call", "desk/transfer_cash", "from=main", "to=pro", "amount=10"];
    let ran = home.run(&transfer);
    assert_eq!((ran.code, ran.err.contains("--yes")), (2, true), "{}{}", ran.out, ran.err);
    let dry = home.run(&[&transfer[..], &["--dry-run"]].concat());
    assert_eq!((dry.code, dry.out.contains("nothing was called")), (0, true), "{}", dry.err);
    let yes = home.run(&[&transfer[..], &["--yes"]].concat());
    assert_eq!((yes.code, &yes.json()["amount"]), (0, &serde_json::json!(10.0)), "{}", yes.err);
    let refused = home.run(&["call", "desk/transfer_cash", "from=main", "to=main", "amount=10", "--yes"]);
    assert_eq!((refused.code, refused.out.contains("the same")), (1, true), "{}{}", refused.out, refused.err);
}

/// R8.1: a server is called by its URL or by its name in `toolcrib.toml`, through the same checks.
#[test]
fn a_running_server_is_called_by_url_and_by_name() {
    let home = Home::new("call-http");
    let (_process, url) = desk(&home);
    let ran = home.run(&["call", &format!("{url}/get_quote"), "symbol=BOLT"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.json()["company"], "Bolt Fasteners");
    assert_eq!(home.run(&["add", "desk2", &url]).code, 0);
    let named = home.run(&["call", "desk2/get_quote", "symbol=BOLT"]);
    assert_eq!(named.out, ran.out, "{}", named.err);
    assert_eq!(home.run(&["call", "desk2/get_quote", "symbol=1"]).code, 2);
    assert_eq!(home.run(&["add", "dead", "http://127.0.0.1:1/mcp"]).code, 0);
    assert_eq!(home.run(&["call", "dead/x", "--patience", "2"]).code, 3);
}
