//! `--format json` of the verbs that change something: one object of a stable shape, and nothing else on standard
//! output.

use serde_json::{Value, json};

use crate::home::Home;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("{value}")).keys().map(String::as_str).collect()
}

fn told(home: &Home, words: &[&str]) -> Value {
    let ran = home.run(&[words, &["--format", "json"]].concat());
    assert_eq!(ran.code, 0, "{words:?}: {}{}", ran.out, ran.err);
    assert_eq!(ran.out.trim_end().lines().count(), 1, "{words:?}: {}", ran.out);
    ran.json()
}

/// R8.1: verbs for the servers of a configuration.
#[test]
fn init_add_remove_and_validate_speak_json() {
    let home = Home::new("forms-servers");
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers":{"fetch":{"command":"uvx","args":["f"]},"odd":{"x":1}}}"#,
    );
    let looked = told(&home, &["init", "--dry-run"]);
    assert_eq!(keys(&looked), ["outcome", "file", "added", "not_taken"]);
    assert_eq!((&looked["outcome"], home.path("toolcrib.toml").exists()), (&json!("not written"), false));
    let written = told(&home, &["init", "--yes"]);
    assert_eq!(written["outcome"], "written");
    assert_eq!(
        written["added"],
        json!([{"server": "fetch", "from": "Cursor", "entry": {"command": "uvx", "args": ["f"]}}])
    );
    assert_eq!(written["not_taken"], json!(["odd of Cursor: it has neither a command nor a URL"]));
    assert_eq!(told(&home, &["init", "--yes"])["outcome"], "unchanged");

    let ran = home.run(&["add", "--format", "json", "files", "--", "npx", "-y", "f"]);
    assert_eq!(
        ran.json(),
        json!({"outcome": "added", "server": "files", "file": "toolcrib.toml", "entry": {"command": "npx", "args": ["-y", "f"]}})
    );
    let ran = home.run(&["add", "--force", "--format", "json", "files", "https://example.org/mcp"]);
    assert_eq!(ran.json()["outcome"], "replaced", "{}{}", ran.out, ran.err);
    let valid = told(&home, &["config", "validate", "toolcrib.toml"]);
    assert_eq!(
        valid["files"][0]["servers"][1],
        json!({"name": "files", "transport": "http", "reached": "https://example.org/mcp", "prefix": "files"}),
        "{valid}"
    );
    assert_eq!(
        told(&home, &["remove", "files"]),
        json!({"outcome": "removed", "server": "files", "file": "toolcrib.toml"})
    );
    assert_eq!(told(&home, &["connect", "cursor", "--yes"])["outcome"], "connected");
}

/// R8.1: verbs for pins, credentials and the emergency stop.
#[test]
fn lock_credential_and_stop_speak_json() {
    let home = Home::new("forms-safety");
    home.write("old.json", r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#);
    assert_eq!(
        told(&home, &["lock", "shop=old.json"]),
        json!({"outcome": "pinned", "file": "toolcrib.lock", "servers": ["shop"], "tools": 1, "approved": [], "lost": []})
    );
    let made = told(&home, &["credential", "add", "ada", "--honours", "--data", "data"]);
    assert_eq!(keys(&made), ["name", "operator", "honours", "secret"]);
    assert_eq!(
        told(&home, &["credential", "list", "--data", "data"]),
        json!({"credentials": [{"name": "ada", "operator": false, "honours": true}]})
    );
    assert_eq!(
        told(&home, &["credential", "revoke", "ada", "--data", "data"]),
        json!({"outcome": "revoked", "name": "ada"})
    );
    assert_eq!(
        told(&home, &["stop", "smoke", "--data", "data"]),
        json!({"outcome": "stopped", "caller": null, "who": "everybody", "reason": "smoke"})
    );
    assert_eq!(
        told(&home, &["unlock", "--data", "data"]),
        json!({"outcome": "unlocked", "caller": null, "who": "everybody", "still_stopped": []})
    );
    let verified = told(&home, &["audit", "verify", "--data", "data"]);
    assert_eq!(
        (&verified["outcome"], keys(&verified)),
        (&json!("unbroken"), vec!["outcome", "records", "first", "last"])
    );
    assert_eq!(told(&home, &["audit", "unknown", "--data", "data"]), json!({"calls": []}));
}

/// R8.1: capturing a server and removing one from the catalogue.
#[test]
fn capture_and_remove_from_the_catalogue_speak_json() {
    let home = Home::new("forms-catalogue");
    home.write("notes.sh", include_str!("scripted.sh"));
    home.write("tools.json", r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#);
    home.write(
        "server.json",
        r#"{"name":"io.example/notes","description":"Notes.","version":"1.0.0","remotes":[{"type":"streamable-http","url":"https://example.org/mcp"}]}"#,
    );
    let ran = home.run(&["capture", "server.json", "--format", "json", "--", "sh", "notes.sh"]);
    let json = ran.json();
    assert_eq!(keys(&json), ["outcome", "server", "tools", "extension_bytes", "report"], "{}", ran.err);
    assert_eq!((&json["outcome"], &json["tools"]), (&json!("written"), &json!(1)));
    assert_eq!(home.run(&["registry", "import", "server.json", "--store", "c.db"]).code, 0);
    assert_eq!(
        told(&home, &["registry", "remove", "io.example/notes", "--store", "c.db"]),
        json!({"outcome": "removed", "server": "io.example/notes", "version": "1.0.0"})
    );
}
