//! `init`, `add`, `remove` and `doctor`.

use crate::home::Home;

/// R8.1: a server is added with the syntax of `claude mcp add`, and removed without a trace.
#[test]
fn servers_are_added_and_removed_in_claudes_words() {
    let home = Home::new("add");
    for words in [
        &[
            "add",
            "files",
            "-e",
            "ROOT=${HOME}",
            "-e",
            "MODE=a=b",
            "--",
            "npx",
            "-y",
            "server-files",
            "--flag",
        ][..],
        &["add", "--transport", "http", "issues", "https://example.org/mcp", "-H", "X-Team: red: 1"],
        &["add", "plain", "uvx", "mcp-server-fetch"],
    ] {
        let ran = home.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {}{}", ran.out, ran.err);
    }
    let before = home.read("toolcrib.toml");
    let words = [
        "add",
        "-H",
        "X-Team: red: 1",
        "issues",
        "https://example.org/mcp",
        "--transport",
        "http",
        "--force",
    ];
    let ran = home.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(home.read("toolcrib.toml"), before, "options may stand on either side of a URL");
    for wrong in [
        &["add", "x", "https://example.org/mcp", "more"][..],
        &["add", "x", "https://example.org/mcp", "--flub"],
    ] {
        let ran = home.run(wrong);
        assert_eq!((ran.code, ran.err.starts_with("toolcrib: ")), (2, true), "{wrong:?}: {}", ran.err);
    }
    assert_eq!(
        home.run(&["add", "proxy", "npx", "mcp-remote", "https://example.org/mcp", "--header", "A: b"]).code,
        0
    );
    assert!(home.read("toolcrib.toml").contains("\"https://example.org/mcp\", \"--header\", \"A: b\"]"));
    assert_eq!(home.run(&["remove", "proxy"]).code, 0);
    let text = home.read("toolcrib.toml");
    assert!(text.contains("[servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"server-files\", \"--flag\"]\nenv = { ROOT = \"${HOME}\", MODE = \"a=b\" }"), "{text}");
    assert!(
        text.contains(
            "[servers.issues]\nurl = \"https://example.org/mcp\"\nheaders = { X-Team = \"red: 1\" }"
        ),
        "{text}"
    );
    let valid = home.run(&["config", "validate", "toolcrib.toml"]);
    assert_eq!(valid.code, 0, "{}", valid.err);
    let twice = home.run(&["add", "plain", "x"]);
    assert_eq!((twice.code, twice.err.contains("--force")), (2, true), "{}", twice.err);
    assert_eq!(home.run(&["remove", "issues"]).code, 0);
    assert!(!home.read("toolcrib.toml").contains("issues"));
    let unknown = home.run(&["remove", "issues"]);
    assert_eq!((unknown.code, unknown.err.contains("known: files, plain")), (2, true), "{}", unknown.err);
    assert_eq!(home.run(&["remove", "x", "--config", "nowhere.toml"]).code, 3);
}

/// R8.1: `init` imports each of the clients' servers once, and says what it cannot import.
#[test]
fn init_imports_what_the_clients_have() {
    let home = Home::new("init");
    home.write(".claude.json", include_str!("samples/claude-code.json"));
    home.write(".config/Code/User/mcp.json", include_str!("samples/vscode.json"));
    home.write(".codex/config.toml", include_str!("samples/codex.toml"));
    home.write(".cursor/mcp.json", include_str!("samples/cursor.json"));
    home.write(".codeium/windsurf/mcp_config.json", include_str!("samples/windsurf.json"));
    home.write(".gemini/settings.json", "{ broken");
    let looked = home.run(&["init", "--dry-run"]);
    assert_eq!((looked.code, home.path("toolcrib.toml").exists()), (0, false), "{}", looked.err);
    let unasked = home.run(&["init"]);
    assert_eq!(unasked.code, 2, "{}", unasked.out);
    let ran = home.run(&["init", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for reason in ["issues of VS Code: it asks a person", "settings.json: not JSON"] {
        assert!(ran.out.contains(reason), "{}", ran.out);
    }
    let text = home.read("toolcrib.toml");
    for line in [
        "[servers.github]",
        "[servers.context7]",
        "bearer = \"${DOCS_TOKEN}\"",
        "url = \"https://example.org/mcp\"",
        "[servers.fetch]",
        // Cursor's entry has one variable more than Claude's.
        "[servers.memory-cursor]",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("memory-windsurf"), "the same as Claude's: {text}");
    let variables = [("GITHUB_TOKEN", "x"), ("CONTEXT7_KEY", "x"), ("DOCS_TOKEN", "x")];
    let valid = home.command(&["config", "validate", "toolcrib.toml"]).envs(variables).output().unwrap();
    assert!(valid.status.success(), "{}", String::from_utf8_lossy(&valid.stderr));
    let again = home.run(&["init", "--yes"]);
    assert!(again.out.contains("nothing to add"), "{}", again.out);
    assert_eq!(home.read("toolcrib.toml"), text);
}

/// R8.1: `doctor` tells a fault from a note, as text and as JSON.
#[test]
fn doctor_finds_what_is_wrong_and_says_what_to_do() {
    let home = Home::new("doctor");
    let fine = home.run(&["doctor", "--listen", "127.0.0.1:0"]);
    assert_eq!(fine.code, 0, "{}{}", fine.out, fine.err);
    home.write("toolcrib.toml", "[servers.a]\ncommand = \"no-such-program\"\n");
    home.write(".cursor/mcp.json", "{ broken");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = home.run(&["doctor", "--listen", &address, "--format", "json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let report = ran.json();
    let health = |what: &str| {
        let all = report["findings"].as_array().unwrap();
        all.iter().find(|one| one["what"] == what).map(|one| one["health"].as_str().unwrap().to_owned())
    };
    assert_eq!(health("server a").as_deref(), Some("fault"), "{report}");
    assert_eq!(health("Cursor").as_deref(), Some("fault"), "{report}");
    assert_eq!(health("address").as_deref(), Some("note"), "{report}");
    assert_eq!(health("Windsurf"), None, "{report}");
}

/// R12.5: `doctor` shows a stop with its reason, who set it, since when, and the command that lifts it; and a broken
/// end of the audit. It never creates the data folder.
#[test]
fn doctor_shows_a_stop_and_a_broken_audit() {
    let home = Home::new("doctor-stop");
    let words = ["doctor", "--listen", "127.0.0.1:0", "--data", "d"];
    let look = || home.run(&[&words[..], &["--format", "json"]].concat());
    let finding = |what: &str| {
        let all = look().json()["findings"].as_array().unwrap().clone();
        all.into_iter().find(|finding| finding["what"] == what)
    };
    assert_eq!(home.run(&words).code, 0);
    assert!(!home.path("d").exists(), "doctor only looks");
    assert_eq!(home.run(&["stop", "it smells of smoke", "--data", "d"]).code, 0);
    assert_eq!(look().code, 1);
    let stop = finding("emergency stop").unwrap();
    let said = stop["said"].as_str().unwrap();
    assert_eq!(stop["health"], "fault");
    let data = home.path("d").canonicalize().unwrap();
    let unlock = format!("`toolcrib unlock --data {}`", data.display());
    for part in ["it smells of smoke", "everybody", "by command line", "since 20", &unlock] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(home.run(&["unlock", "--data", "d"]).code, 0);
    assert_eq!((look().code, finding("emergency stop")), (0, None));
    assert_eq!(finding("audit").unwrap()["health"], "ok");
    std::fs::write(home.path("d/audit.anchor"), "nonsense").unwrap();
    assert_eq!(finding("audit").unwrap()["health"], "fault");
    assert_eq!(look().code, 1);
    std::fs::remove_file(home.path("d/audit.anchor")).unwrap();
    assert!(finding("audit").unwrap()["said"].as_str().unwrap().contains("audit.anchor is missing"));
}
