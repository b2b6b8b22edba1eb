//! A server that changes its tools while clients are connected, behind a gateway with a lock.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::{Context, HttpOptions, Server, ToolError, ToolSpec};

use crate::running::{Gateway, PROGRAM, SOON};

/// Server with one tool that can be replaced during the test.
struct Changing {
    server: Server,
    url: String,
    _runtime: tokio::runtime::Runtime,
}

impl Changing {
    fn start() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let server = Server::new("notes", "1.0.0").unwrap();
        offer(
            &server,
            json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}),
            true,
        );
        let bound = runtime.block_on(server.bind_http("127.0.0.1:0", HttpOptions::default())).unwrap();
        let url = format!("http://{}/mcp", bound.address().unwrap());
        runtime.spawn(bound.serve(std::future::pending()));
        Self { server, url, _runtime: runtime }
    }

    fn change(&self, schema: Value, read_only: bool) {
        assert!(self.server.unregister("find"));
        offer(&self.server, schema, read_only);
    }
}

fn offer(server: &Server, schema: Value, read_only: bool) {
    let spec = ToolSpec::new("find", "Finds notes.").input_schema(schema).read_only(read_only);
    server.add(spec, |_: Value, _: Context| async { Ok::<_, ToolError>("found") }).unwrap();
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn toolcrib(folder: &Path, words: &[&str]) -> String {
    let output = Command::new(PROGRAM).current_dir(folder).args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < end, "{what} never came");
        #[allow(clippy::disallowed_methods, reason = "there is no runtime here to block")]
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// R5.7: a tool that breaks its pinned contract during a connection is removed and refused, with the reason in the log;
/// it returns when it matches the pin again, or when its new contract is approved by its digest.
#[test]
fn a_tool_that_drifts_is_kept_aside_until_it_is_approved() {
    let upstream = Changing::start();
    let pinned = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    let broken = json!({"type": "object", "properties": {"q": {"type": "string"}, "tag": {"type": "string"}},
        "required": ["q", "tag"]});
    let folder = folder("drift");
    let config = format!("[servers.notes]\nurl = {:?}\n\n[drift]\nbreaking = \"approve\"\n", upstream.url);
    std::fs::write(folder.join("toolcrib.toml"), config).unwrap();
    assert!(toolcrib(&folder, &["lock"]).contains("1 tool pinned"));

    let file = folder.join("toolcrib.toml");
    let gateway = Gateway::start(&["--config", file.to_str().unwrap(), "--prefix", "never"]);
    let is_served = || gateway.tools().iter().any(|name| name == "find");
    assert!(is_served());
    let call = || gateway.ask("tools/call", &json!({"name": "find", "arguments": {"q": "tea"}}));
    assert_eq!(call()["result"]["content"][0]["text"], "found");

    // A required argument appears while the gateway is connected.
    upstream.change(broken.clone(), true);
    wait_until("the quarantine", || !is_served());
    assert_eq!(call()["error"]["code"], -32602, "a tool that is kept aside is refused like an unknown one");
    let reason = "find: breaking since it was pinned: ";
    let said = gateway.process.said();
    assert!(said.contains("quarantined: breaking since it was pinned: "), "the log: {said}");
    let status = toolcrib(&folder, &["status", &gateway.url()]);
    assert!(status.contains(&format!("quarantined: notes/{reason}")), "the status: {status}");
    let told = toolcrib(&folder, &["explain", "notes/find", "--as", "claude-code"]);
    assert!(told.contains("callable  no: quarantined: breaking since it was pinned: "), "{told}");
    assert!(told.contains("toolcrib lock --approve 'notes/find@sha256:"), "{told}");

    // The server reverts the change, and the tool returns.
    upstream.change(pinned, true);
    wait_until("the return", is_served);

    // The server changes again, and the new contract is reviewed and approved while the gateway runs.
    upstream.change(broken, true);
    wait_until("the second quarantine", || !is_served());
    let shown = toolcrib(&folder, &["check"]);
    let approval = shown.lines().find(|line| line.contains("--approve")).unwrap_or_else(|| panic!("{shown}"));
    let approval = approval.split('\'').nth(1).unwrap();
    let approved = toolcrib(&folder, &["lock", "--approve", approval]);
    assert!(approved.contains("1 tool pinned"), "{approved}");
    wait_until("the approved tool", is_served);
    let refused = call();
    assert_eq!(refused["result"]["isError"], true, "the new contract is in force: {refused}");
}

/// R1.4, R5.7: a tool that claims to have become harmless is judged by its pinned annotations.
#[test]
fn a_tool_that_claims_to_be_tamer_is_not_believed() {
    let upstream = Changing::start();
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    upstream.change(schema.clone(), false);
    let folder = folder("tamer");
    let config = format!(
        "[servers.notes]\nurl = {:?}\n\n[drift]\ndangerous = \"warn\"\nbreaking = \"warn\"\n",
        upstream.url
    );
    std::fs::write(folder.join("toolcrib.toml"), config).unwrap();
    assert!(toolcrib(&folder, &["lock"]).contains("1 tool pinned"));
    upstream.change(schema, true);

    let file = folder.join("toolcrib.toml");
    let gateway = Gateway::start_gated(&["--config", file.to_str().unwrap(), "--prefix", "never"]);
    // The tool is served, because the policy only warns, but the gate uses the pinned annotation: destructive.
    let answer = gateway.ask("tools/call", &json!({"name": "find", "arguments": {"q": "tea"}}));
    assert_ne!(answer["result"]["content"][0]["text"], "found", "{answer}");
}
