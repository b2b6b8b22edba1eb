//! `connect`, its undo and `init` on configuration files as published by the authors of real servers: the blocks in the
//! READMEs of the packages that `xtask provision` installs or, for Codex, unpacks.

use std::path::PathBuf;

use serde_json::Value;
use toolcrib_testkit::deps::Deps;

use crate::home::Home;

/// Returns READMEs from npm and PyPI that show client configurations.
fn readmes() -> Vec<PathBuf> {
    let deps = Deps::of_this_workspace();
    let npm = deps.npm_project().join("node_modules/@modelcontextprotocol");
    let mut all: Vec<PathBuf> = ["server-everything", "server-filesystem", "server-memory"]
        .iter()
        .map(|package| npm.join(package).join("README.md"))
        .collect();
    let libraries = std::fs::read_dir(deps.python_venv().join("lib")).into_iter().flatten().flatten();
    for library in libraries {
        let packages =
            std::fs::read_dir(library.path().join("site-packages")).into_iter().flatten().flatten();
        let ours =
            packages.filter(|package| package.file_name().to_string_lossy().starts_with("mcp_server_"));
        all.extend(ours.map(|package| package.path().join("METADATA")).filter(|path| path.exists()));
    }
    for path in &all {
        assert!(path.exists(), "{} is missing: run `cargo run -p xtask -- provision`", path.display());
    }
    all
}

/// Returns READMEs that show Codex's file among others.
fn codex_readmes() -> Vec<PathBuf> {
    let folders =
        std::fs::read_dir(Deps::of_this_workspace().client_samples()).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = folders.map(|entry| entry.path().join("README.md")).collect();
    all.sort();
    assert!(!all.is_empty(), "samples are missing: run `cargo run -p xtask -- provision`");
    all
}

/// Returns the TOML blocks with Codex servers as printed, also from block quotes.
fn codex_blocks(text: &str) -> Vec<String> {
    let quoted = |line: &str| line.strip_prefix("> ").or(line.strip_prefix('>')).unwrap_or(line).to_owned();
    let plain: String = text.lines().map(|line| format!("{}\n", quoted(line))).collect();
    let toml = plain.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("toml\n"));
    toml.filter(|block| block.contains("[mcp_servers.")).map(str::to_owned).collect()
}

/// Returns the servers of a Codex file, without the program's own parser.
fn codex_servers(text: &str) -> toml_edit::Table {
    let whole: toml_edit::DocumentMut = text.parse().unwrap();
    whole["mcp_servers"].as_table().unwrap().clone()
}

/// R8.5, R5.1: a file published for Codex is kept line for line, restored byte for byte, and read unchanged by every
/// verb that takes a file of servers.
#[test]
fn published_codex_configurations_survive_connecting_and_are_read_unchanged() {
    let mut tried = 0;
    for readme in codex_readmes() {
        for sample in codex_blocks(&std::fs::read_to_string(&readme).unwrap()) {
            let home = Home::new("published-codex");
            let file = ".codex/config.toml";
            home.write(file, &sample);
            let servers = codex_servers(&sample);
            let names: Vec<&str> = servers.iter().map(|(name, _)| name).collect();

            let valid = home.run(&["config", "validate", file, "--format", "json"]);
            assert_eq!(valid.code, 0, "{}\n{sample}", valid.err);
            let told = valid.json()["files"][0]["servers"].clone();
            for (server, name) in told.as_array().unwrap().iter().zip(&names) {
                let table = servers[*name].as_table().unwrap();
                let way = if table.contains_key("url") { ("http", "url") } else { ("stdio", "command") };
                assert_eq!(server["transport"], way.0, "{sample}");
                assert_eq!(server["reached"].as_str(), table[way.1].as_str(), "{sample}");
            }
            assert_eq!(told.as_array().unwrap().len(), names.len(), "{sample}");
            let taken = home.run(&["init", "--from", "codex", "--dry-run", "--format", "json"]).json();
            assert_eq!(taken["added"].as_array().unwrap().len(), names.len(), "{sample}\n{taken}");

            let ran = home.run(&["connect", "codex", "--yes"]);
            assert_eq!(ran.code, 0, "{}\n{sample}", ran.err);
            let after = home.read(file);
            assert!(after.starts_with(&sample) || sample.lines().all(|line| after.contains(line)), "{after}");
            let mut left = codex_servers(&after);
            assert_eq!(left.remove("toolcrib").unwrap()["url"].as_str(), Some("http://127.0.0.1:7420/mcp"));
            assert_eq!(left.to_string(), servers.to_string(), "nothing else changed");
            assert_eq!(home.read(file), after, "reading leaves the file alone");
            assert_eq!(home.run(&["connect", "codex", "--undo", "--yes"]).code, 0);
            assert_eq!(home.read(file), sample, "every byte is back");
            tried += 1;
        }
    }
    assert!(tried >= 4, "{tried}");
}

/// Returns the JSON blocks with this top-level member, as printed.
fn blocks(text: &str, member: &str) -> Vec<String> {
    let unindented = |block: &str| block.lines().map(|line| format!("{line}\n")).collect::<String>();
    let json = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("json"));
    let fits = |block: &String| {
        let value: Option<Value> = serde_json::from_str(block).ok();
        value.is_some_and(|value| value.get(member).is_some_and(Value::is_object))
    };
    json.map(|block| unindented(block.trim_start_matches(['c', '\n']))).filter(fits).collect()
}

/// R8.5: a file published for a client keeps all but the entry and is restored byte for byte; its servers can be
/// imported.
#[test]
fn published_configurations_survive_connecting_and_undoing() {
    let mut tried = std::collections::BTreeMap::<&str, usize>::new();
    for readme in readmes() {
        let text = std::fs::read_to_string(&readme).unwrap();
        for (client, file, member) in [
            ("claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"),
            ("claude-code", ".claude.json", "mcpServers"),
            ("cursor", ".cursor/mcp.json", "mcpServers"),
            ("gemini", ".gemini/settings.json", "mcpServers"),
            ("windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers"),
            ("vscode", ".config/Code/User/mcp.json", "servers"),
        ] {
            for sample in blocks(&text, member) {
                let home = Home::new("published");
                home.write(file, &sample);
                let before: Value = serde_json::from_str(&sample).unwrap();
                let taken = home.run(&["init", "--from", client, "--dry-run", "--format", "json"]).json();
                let count = |name: &str| taken[name].as_array().unwrap().len();
                let servers = before[member].as_object().unwrap().len();
                assert_eq!(count("added") + count("not_taken"), servers, "{client}: {sample}\n{taken}");

                let ran = home.run(&["connect", client, "--yes"]);
                assert_eq!(ran.code, 0, "{client}: {}\n{sample}", ran.err);
                let mut after: Value = serde_json::from_str(&home.read(file)).unwrap();
                assert!(
                    after[member].as_object_mut().unwrap().remove("toolcrib").is_some(),
                    "{client}: {after}"
                );
                assert_eq!(after, before, "{client}: nothing else changed");
                let undone = home.run(&["connect", client, "--undo", "--yes"]);
                assert_eq!(undone.code, 0, "{client}: {}", undone.err);
                assert_eq!(home.read(file), sample, "{client}: every byte is back");
                *tried.entry(client).or_default() += 1;
            }
        }
    }
    assert_eq!(tried.len(), 6, "every client with a file of JSON has a published sample: {tried:?}");
    assert!(tried.values().all(|count| *count >= 3), "{tried:?}");
}
