//! Runs the gateway as a process, and servers from npm.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::http::Request;
use toolcrib_testkit::port;
use toolcrib_testkit::process::Process;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_toolcrib");
pub(crate) const SOON: Duration = Duration::from_secs(30);

pub(crate) struct Gateway {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
}

impl Gateway {
    /// Starts `toolcrib serve` with these arguments and waits for its greeting. No call needs a confirmation.
    pub(crate) fn start(words: &[&str]) -> Self {
        Self::start_with(own_data(), words)
    }

    /// Like `start`, with the default policy.
    pub(crate) fn start_gated(words: &[&str]) -> Self {
        let data =
            std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gated-{}", std::process::id()));
        Self::start_with(["--data".to_owned(), data.display().to_string()], words)
    }

    pub(crate) fn start_with(own: impl IntoIterator<Item = String>, words: &[&str]) -> Self {
        Self::start_in(own, words, &[])
    }

    /// Like `start_with`, with these environment variables.
    pub(crate) fn start_in(
        own: impl IntoIterator<Item = String>,
        words: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], port::free().unwrap()));
        let listen = address.to_string();
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--listen", &listen]).args(own).args(words).envs(environment.iter().copied());
        let mut process = Process::start(&mut command).unwrap();
        process
            .wait_for_line("greeting", SOON, |line| line.contains("stop with Ctrl-C").then_some(()))
            .unwrap();
        Self { process, address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let response = Request::get(path).send(self.address).unwrap();
        (response.status, response.text())
    }

    /// Sends a modern request and returns the full response.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Value {
        let mut params = params.clone();
        params["_meta"] = serde_json::json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}});
        let body =
            serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let mut request = Request::post_json("/mcp", &body)
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", method);
        if let Some(name) = params.get("name").or(params.get("uri")).and_then(Value::as_str) {
            request = request.header("Mcp-Name", name);
        }
        request.send(self.address).unwrap().json().unwrap()
    }

    pub(crate) fn tools(&self) -> Vec<String> {
        let answer = self.ask("tools/list", &serde_json::json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// Waits until `is_true` returns true.
pub(crate) fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + SOON;
    while !is_true() {
        assert!(std::time::Instant::now() < end, "not {what}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

/// Returns options for a new data folder and a policy that lets calls through: most tools of the fixtures have no
/// annotations, so their calls would need a confirmation.
pub(crate) fn own_data() -> [String; 4] {
    static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = LAST.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("gateway-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let policy = folder.join("policy.toml");
    std::fs::write(&policy, "[safety]\ndestructive = \"never\"\n").unwrap();
    let data = folder.join("data");
    ["--policy".to_owned(), policy.display().to_string(), "--data".to_owned(), data.display().to_string()]
}

/// Returns the command of a server from npm.
pub(crate) fn npm(package: &str, words: &[&str]) -> Vec<String> {
    let deps = Deps::of_this_workspace();
    let node = deps.node().unwrap_or_else(|error| panic!("{error}")).display().to_string();
    let script =
        deps.npm_project().join(format!("node_modules/@modelcontextprotocol/{package}/dist/index.js"));
    assert!(script.exists(), "{} is missing: run `cargo run -p xtask -- provision`", script.display());
    let mut command = vec![node, script.display().to_string()];
    command.extend(words.iter().map(|word| (*word).to_owned()));
    command
}
