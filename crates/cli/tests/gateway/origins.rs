//! Web pages as clients: configured origins are served, others and the REST API are not.

use std::process::Command;
use std::time::Duration;

use toolcrib_testkit::listener::{Listener, Outgoing};
use toolcrib_testkit::process::Process;

use super::folder::Folder;
use super::listening::{gateway, is_installed};
use super::running::Gateway;

/// Web page that starts a session, lists the tools in it, and shows them or the error.
const PAGE: &str = r#"<!doctype html><pre id="said">nothing</pre><script type="module">
const said = document.getElementById("said");
const gateway = `http://127.0.0.1:${location.hash.slice(1)}`;
const post = (method, params, more) => fetch(`${gateway}/mcp`, {
  method: "POST",
  headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...more },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
});
try {
  const begun = await post("initialize", {
    protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "page", version: "1" },
  });
  const session = begun.headers.get("mcp-session-id");
  await begun.text();
  const listed = await post("tools/list", {}, { "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25" });
  said.textContent = `session ${session ? "read" : "hidden"}; ${await listed.text()}`;
} catch (error) {
  said.textContent = `blocked: ${error}`;
}
try {
  said.textContent += `; REST ${(await fetch(`${gateway}/api/v1/tools`, { headers: { "X-Other": "1" } })).status}`;
} catch (error) {
  said.textContent += "; REST blocked";
}
</script>"#;

/// Returns the output of the page at `host` in chromium.
fn browsed(folder: &Folder, host: &str, pages: &Listener, gateway: &Gateway) -> String {
    let url = format!("http://{host}:{}/#{}", pages.address.port(), gateway.address.port());
    let mut command = Command::new("chromium");
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--dump-dom"])
        .args(["--host-resolver-rules=MAP *.example 127.0.0.1", "--virtual-time-budget=20000"])
        .arg(format!("--user-data-dir={}", folder.0.join(host).display()))
        .arg(url);
    let mut process = Process::start(&mut command).unwrap();
    process.wait(Duration::from_secs(60)).unwrap_or_else(|error| panic!("{error}: {}", process.said()));
    process.said()
}

/// R14.2: in chromium a page of a configured origin starts a session and lists tools; a page of another origin is
/// blocked; neither can use the REST API.
#[test]
fn pages_of_configured_origins_are_clients() {
    if !is_installed("chromium") {
        return;
    }
    let folder = Folder::new("cors");
    let pages = Listener::start(|_| Outgoing {
        status: 200,
        headers: vec![("Content-Type".to_owned(), "text/html".to_owned())],
        body: PAGE.to_owned(),
    })
    .unwrap();
    let gateway = gateway(&folder, &format!("origins = [\"http://app.example:{}\"]", pages.address.port()));
    let expected = browsed(&folder, "app.example", &pages, &gateway);
    assert!(expected.contains("session read; ") && expected.contains("\"tools\":["), "{expected}");
    assert!(expected.contains("; REST blocked"), "{expected}");
    let other = browsed(&folder, "other.example", &pages, &gateway);
    assert!(other.contains("blocked: TypeError"), "{other}");
}

/// R14.2: a preflight of the REST API allows nothing, and a refusal because of its origin says that it depends on it.
#[test]
fn the_rest_api_and_other_origins_get_no_leave() {
    if !is_installed("curl") {
        return;
    }
    let folder = Folder::new("leave");
    let gateway = gateway(&folder, "origins = [\"https://app.example\"]");
    let heads = |path: &str, origin: &str, words: &[&str]| {
        let (url, origin) = (format!("http://{}{path}", gateway.address), format!("Origin: {origin}"));
        let fixed = ["--dump-header", "-", "--output", "none", "-H", &origin, &url];
        let mut command = Command::new("curl");
        command.args(["--silent", "--max-time", "20"]).args(words).args(fixed);
        let out = command.current_dir(&folder.0).output().unwrap();
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stdout).unwrap().to_ascii_lowercase()
    };
    let preflight = ["-X", "OPTIONS", "-H", "Access-Control-Request-Method: POST"];
    let (allowed, other) = ("https://app.example", "https://evil.example");
    let granted = heads("/mcp", allowed, &preflight);
    assert!(granted.starts_with("http/1.1 204 "), "{granted}");
    assert!(granted.contains("\naccess-control-allow-origin: https://app.example\r"), "{granted}");
    assert!(granted.contains("\nvary: origin\r"), "{granted}");
    for (path, origin, words, status) in [
        ("/api/v1/tools", allowed, &preflight[..], "401"),
        ("/api/v1/tools", other, &preflight, "403"),
        ("/api/v1/tools", allowed, &[], "401"),
        ("/api/v1/tools", other, &[], "403"),
        ("/mcp", other, &preflight, "403"),
        ("/mcp", other, &["--data", "{}"], "403"),
        ("/livez", other, &[], "403"),
    ] {
        let head = heads(path, origin, words);
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{path} {origin} {words:?}: {head}");
        assert!(!head.contains("access-control-allow"), "{path} {origin} {words:?}: {head}");
        assert!(status != "403" || head.contains("\nvary: origin\r"), "{path} {origin} {words:?}: {head}");
    }
}
