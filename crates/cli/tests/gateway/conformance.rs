//! The official suite's client scenarios: the gateway is the client of the suite's authorization servers.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::http::Request;
use toolcrib_testkit::process::Process;

use super::folder::Folder;
use super::running::{Gateway, PROGRAM, SOON};

/// Scenarios required of clients of 2026-07-28 that are not in the suite's own set for authorization.
const NEWER: [&str; 11] = [
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/authorization-server-migration",
    "auth/iss-supported",
    "auth/iss-not-advertised",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
    "auth/metadata-issuer-mismatch",
];

/// Runs the suite with this test binary as the client and returns its output.
fn suite(words: &[&str]) -> String {
    let deps = Deps::of_this_workspace();
    let (node, suite) =
        (deps.node().unwrap(), deps.conformance_suite().unwrap_or_else(|error| panic!("{error}")));
    let results = Folder::new(&format!("suite{}", words.concat().replace('/', "-")));
    let own = std::env::current_exe().unwrap().display().to_string();
    let client = format!("{own} conformance::a_client_of_the_suite --exact --ignored --nocapture");
    let mut command = Command::new(node);
    command.arg(suite).args(["client", "--command", &client, "--timeout", "60000", "-o"]).arg(&results.0);
    let out = command.args(words).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{words:?}: {said}");
    said
}

/// R5.9: discovery, registration, metadata documents, scopes, step-up and its limit, and client authentication at the
/// token endpoint, as the official suite checks them.
#[test]
fn the_official_suite_accepts_how_tokens_are_had() {
    let said = suite(&["--suite", "auth"]);
    for scenario in ["auth/metadata-var3", "auth/basic-cimd", "auth/scope-step-up", "auth/scope-retry-limit"]
    {
        assert!(said.contains(&format!("✓ {scenario}")), "{scenario}: {said}");
    }
    assert!(!said.contains('✗'), "{said}");
}

/// R5.9: mixed-up issuers and resources, a server that moves to another issuer, offline access.
#[test]
fn the_official_suite_accepts_whom_tokens_are_taken_from() {
    for scenario in NEWER {
        let said = suite(&["--scenario", scenario]);
        assert!(said.contains("OVERALL: PASSED"), "{scenario}: {said}");
    }
}

/// Started by the suite, with its server's URL as the last argument.
#[test]
#[ignore = "started by the suite"]
fn a_client_of_the_suite() {
    let url = std::env::args().next_back().unwrap_or_default();
    assert!(
        std::env::var_os("MCP_CONFORMANCE_SCENARIO").is_some() && url.starts_with("http"),
        "no suite started this"
    );
    let context: Value = std::env::var("MCP_CONFORMANCE_CONTEXT")
        .map_or(Value::Null, |text| serde_json::from_str(&text).unwrap_or_default());
    let visit = Visit::new(&url, &context);
    visit.log_in();
    let folder = |name: &str| visit.folder.0.join(name).display().to_string();
    let own = ["--data".to_owned(), folder("data"), "--policy".to_owned(), folder("policy.toml")];
    let gateway = Gateway::start_with(own, &["--config", &visit.config]);
    let is_logged_out = || gateway.get("/readyz").1.contains("toolcrib auth s");
    if is_logged_out() {
        visit.log_in();
        // The gateway picks up a login by itself. In some scenarios the login is refused, so the wait has an end.
        let end = Instant::now() + Duration::from_secs(3);
        while is_logged_out() && Instant::now() < end {
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }
    let tools = gateway.tools();
    for tool in tools.iter().filter(|tool| tool.starts_with("s__")) {
        let call = || gateway.ask("tools/call", &json!({"name": tool, "arguments": {}})).to_string();
        // As a person would: reads the message of the call, logs in, and calls again.
        if call().contains("toolcrib auth s") {
            visit.log_in();
            call();
        }
    }
}

struct Visit {
    folder: Folder,
    config: String,
}

impl Visit {
    fn new(url: &str, context: &Value) -> Self {
        let folder = Folder::new("visit");
        folder.file("policy.toml", "[safety]\ndestructive = \"never\"\n");
        let mut text = format!("[servers.s]\nurl = {url:?}\n[servers.s.oauth]\n");
        for key in ["client_id", "client_secret"] {
            if let Some(value) = context[key].as_str() {
                text.push_str(&format!("{key} = {value:?}\n"));
            }
        }
        if context["client_id"].is_null() {
            text.push_str("client_metadata_url = \"https://conformance-test.local/client-metadata.json\"\n");
        }
        let config = folder.file("toolcrib.toml", &text);
        Self { folder, config }
    }

    /// Logs in as a person would. Whether that succeeds depends on the scenario.
    fn log_in(&self) {
        let mut command = Command::new(PROGRAM);
        command
            .args(["auth", "s", "--no-browser", "--config", &self.config, "--data"])
            .arg(self.folder.0.join("data"));
        let mut process = Process::start(&mut command).unwrap();
        let shown = process.wait_for_line("the address", SOON, |line| {
            line.trim().starts_with("http").then(|| line.trim().to_owned())
        });
        let mut next = shown.ok();
        // Follows the redirects, as a browser would.
        while let Some(url) = next.take() {
            let (host, target) = url.split_once("://").unwrap().1.split_once('/').unwrap();
            let addresses: Vec<SocketAddr> = host.to_socket_addrs().unwrap().collect();
            let request = Request::get(&format!("/{target}")).header("Host", host);
            let answer = addresses.iter().find_map(|address| request.send(*address).ok());
            next = answer.and_then(|answer| answer.header("location").map(str::to_owned));
        }
        process.wait(SOON).unwrap();
    }
}
