//! `lock`, `check` and `diff` as people and CI run them, over files, registry files and running servers.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may stop")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const OLD: &str = r#"{"tools":[{"name":"search","description":"Searches.","annotations":{"readOnlyHint":true},
    "inputSchema":{"type":"object","required":["q"],"properties":{"q":{"type":"string","description":"Words."}}}}]}"#;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("a file can be written");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).expect("a file can be read")
    }

    fn run(&self, words: &[&str]) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
            .current_dir(&self.0)
            .env("TOOLCRIB_DATA", self.0.join("data"))
            .args(words)
            .output()
            .expect("the binary starts");
        Ran::from(output)
    }
}

#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Ran {
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// R7.1, R7.7: an unchanged server passes, a changed one fails, and an approval is bound to the digest that was shown.
#[test]
fn a_lock_holds_until_what_was_reviewed_is_approved() {
    let folder = Folder::new("lock");
    folder.write("tools.json", OLD);
    assert_eq!(folder.run(&["lock", "notes=tools.json"]).code, Some(0));
    let lock = folder.read("toolcrib.lock");
    assert!(lock.contains("\"server\": \"notes\""), "{lock}");
    assert_eq!(folder.run(&["check", "notes=tools.json", "--fail-on", "any"]).code, Some(0));

    folder.write("tools.json", &OLD.replace("\"q\"", "\"query\""));
    let failed = folder.run(&["check", "tools.json"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let line = failed.out.lines().find(|line| line.contains("--approve")).expect("an approval is offered");
    assert!(line.starts_with("  toolcrib lock notes=tools.json --approve 'search@sha256:"), "{line}");
    let approval = line.split('\'').nth(1).expect("it is quoted").to_owned();

    // The server changes again after it was shown: the approval no longer fits, and the lock stays unchanged.
    folder.write("tools.json", &OLD.replace("\"q\"", "\"words\""));
    let refused = folder.run(&["lock", "notes=tools.json", "--approve", &approval]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert_eq!(folder.read("toolcrib.lock"), lock);

    folder.write("tools.json", &OLD.replace("\"q\"", "\"query\""));
    let approved = folder.run(&["lock", "notes=tools.json", "--approve", &approval]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    assert_eq!(folder.run(&["check", "tools.json", "--fail-on", "any"]).code, Some(0));

    // A tool's removal can be approved only once it is gone.
    let kept = folder.run(&["lock", "notes=tools.json", "--approve", "search@removed"]);
    assert_eq!(kept.code, Some(1), "{kept:?}");
    folder.write("tools.json", r#"{"tools":[]}"#);
    assert_eq!(folder.run(&["check", "tools.json"]).code, Some(1));
    assert_eq!(folder.run(&["lock", "notes=tools.json", "--approve", "search@removed"]).code, Some(0));
}

/// R7.7: pinning one server keeps the pins of the others, and a pin is lost only with `--prune`, by name.
#[test]
fn pinning_one_server_keeps_the_pins_of_the_others() {
    let folder = Folder::new("one of two");
    folder.write("notes.json", OLD);
    folder.write("mail.json", r#"{"tools":[{"name":"send"},{"name":"read"}]}"#);
    assert_eq!(folder.run(&["lock", "notes=notes.json", "mail=mail.json"]).code, Some(0));
    let both = folder.read("toolcrib.lock");
    assert_eq!(folder.run(&["lock", "mail=mail.json"]).code, Some(0));
    assert_eq!(folder.read("toolcrib.lock"), both);

    folder.write("mail.json", r#"{"tools":[{"name":"send"}]}"#);
    let refused = folder.run(&["lock", "mail=mail.json"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("mail/read") && refused.err.contains("--prune"), "{refused:?}");
    assert_eq!(folder.read("toolcrib.lock"), both, "nothing was changed");

    let pruned = folder.run(&["lock", "mail=mail.json", "--prune", "--format", "json"]);
    assert_eq!((pruned.code, pruned.json()["lost"].to_string()), (Some(0), r#"["mail/read"]"#.to_owned()));
    let lock = folder.read("toolcrib.lock");
    assert!(!lock.contains("\"read\"") && lock.contains("\"send\"") && lock.contains("\"search\""), "{lock}");
}

/// R7.7: the lines that `check` prints run unchanged and leave no finding, also for a renamed tool.
#[test]
fn the_lines_that_approve_can_be_copied() {
    let folder = Folder::new("copied lines");
    folder.write("my tools.json", OLD);
    assert_eq!(folder.run(&["lock", "notes=my tools.json", "-o", "my.lock"]).code, Some(0));
    folder.write(
        "my tools.json",
        &OLD.replace("\"search\"", "\"search_notes\"").replace("Words.", "The words."),
    );
    let checked = folder.run(&["check", "--lock", "my.lock", "my tools.json"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let program = env!("CARGO_BIN_EXE_toolcrib");
    let lines: Vec<String> = checked
        .out
        .lines()
        .filter_map(|line| line.strip_prefix("  toolcrib "))
        .map(|line| format!("'{program}' {line}"))
        .collect();
    assert_eq!(lines.len(), 2, "{checked:?}");
    let ran = Command::new("sh").args(["-ec", &lines.join("\n")]).current_dir(&folder.0).output();
    assert!(ran.expect("a shell").status.success(), "{lines:?}");
    let again = folder.run(&["check", "--lock", "my.lock", "my tools.json", "--fail-on", "any"]);
    assert_eq!(again.code, Some(0), "{again:?}");
}

/// R7.6: a waiver lets a finding pass with a reason; an expired or unused waiver is itself a finding.
#[test]
fn waivers_hold_until_their_day() {
    let folder = Folder::new("waivers");
    folder.write("old.json", OLD);
    folder.write("new.json", &OLD.replace("\"q\"", "\"query\""));
    let report = folder.run(&["diff", "old.json", "new.json", "--format", "json"]).json();
    let waivers = |expires: &str| {
        let all: Vec<serde_json::Value> = report["changes"]
            .as_array()
            .expect("changes")
            .iter()
            .map(|change| serde_json::json!({"rule": change["id"], "tool": "search", "reason": "agreed", "expires": expires}))
            .collect();
        serde_json::json!({ "waivers": all }).to_string()
    };
    folder.write("waivers.json", &waivers("2999-01-01"));
    let passed = folder.run(&["diff", "old.json", "new.json", "--waivers", "waivers.json"]);
    assert_eq!(passed.code, Some(0), "{passed:?}");
    folder.write("waivers.json", &waivers("2020-01-01"));
    let expired = folder.run(&["diff", "old.json", "new.json", "--waivers", "waivers.json"]);
    assert_eq!(expired.code, Some(1), "{expired:?}");
    assert!(expired.out.contains("expired on 2020-01-01"), "{expired:?}");
    folder.write("waivers.json", r#"{"waivers":[{"rule":"a.b","tool":"x","reason":"agreed"}]}"#);
    let unused = folder.run(&["diff", "old.json", "old.json", "--waivers", "waivers.json", "--strict"]);
    assert_eq!(unused.code, Some(1), "{unused:?}");
    folder.write("waivers.json", r#"{"waivers":[{"rule":"a.b","tool":"x","reason":" "}]}"#);
    let without = folder.run(&["diff", "old.json", "old.json", "--waivers", "waivers.json"]);
    assert_eq!(without.code, Some(2), "{without:?}");
    assert!(without.err.contains("a reason is mandatory"), "{without:?}");
}

/// R7.1: a side can be one server of a registry file, or a server.json.
#[test]
fn a_server_of_a_registry_file_is_a_side() {
    let folder = Folder::new("registry");
    let definition: serde_json::Value = serde_json::from_str(OLD).expect("JSON");
    let entry = |tools: &serde_json::Value| {
        serde_json::json!({"description": "Notes.", "tier": "Community", "status": "Active", "transport": "stdio",
            "image": "ghcr.io/acme/notes:1", "tools": ["search"], "tool_definitions": tools})
    };
    let file = |tools: &serde_json::Value| {
        serde_json::json!({"version": "1.0.0", "last_updated": "2026-01-01T00:00:00Z",
            "servers": {"notes": entry(tools), "empty": entry(&serde_json::json!([]))}})
        .to_string()
    };
    folder.write("old.json", &file(&definition["tools"]));
    folder.write("new.json", OLD);
    let same = folder.run(&["diff", "old.json#notes", "new.json", "--fail-on", "any"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    let which = folder.run(&["diff", "old.json", "new.json"]);
    assert_eq!(which.code, Some(2), "{which:?}");
    assert!(which.err.contains("FILE#SERVER") && which.err.contains("notes"), "{which:?}");
    folder.write("new.json", &OLD.replace("\"q\"", "\"query\""));
    let checked = folder.run(&["check", "--registry", "old.json", "notes=new.json", "--format", "json"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert_eq!(checked.json()["verdict"], "breaking");
}

struct Running(Child, String);

impl Running {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("TOOLCRIB_DATA", Path::new(env!("CARGO_TARGET_TMPDIR")).join("running-data"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("its first line");
        let url = line.split_whitespace().last().expect("an address").to_owned();
        Self(child, url)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// R7.1: a side can be a running server, by its URL or by its name in the configuration.
#[test]
fn a_running_server_is_a_side() {
    let folder = Folder::new("running");
    let server = Running::start();
    assert_eq!(folder.run(&["lock", &format!("desk={}", server.1)]).code, Some(0));
    let same = folder.run(&["check", &server.1, "--fail-on", "any"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    drop(server);

    let program = env!("CARGO_BIN_EXE_toolcrib");
    folder.write(
        "toolcrib.toml",
        &format!("[servers.desk]\ncommand = {program:?}\nargs = [\"serve\", \"--stdio\"]\n"),
    );
    let same = folder.run(&["check", "--fail-on", "any"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    let other = folder.run(&["diff", "toolcrib.lock", "desk", "--fail-on", "any"]);
    assert_eq!(other.code, Some(0), "{other:?}");

    folder.write("toolcrib.toml", "[servers.desk]\nurl = \"http://127.0.0.1:9/mcp\"\n");
    let gone = folder.run(&["check"]);
    assert_eq!(gone.code, Some(3), "{gone:?}");
    let nowhere = folder.run(&["diff", "toolcrib.lock", "nobody"]);
    assert_eq!(nowhere.code, Some(3), "{nowhere:?}");
}

/// R7.6: an unreadable side is named, and never passes.
#[test]
fn what_cannot_be_read_is_named() {
    let folder = Folder::new("unreadable");
    folder.write("old.json", OLD);
    folder.write("not.json", "{\"tools\":[");
    folder.write("toolcrib.lock", "{}");
    for (words, code) in [
        (vec!["diff", "old.json", "not.json"], 2),
        (vec!["diff", "old.json", "absent.json"], 3),
        (vec!["check", "old.json"], 2),
        (vec!["check", "old.json", "--lock", "absent.lock"], 3),
        (vec!["lock"], 2),
        (vec!["lock", "a=old.json", "a=old.json"], 2),
        (vec!["lock", "a=old.json", "--approve", "search"], 2),
    ] {
        let ran = folder.run(&words);
        assert_eq!(ran.code, Some(code), "{words:?}: {ran:?}");
        assert!(ran.err.starts_with("toolcrib: "), "{words:?}: {ran:?}");
    }
}
