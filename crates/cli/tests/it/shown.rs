//! The `sh` blocks of the guides: every line that calls the program is run by a shell, in a folder with the files it
//! names.
//!
//! A line that serves gets a free port and is stopped after its greeting. The exit codes of lines that are meant to
//! fail, or that the reader has to complete, are listed here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::process::Process;

use crate::home::{Home, Ran};

const REGISTRY: &str = r#"{"version":"1.0.0","last_updated":"2026-01-01T00:00:00Z","servers":{"github":{
    "description":"Repositories and issues.","tier":"Official","status":"Active","transport":"stdio","image":"ghcr.io/example/github:1.0.0",
    "tools":["create_issue","list_issues"],"tool_definitions":[
    {"name":"create_issue","description":"Creates an issue.","inputSchema":{"type":"object","properties":{"owner":{"type":"string"},"title":{"type":"string"}},"required":["owner","title"]}},
    {"name":"list_issues","description":"Lists issues, to create none.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}}}"#;

/// Lines with an exit code other than 0, and the reason.
const OTHER_CODES: [(&str, i32); 4] = [
    // The entry names neither a package nor a remote.
    ("toolcrib capture com.example/demo", 3),
    // The server and the variable are the reader's own.
    (
        "toolcrib capture com.example/demo --url https://demo.example/mcp --header 'Authorization: Bearer ${DEMO_TOKEN}'",
        2,
    ),
    // The title is missing.
    ("toolcrib validate github/create_issue --args '{\"owner\":\"o\"}'", 1),
    // No approval has this id.
    ("toolcrib approve allow apr_…", 2),
];

/// Returns the lines of a document's `sh` blocks that call the program, without their comments.
fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let blocks = text.split("\n```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
    let bare = |line: &str| line.split("  #").next().unwrap_or_default().trim_end().to_owned();
    blocks.flat_map(str::lines).filter(|line| line.starts_with("toolcrib ")).map(bare).collect()
}

/// Creates a home with the files that the guides' lines name.
fn furnished() -> Home {
    let home = Home::new("shown");
    home.write("registry.json", REGISTRY);
    home.write("notes.sh", include_str!("scripted.sh"));
    home.write("tools.json", r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#);
    home.write("toolcrib.toml", "[servers.notes]\ncommand = \"sh\"\nargs = [\"notes.sh\"]\n");
    let own =
        serde_json::json!({"mcpServers": {"notes": {"command": "sh", "args": [home.path("notes.sh")]}}});
    home.write(".cursor/mcp.json", &own.to_string());
    let server = home.write("my-server", "#!/bin/sh\nexec sh \"$(dirname \"$0\")/notes.sh\"\n");
    std::fs::set_permissions(server, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    home.write("demo.json", r#"{"name":"com.example/demo","description":"A demo.","version":"1.0.0"}"#);
    assert_eq!(home.run(&["registry", "import", "demo.json"]).code, 0);
    home
}

fn path() -> std::ffi::OsString {
    let deps = Deps::of_this_workspace();
    let binary = Path::new(env!("CARGO_BIN_EXE_toolcrib")).parent().unwrap().to_owned();
    let node = deps.node().unwrap_or_else(|error| panic!("{error}")).parent().unwrap().to_owned();
    let machine = std::env::var_os("PATH").unwrap_or_default();
    let npm = deps.npm_project().join("node_modules/.bin");
    std::env::join_paths([binary, node, npm].into_iter().chain(std::env::split_paths(&machine))).unwrap()
}

fn shell(home: &Home, line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {line}")]).current_dir(&home.folder).stdin(Stdio::null());
    command.env("HOME", &home.folder).env("PATH", path()).env("CI", "true");
    for variable in
        ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "TOOLCRIB_DATA", "TOOLCRIB_STORE", "TOOLCRIB_TOOLSET_CONFIG"]
    {
        command.env_remove(variable);
    }
    command
}

/// Starts a serving line and stops it after its greeting.
fn serves(home: &Home, line: &str) {
    let line = line.replacen(" serve", " serve --listen 127.0.0.1:0", 1);
    let mut process = Process::start(&mut shell(home, &line)).unwrap();
    let greeted = process.wait_for_line("greeting", Duration::from_secs(60), |line| {
        (line.starts_with("toolcrib") && line.contains(" serves at ")).then_some(())
    });
    greeted.unwrap_or_else(|error| panic!("{line}: {error}: {}", process.said()));
    assert!(process.terminate(Duration::from_secs(10)).unwrap().success(), "{line}");
}

/// R8.1: every line of the guides' `sh` blocks works if the files it names exist.
#[test]
fn every_line_that_the_guides_show_can_be_run() {
    let home = furnished();
    let (_desk, url) = crate::serving::desk(&home);
    let entry = serde_json::json!({"name": "com.example/desk", "description": "A desk.", "version": "1.0.0",
        "remotes": [{"type": "streamable-http", "url": url}]});
    home.write("server.json", &entry.to_string());
    let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(guides).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut run = 0;
    for file in files {
        for line in lines(&std::fs::read_to_string(&file).unwrap()) {
            run += 1;
            // Nothing is written outside the test's own folder, and the packages are the pinned ones.
            let own = line.replace("/var/lib/toolcrib", &home.path("kept").display().to_string());
            let own = own.replace("npx -y @modelcontextprotocol/server-everything", "mcp-server-everything");
            let is_served = own.starts_with("toolcrib serve") || own.starts_with("toolcrib registry serve");
            if is_served && !own.contains("--stdio") {
                serves(&home, &own);
                continue;
            }
            let ran: Ran = shell(&home, &own).output().unwrap().into();
            let code = OTHER_CODES.iter().find(|(other, _)| *other == line).map_or(0, |(_, code)| *code);
            assert_eq!(ran.code, code, "{}: {line}\n{}{}", file.display(), ran.out, ran.err);
        }
    }
    assert!(run >= 15, "the guides show {run} lines");
}

/// R8.1: every configuration in the documents is valid.
#[test]
fn every_configuration_that_the_documents_show_can_be_used() {
    let home = Home::new("shown-configurations");
    // One of the configurations has a lock.
    home.write("tools.json", r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#);
    assert_eq!(home.run(&["lock", "x=tools.json"]).code, 0);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut used = 0;
    for name in ["README.md", "docs/guide/gateway.md", "docs/guide/safety.md", "docs/guide/authors.md"] {
        let text = std::fs::read_to_string(root.join(name)).unwrap();
        let blocks = text.split("\n```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("toml\n"));
        for block in blocks {
            used += 1;
            let ran: Ran = if block.contains("[safety]") {
                home.write("policy.toml", block);
                home.run(&["explain", "desk/get_quote", "--policy", "policy.toml"])
            } else {
                let servers =
                    if block.contains("[servers.") { "" } else { "\n[servers.x]\ncommand = \"x\"\n" };
                home.write("toolcrib.toml", &format!("{block}{servers}"));
                let mut command = home.command(&["config", "validate", "toolcrib.toml"]);
                let named = block.split("${").skip(1).filter_map(|rest| rest.split(['}', ':']).next());
                command
                    .envs(named.filter(|name| *name != "HOME").map(|name| (name, "x")))
                    .output()
                    .unwrap()
                    .into()
            };
            assert_eq!(ran.code, 0, "{name}: {}\n{block}", ran.err);
        }
    }
    assert!(used >= 4, "the documents show {used} configurations");
}
