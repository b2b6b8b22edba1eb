//! `explain`: one test for each line of the report, as text and as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_testkit::http::Request;
use toolcrib_testkit::process::Process;

use crate::home::{Home, Ran};

const FIND: &str = r#"{"name":"find","description":"Finds notes.","annotations":{"readOnlyHint":true},
    "inputSchema":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}"#;
const DROP: &str = r#"{"name":"drop","description":"Drops a note.",
    "inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}"#;

/// Creates a home with one server, `notes`, that offers these tools.
fn notes(name: &str, tools: &[&str], more: &str) -> Home {
    let home = Home::new(name);
    home.write("notes.sh", include_str!("scripted.sh"));
    offer(&home, tools);
    home.write("toolcrib.toml", &format!("[servers.notes]\ncommand = \"sh\"\nargs = [\"notes.sh\"]\n{more}"));
    home
}

fn offer(home: &Home, tools: &[&str]) {
    home.write("tools.json", &format!("{{\"tools\":[{}]}}", tools.join(",")));
}

/// Returns an explanation in both formats.
fn explained(home: &Home, words: &[&str]) -> (String, Value) {
    let ask = |more: &[&str]| -> Ran {
        let ran = home.run(&[&["explain"], words, more].concat());
        assert_eq!(ran.code, 0, "{words:?}: {}{}", ran.out, ran.err);
        ran
    };
    (ask(&[]).out, ask(&["--format", "json"]).json())
}

fn line<'a>(text: &'a str, head: &str) -> &'a str {
    let found = text.lines().find_map(|line| line.strip_prefix(&format!("{head:<10}")));
    found.unwrap_or_else(|| panic!("no line {head}: {text}"))
}

/// R8.4: the tool's server, its name there, and servers that do not answer.
#[test]
fn the_source_is_named() {
    let home = notes("explain-source", &[FIND], "\n[servers.away]\ncommand = \"no-such-program-8\"\n");
    for name in ["notes__find", "notes/find", "find"] {
        let (text, json) = explained(&home, &[name, "--as", "codex"]);
        assert_eq!(line(&text, "source"), "notes at sh, ready; it calls the tool find");
        assert_eq!(json["source"]["served_as"], "notes__find", "{json}");
        assert_eq!((&json["source"]["offered"], &json["callable"]), (&json!(true), &json!("directly")));
    }
    let (text, _) = explained(&home, &["find", "--prefix", "never"]);
    assert_eq!(line(&text, "tool"), "find (read_only)");
    let unknown = home.run(&["explain", "lost"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.err.contains("did not answer: away (") && unknown.err.contains("no-such-program-8"),
        "{}",
        unknown.err
    );
    let (desk, json) = explained(&Home::new("explain-desk"), &["get_quote"]);
    assert_eq!((line(&desk, "source"), &json["source"]["server"]), ("built in: desk", &Value::Null));
}

/// R8.4: two servers with a tool of the same name have to be told apart.
#[test]
fn a_name_of_two_servers_has_to_be_told_apart() {
    let home = notes("explain-two", &[FIND], "\n[servers.more]\ncommand = \"sh\"\nargs = [\"notes.sh\"]\n");
    let ran = home.run(&["explain", "find"]);
    assert_eq!((ran.code, ran.err.contains("more/find, notes/find")), (2, true), "{}", ran.err);
    assert_eq!(explained(&home, &["more/find"]).1["tool"], "more__find");
}

/// R8.4: the configuration's pattern that includes or excludes a tool, and the filter of a request.
#[test]
fn the_filter_is_quoted() {
    let home = notes("explain-filter", &[FIND, DROP], "exclude = [\"dr*\"]\n");
    let (text, json) = explained(&home, &["drop", "--as", "codex"]);
    assert_eq!(line(&text, "filter"), "left out by exclude \"dr*\"");
    assert_eq!((&json["filter"]["admitted"], &json["callable"]), (&json!(false), &json!("no")), "{json}");
    assert_eq!(json["reason"], "left out by exclude \"dr*\"");
    let (_, json) = explained(&home, &["find"]);
    assert_eq!(json["filter"]["admitted"], true, "{json}");
    let home = notes("explain-include", &[FIND, DROP], "include = [\"f*\"]\n");
    assert_eq!(line(&explained(&home, &["find"]).0, "filter"), "let through by include \"f*\"");
    assert_eq!(line(&explained(&home, &["drop"]).0, "filter"), "left out: no include fits it");
    let home = notes("explain-read-only", &[FIND, DROP], "");
    let (text, json) = explained(&home, &["drop", "--request-read-only"]);
    assert!(text.contains("filter    read-only tools alone"), "{text}");
    assert_eq!((&json["read_only_filter"], &json["callable"]), (&json!(true), &json!("no")));
}

/// R8.4: the tool's toolset, whether it is loaded and who chose that, and the client's mode.
#[test]
fn the_toolset_and_the_mode_are_named() {
    let more = "\n[toolsets.reading]\ndescription = \"Reads\"\ntools = [\"*find\"]\n\n[selection]\ndefault = [\"discovery\"]\n";
    let home = notes("explain-toolset", &[FIND], more);
    let (text, json) = explained(&home, &["find", "--as", "codex"]);
    assert_eq!(line(&text, "toolset"), "reading: within reach, not loaded");
    assert_eq!(line(&text, "mode"), "static: the client calls itself \"codex\" (table: codex*)");
    assert_eq!((&json["listed"], &json["callable"]), (&json!(false), &json!("through call_tool")), "{json}");
    let (text, json) = explained(&home, &["find", "--as", "claude-code", "--toolsets", "reading"]);
    assert_eq!((line(&text, "listed"), &json["mode"]), ("yes", &json!("anthropic")));
}

/// R8.4, R5.7: the lock's verdict, the policy's action, and the command that approves; running it brings the tool back.
#[test]
fn drift_is_told_with_its_verdict_and_the_way_back() {
    let home = notes("explain-drift", &[FIND, DROP], "\n[drift]\n");
    let pinned = home.run(&["lock"]);
    assert_eq!(pinned.code, 0, "{}", pinned.err);
    assert_eq!(line(&explained(&home, &["find"]).0, "drift"), "as pinned");

    let broken = FIND.replace(r#""required":["q"]"#, r#""required":["q","tag"]"#);
    offer(&home, &[&broken, r#"{"name":"fresh","inputSchema":{"type":"object"}}"#]);
    let (text, json) = explained(&home, &["find", "--as", "claude-code"]);
    assert!(line(&text, "drift").starts_with("breaking since it was pinned: "), "{text}");
    assert!(line(&text, "drift").ends_with("; policy: quarantine"), "{text}");
    assert!(line(&text, "callable").starts_with("no: quarantined: breaking since"), "{text}");
    let drift = &json["drift"];
    assert_eq!(
        (&drift["state"], &drift["verdict"], &drift["action"]),
        (&json!("changed"), &json!("breaking"), &json!("quarantine"))
    );
    assert!(json["quarantined"].as_str().is_some_and(|reason| reason.contains("breaking")), "{json}");
    let (_, fresh) = explained(&home, &["fresh"]);
    assert_eq!((&fresh["drift"]["state"], &fresh["drift"]["action"]), (&json!("unpinned"), &json!("warn")));
    let (_, gone) = explained(&home, &["drop"]);
    assert_eq!((&gone["drift"]["state"], &gone["callable"]), (&json!("gone"), &json!("no")), "{gone}");
    assert_eq!(gone["reason"], "notes does not offer it any more");

    let command = drift["approve"].as_str().unwrap().to_owned();
    assert_eq!(line(&text, "approve"), format!("once reviewed: {command}"));
    let words: Vec<&str> = command.split(' ').skip(1).map(|word| word.trim_matches('\'')).collect();
    let approved = home.run(&words);
    assert_eq!(approved.code, 0, "{}", approved.err);
    let (text, json) = explained(&home, &["find"]);
    assert_eq!((line(&text, "drift"), &json["listed"]), ("as pinned", &json!(true)));
}

/// R8.4, R5.5: a definition that is not admitted is named with its reason, and the others are served.
#[test]
fn the_schema_is_admitted_or_refused_with_its_reason() {
    let bad =
        r##"{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}}"##;
    let home = notes("explain-schema", &[FIND, bad], "rules = [{ tools = \"find\", input = \"warn\" }]\n");
    let (text, json) = explained(&home, &["bad"]);
    assert!(line(&text, "schema").starts_with("refused: ") && text.contains("#/$defs/none"), "{text}");
    assert_eq!((&json["schema"]["state"], &json["gate"]), (&json!("refused"), &Value::Null), "{json}");
    let (text, json) = explained(&home, &["find"]);
    assert_eq!(
        line(&text, "schema"),
        "admitted; arguments checked, and passed on where they break it, answers without a schema"
    );
    assert_eq!(
        json["schema"],
        json!({"state": "admitted", "input": "warn", "output": "enforce", "reason": null})
    );
    let alone = home.run(&["explain", "bad", "--file", "tools.json"]);
    assert_eq!((alone.code, alone.err.contains("#/$defs/none")), (2, true), "{}", alone.err);
    assert_eq!(home.run(&["explain", "find", "--file", "tools.json"]).code, 0, "one bad tool is alone");
}

/// R8.4, R4.4: the rule that gates a tool and how this client would be asked, in every possible way.
#[test]
fn the_gate_names_its_rule_and_the_way_this_client_is_asked() {
    let home = notes("explain-gate", &[FIND, DROP], "");
    home.write("no-queue.toml", "[safety]\nqueue = false\n");
    home.write(
        "human.toml",
        "[safety]\nqueue = false\n[[safety.rules]]\ntools = [\"*drop\"]\ndemand = \"human\"\n",
    );
    for (words, asked, rule) in [
        (&["find", "--as", "codex"][..], "nobody", "never for read-only"),
        (&["drop", "--as", "codex"], "queue", "unaware for destructive"),
        (&["drop", "--as", "codex", "--elicitation"], "elicitation", "unaware for destructive"),
        (
            &["drop", "--as", "codex", "--elicitation", "--modern"],
            "input_required",
            "unaware for destructive",
        ),
        (&["drop", "--as", "claude-code", "--stdio"], "client", "unaware for destructive"),
        // Over HTTP a client's name alone proves nothing.
        (&["drop", "--as", "claude-code"], "queue", "unaware for destructive"),
        (&["drop", "--as", "codex", "--policy", "no-queue.toml"], "token", "unaware for destructive"),
        (&["drop", "--as", "claude-code", "--stdio", "--policy", "human.toml"], "queue", "human for *drop"),
    ] {
        let (text, json) = explained(&home, words);
        assert_eq!(
            (&json["gate"]["asked"], &json["gate"]["rule"]),
            (&json!(asked), &json!(rule)),
            "{words:?}: {json}"
        );
        assert!(line(&text, "gate").contains(rule), "{words:?}: {text}");
    }
    assert!(!home.path(".local").exists(), "looking makes no data folder");

    // A credential marked by the operator, and an emergency stop, are read from the data folder.
    assert_eq!(home.run(&["credential", "add", "ada", "--honours", "--data", "data"]).code, 0);
    let ada = ["drop", "--as", "claude-code", "--subject", "ada", "--data", "data"];
    assert_eq!(explained(&home, &ada).1["gate"]["asked"], "client");
    assert_eq!(home.run(&["stop", "smoke", "--data", "data"]).code, 0);
    let (text, json) = explained(&home, &ada);
    assert!(
        line(&text, "gate").starts_with("stopped by ") && line(&text, "gate").contains("smoke"),
        "{text}"
    );
    assert!(json["gate"]["stopped"].as_str().is_some_and(|why| why.contains("smoke")), "{json}");
}

/// R8.4, R4.5: `explain` predicts what a call meets.
#[test]
fn the_gate_that_is_told_is_the_gate_that_is_met() {
    let home = Home::new("explain-met");
    home.write("queue.toml", "[safety]\n");
    home.write("token.toml", "[safety]\nqueue = false\n");
    home.write("never.toml", "[safety]\ndestructive = \"never\"\n");
    for policy in ["queue.toml", "token.toml", "never.toml"] {
        let data = format!("data-{policy}");
        let words =
            ["serve", "--listen", "127.0.0.1:0", "--toolsets", "all", "--policy", policy, "--data", &data];
        let mut process = Process::start(&mut home.command(&words)).unwrap();
        let address = process.wait_for_line("its address", Duration::from_secs(20), |line| {
            line.strip_prefix("toolcrib serves at http://")?.strip_suffix("/mcp")?.parse().ok()
        });
        let address = address.unwrap();
        for elicits in [false, true] {
            let mut words =
                vec!["transfer_cash", "--as", "codex", "--modern", "--policy", policy, "--data", &data];
            words.extend(elicits.then_some("--elicitation"));
            let told = explained(&home, &words).1["gate"]["asked"].as_str().unwrap().to_owned();
            let capabilities = if elicits { json!({"elicitation": {"form": {}}}) } else { json!({}) };
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "transfer_cash", "arguments": {"from": "main", "to": "pro", "amount": 1},
                "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": capabilities,
                    "io.modelcontextprotocol/clientInfo": {"name": "codex", "version": "1"}}}});
            let request = Request::post_json("/mcp", &body.to_string())
                .header("MCP-Protocol-Version", "2026-07-28")
                .header("Mcp-Method", "tools/call")
                .header("Mcp-Name", "transfer_cash");
            let answer = request.send(address).unwrap().json().unwrap();
            let result = &answer["result"];
            let said = result["content"][0]["text"].as_str().unwrap_or_default();
            let met = match () {
                () if result["resultType"] == "input_required" => "input_required",
                () if said.contains("waits for a person") => "queue",
                () if said.contains("get_confirmation_token") => "token",
                () if result["isError"] != true => "nobody",
                () => panic!("{answer}"),
            };
            assert_eq!(told, met, "{policy} {elicits}: {answer}");
        }
    }
}
