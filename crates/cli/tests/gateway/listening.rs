//! Connections to the gateway other than plain HTTP/1.1: TLS, HTTP/2, a Unix socket, a browser, HTTP+SSE of 2024.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::foreign::{self, Era, Sdk, Server};
use toolcrib_testkit::listener::{Listener, Outgoing};
use toolcrib_testkit::port;
use toolcrib_testkit::process::Process;

use super::folder::Folder;
use super::running::{Gateway, PROGRAM, SOON, npm, own_data, until};

/// Returns true if a program is installed; otherwise reports that the test is skipped.
fn is_installed(program: &str) -> bool {
    let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if status.is_err() {
        eprintln!("SKIPPED: {program} is not installed: `cargo run -p xtask -- provision` as root");
    }
    status.is_ok()
}

/// Creates a certificate for 127.0.0.1 and localhost with this common name, as `cert.pem` and `key.pem`.
fn certify(folder: &Path, name: &str) {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            &format!("/CN={name}"),
        ])
        .args([
            "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout",
            "key.new",
            "-out",
            "cert.new",
        ])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // The certificate is replaced last: until then key and certificate do not match, and nothing changes.
    std::fs::rename(folder.join("key.new"), folder.join("key.pem")).unwrap();
    std::fs::rename(folder.join("cert.new"), folder.join("cert.pem")).unwrap();
}

/// Runs curl and returns its output.
fn curl(words: &[&str]) -> String {
    let out =
        Command::new("curl").args(["--silent", "--show-error", "--max-time", "20"]).args(words).output();
    let out = out.unwrap();
    assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// Lists tools with curl. Returns the HTTP version and the names.
fn listed(url: &str, words: &[&str]) -> (String, Vec<String>) {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}).to_string();
    let fixed = [
        "--write-out",
        "\n%{http_version}",
        "--data",
        &body,
        "-H",
        "Content-Type: application/json",
        "-H",
        "Accept: application/json, text/event-stream",
        "-H",
        "MCP-Protocol-Version: 2026-07-28",
        "-H",
        "Mcp-Method: tools/list",
        url,
    ];
    let said = curl(&[words, &fixed].concat());
    let (answer, version) = said.rsplit_once('\n').unwrap();
    let answer: Value = serde_json::from_str(answer).unwrap_or_else(|_| panic!("{said}"));
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    (version.to_owned(), tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect())
}

/// Starts a gateway on a configuration with these keys and one server.
fn gateway(folder: &Folder, keys: &str) -> Gateway {
    let command = npm("server-everything", &["stdio"]);
    let text = format!(
        "{keys}\nprefix = \"never\"\n[servers.everything]\ncommand = {:?}\nargs = {:?}\n",
        command[0],
        &command[1..]
    );
    Gateway::start(&["--config", &folder.file("toolcrib.toml", &text)])
}

const TLS: &str = "tls = { cert = \"cert.pem\", key = \"key.pem\" }";

/// R14.2: HTTPS is served in the version that the client negotiates, and no plain HTTP on that port.
#[test]
fn https_is_served_over_both_versions() {
    if !is_installed("curl") || !is_installed("openssl") {
        return;
    }
    let folder = Folder::new("https");
    certify(&folder.0, "first");
    let gateway = gateway(&folder, TLS);
    let trusted = folder.0.join("cert.pem").display().to_string();
    let url = format!("https://127.0.0.1:{}/mcp", gateway.address.port());
    for (flag, expected) in [("--http1.1", "1.1"), ("--http2", "2")] {
        let (version, tools) = listed(&url, &["--cacert", &trusted, flag]);
        assert_eq!(version, expected);
        assert!(tools.contains(&"echo".to_owned()), "{tools:?}");
    }
    let plain = Command::new("curl").args(["--silent", "--max-time", "5", &gateway.url()]).output().unwrap();
    assert!(!plain.status.success(), "{plain:?}");
    assert!(gateway.process.said().contains("https://127.0.0.1:"), "{}", gateway.process.said());
}

/// R14.2: a new certificate is in force within `TLS_LOOK_MS` without a restart; an unusable one changes nothing.
#[test]
fn a_new_certificate_is_in_force_without_a_restart() {
    if !is_installed("curl") || !is_installed("openssl") {
        return;
    }
    let folder = Folder::new("reload");
    certify(&folder.0, "first");
    let gateway = gateway(&folder, TLS);
    let url = format!("https://127.0.0.1:{}/livez", gateway.address.port());
    let subject = || {
        let words = ["--insecure", "--silent", "--verbose", &url];
        let out = Command::new("curl").args(words).output().unwrap();
        String::from_utf8_lossy(&out.stderr)
            .lines()
            .find(|line| line.contains("subject: CN="))
            .map(str::to_owned)
    };
    assert!(subject().unwrap().contains("CN=first"));
    std::fs::write(folder.0.join("cert.pem"), "no certificate").unwrap();
    until("refused", || gateway.process.said().contains("has no certificate in PEM form"));
    assert!(subject().unwrap().contains("CN=first"));
    certify(&folder.0, "second");
    until("in force", || subject().is_some_and(|subject| subject.contains("CN=second")));
}

/// R14.2: HTTP/2 without TLS is served if configured, beside HTTP/1.1 on the same port.
#[test]
fn http_2_by_prior_knowledge_is_served_beside_http_1() {
    if !is_installed("curl") {
        return;
    }
    let folder = Folder::new("prior");
    let gateway = gateway(&folder, "http2 = true");
    for (flag, expected) in [("--http2-prior-knowledge", "2"), ("--http1.1", "1.1")] {
        assert_eq!(listed(&gateway.url(), &[flag]).0, expected);
    }
}

/// R14.2: a Unix socket that only its owner can open, and that is removed with the gateway.
#[test]
fn a_unix_socket_is_served() {
    use std::os::unix::fs::PermissionsExt as _;

    if !is_installed("curl") {
        return;
    }
    let folder = Folder::new("socket");
    let socket = folder.0.join("crib.sock");
    let (listen, shown) = (format!("unix:{}", socket.display()), socket.display().to_string());
    let mut command = Command::new(PROGRAM);
    command
        .args(["serve", "--listen", &listen])
        .args(own_data())
        .arg("--")
        .args(npm("server-everything", &["stdio"]));
    let mut process = Process::start(&mut command).unwrap();
    process.wait_for_line("greeting", SOON, |line| line.contains("stop with Ctrl-C").then_some(())).unwrap();
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let (_, tools) = listed("http://localhost/mcp", &["--unix-socket", &shown]);
    assert!(tools.iter().any(|tool| tool.ends_with("echo")), "{tools:?}");
    process.terminate(SOON).unwrap();
    assert!(!socket.exists());
}

/// R14.2: a configuration that cannot work is refused before anything is served.
#[test]
fn a_certificate_that_cannot_be_used_is_refused_at_the_start() {
    let folder = Folder::new("refused");
    let config = folder.file("toolcrib.toml", &format!("{TLS}\n[servers.one]\ncommand = \"true\"\n"));
    folder.file("cert.pem", "no certificate");
    folder.file("key.pem", "no key");
    let listen = format!("127.0.0.1:{}", port::free().unwrap());
    let mut command = Command::new(PROGRAM);
    let out =
        command.args(["serve", "--listen", &listen, "--config", &config]).args(own_data()).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!out.status.success() && said.contains("cert.pem has no certificate in PEM form"), "{said}");
}

/// R5.2: the HTTP+SSE transport of 2024-11-05 is served to clients that speak nothing newer.
#[test]
fn clients_of_2024_are_served_over_http_and_sse() {
    let folder = Folder::new("sse");
    let gateway = gateway(&folder, "");
    let server = Server::Http { url: format!("http://{}/sse", gateway.address) };
    let plan = json!({
        "list": { "tools": ["echo", "get-structured-content", "trigger-long-running-operation"] },
        "call": { "tool": "get-structured-content", "arguments": { "location": "Chicago" }, "members": ["temperature"] },
        "progress": { "tool": "trigger-long-running-operation", "arguments": { "duration": 0.4, "steps": 4 }, "least": 3 },
        "badArguments": { "tool": "echo", "arguments": { "message": 7 }, "as": "result" },
        "unknownTool": { "tool": "no_such_tool" },
    });
    for sdk in [Sdk::TypeScript, Sdk::Python] {
        let walked = foreign::run(&Deps::of_this_workspace(), sdk, Era::Legacy, &server, &plan);
        walked.unwrap_or_else(|error| panic!("{sdk:?}: {error}\n{}", gateway.process.said()));
    }
}

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
