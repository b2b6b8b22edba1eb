//! `connect` and its undo, on a sample file of each client in that client's documented format.

use serde_json::{Value, json};

use crate::home::Home;

const URL: &str = "http://127.0.0.1:7420/mcp";

/// Client, its file below the home folder, the sample, and the entry expected afterwards.
fn clients() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    vec![
        (
            "claude-code",
            ".claude.json",
            include_str!("samples/claude-code.json"),
            json!({"type": "http", "url": URL}),
        ),
        (
            "claude-desktop",
            ".config/Claude/claude_desktop_config.json",
            include_str!("samples/claude-desktop.json"),
            json!({"command": env!("CARGO_BIN_EXE_toolcrib"), "args": ["serve", URL, "--stdio", "--bridge"]}),
        ),
        ("cursor", ".cursor/mcp.json", include_str!("samples/cursor.json"), json!({"url": URL})),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            include_str!("samples/vscode.json"),
            json!({"type": "http", "url": URL}),
        ),
        ("codex", ".codex/config.toml", include_str!("samples/codex.toml"), json!({"url": URL})),
        ("gemini", ".gemini/settings.json", include_str!("samples/gemini.json"), json!({"httpUrl": URL})),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            include_str!("samples/windsurf.json"),
            json!({"serverUrl": URL}),
        ),
    ]
}

/// Returns the entries of a file as JSON, without the program's own parsers.
fn entries(client: &str, text: &str) -> Value {
    if client == "codex" {
        let whole: toml_edit::DocumentMut = text.parse().unwrap();
        let mut servers = serde_json::Map::new();
        for (name, item) in whole["mcp_servers"].as_table().unwrap() {
            let url = item.get("url").and_then(|url| url.as_str());
            servers.insert(name.to_owned(), url.map_or(json!({}), |url| json!({"url": url})));
        }
        return Value::Object(servers);
    }
    // In the samples `//` begins a comment unless a colon precedes it.
    let uncommented = |line: &str| match line.find("// ") {
        Some(at) => line.get(..at).unwrap_or_default().to_owned(),
        None => line.to_owned(),
    };
    let bare: String = text.lines().map(uncommented).collect();
    let mut plain = String::new();
    for (at, character) in bare.char_indices() {
        let next = bare[at + character.len_utf8()..].trim_start().chars().next();
        if !(character == ',' && matches!(next, Some('}' | ']'))) {
            plain.push(character);
        }
    }
    let whole: Value =
        serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{client}: {error}: {plain}"));
    whole[if client == "vscode" { "servers" } else { "mcpServers" }].clone()
}

/// R8.5: each client's file gets one entry, keeps every line it had, and is restored byte for byte.
#[test]
fn connecting_changes_one_entry_and_undo_restores_every_byte() {
    for (client, file, sample, expected) in clients() {
        let home = Home::new(&format!("connect-{client}"));
        home.write(file, sample);
        let ran = home.run(&["connect", client, "--yes"]);
        assert_eq!(ran.code, 0, "{client}: {}", ran.err);
        assert!(ran.out.contains(file) && ran.out.contains("+ "), "the change is shown: {}", ran.out);
        let after = home.read(file);
        assert_eq!(entries(client, &after)["toolcrib"], expected, "{client}: {after}");
        let others = entries(client, sample);
        for (name, entry) in others.as_object().unwrap() {
            assert_eq!(entries(client, &after)[name], *entry, "{client}");
        }
        if client != "cursor" {
            for line in sample.lines() {
                assert!(after.contains(line.trim_end_matches(',')), "{client} lost {line:?}");
            }
        }
        assert_eq!(home.read(&format!("{file}.before-toolcrib")), sample, "{client}");
        let again = home.run(&["connect", client, "--yes"]);
        assert!(again.out.contains("has it already"), "{client}: {}", again.out);
        let undone = home.run(&["connect", client, "--undo", "--yes"]);
        assert_eq!(undone.code, 0, "{client}: {}", undone.err);
        assert_eq!(home.read(file), sample, "{client}");
        let nothing = home.run(&["connect", client, "--undo", "--yes"]);
        assert_eq!(
            (nothing.code, nothing.err.contains("nothing to undo")),
            (2, true),
            "{client}: {}",
            nothing.err
        );
    }
}

/// R8.5: a missing file is created, and undo deletes it.
#[test]
fn a_client_without_a_file_gets_one() {
    for (client, file, _, expected) in clients() {
        let home = Home::new(&format!("fresh-{client}"));
        assert_eq!(home.run(&["connect", client, "--yes"]).code, 0);
        assert_eq!(entries(client, &home.read(file))["toolcrib"], expected, "{client}");
        assert_eq!(home.run(&["connect", client, "--undo", "--yes"]).code, 0);
        assert!(!home.path(file).exists(), "{client}");
    }
}

/// R8.5: changes made after connecting stay when the connection is undone.
#[test]
fn undo_after_other_changes_takes_back_the_entry_alone() {
    for (client, file, sample, _) in clients() {
        let home = Home::new(&format!("since-{client}"));
        home.write(file, sample);
        assert_eq!(home.run(&["connect", client, "--yes"]).code, 0);
        let (from, to) = if client == "codex" { ("gpt-5-mini", "gpt-5-nano") } else { ("npx", "bunx") };
        let changed = home.read(file).replace(from, to).replace("example.org", "example.net");
        home.write(file, &changed);
        let ran = home.run(&["connect", client, "--undo", "--yes"]);
        assert!(ran.out.contains("only the entry was taken back"), "{client}: {}{}", ran.out, ran.err);
        let after = home.read(file);
        assert_eq!(after, sample.replace(from, to).replace("example.org", "example.net"), "{client}");
    }
}

/// R8.5: undo restores a replaced entry of the same name.
#[test]
fn undo_puts_back_the_entry_that_was_replaced() {
    let home = Home::new("replaced");
    let sample =
        "{\n  \"mcpServers\": {\n    \"toolcrib\": {\n      \"url\": \"http://old/mcp\"\n    }\n  }\n}\n";
    home.write(".cursor/mcp.json", sample);
    assert_eq!(home.run(&["connect", "cursor", "--yes"]).code, 0);
    let changed = home.read(".cursor/mcp.json").replace("  }\n}\n", "  },\n  \"x\": 1\n}\n");
    home.write(".cursor/mcp.json", &changed);
    assert_eq!(home.run(&["connect", "cursor", "--undo", "--yes"]).code, 0);
    assert_eq!(home.read(".cursor/mcp.json"), sample.replace("  }\n}\n", "  },\n  \"x\": 1\n}\n"));
}

/// R8.5: nothing is written without consent, and a file that does not parse is left unchanged.
#[test]
fn nothing_is_written_unasked_or_into_what_is_not_understood() {
    let home = Home::new("unasked");
    home.write(".cursor/mcp.json", "{\"mcpServers\": {}}");
    let asked = home.run(&["connect", "cursor"]);
    assert_eq!(asked.code, 2, "there is no terminal to ask at");
    assert!(asked.out.contains("toolcrib") && asked.err.contains("--yes"), "{}{}", asked.out, asked.err);
    assert_eq!(home.run(&["connect", "cursor", "--dry-run"]).code, 0);
    assert_eq!(home.read(".cursor/mcp.json"), "{\"mcpServers\": {}}");
    for broken in ["{\"mcpServers\": ", "[]", "{\"mcpServers\": []}"] {
        home.write(".cursor/mcp.json", broken);
        let ran = home.run(&["connect", "cursor", "--yes"]);
        assert_eq!(ran.code, 2, "{broken}: {}", ran.out);
        assert_eq!(home.read(".cursor/mcp.json"), broken);
        assert!(!home.path(".cursor/mcp.json.before-toolcrib").exists());
    }
}

/// R8.5: a file that only its owner may read stays so, and so does its copy; a symbolic link stays a link.
#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let home = Home::new("links");
    let real = home.write("dotfiles/mcp.json", "{}");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::create_dir_all(home.path(".cursor")).unwrap();
    symlink(&real, home.path(".cursor/mcp.json")).unwrap();
    assert_eq!(home.run(&["connect", "cursor", "--yes"]).code, 0);
    assert!(home.path(".cursor/mcp.json").symlink_metadata().unwrap().is_symlink());
    for file in ["dotfiles/mcp.json", ".cursor/mcp.json.before-toolcrib"] {
        let mode = std::fs::metadata(home.path(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    assert!(home.read("dotfiles/mcp.json").contains("7420"));
}
