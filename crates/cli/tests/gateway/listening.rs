//! Connections to the gateway other than plain HTTP/1.1: TLS, HTTP/2, a Unix socket, event streams, HTTP+SSE of 2024.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::foreign::{self, Era, Sdk, Server};
use toolcrib_testkit::http::Request;
use toolcrib_testkit::listener::{Listener, Outgoing};
use toolcrib_testkit::port;
use toolcrib_testkit::process::Process;

use super::folder::Folder;
use super::running::{Gateway, PROGRAM, SOON, npm, own_data, until};

/// Returns true if a program is installed; otherwise reports that the test is skipped.
pub(crate) fn is_installed(program: &str) -> bool {
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
            // A server's certificate; by default it would be that of an authority, which strict clients refuse.
            "-extensions",
            "usr_cert",
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
pub(crate) fn gateway(folder: &Folder, keys: &str) -> Gateway {
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
    let report = status(".", &[&url, "--ca-file", &trusted]).unwrap();
    assert_eq!(report["servers"][0]["state"], "ready", "{report}");
    let untrusted = status(".", &[&url]).unwrap_err();
    assert!(untrusted.contains("--ca-file"), "{untrusted}");
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
    let url = format!("{listen}:/mcp");
    for (folder, address) in
        [(".", &listen[..]), (".", &url), (&folder.0.display().to_string(), "unix:crib.sock")]
    {
        let report = status(folder, &[address]).unwrap_or_else(|said| panic!("{address}: {said}"));
        assert_eq!(report["servers"][0]["state"], "ready", "{address}: {report}");
    }
    process.terminate(SOON).unwrap();
    assert!(!socket.exists());
}

/// Runs `toolcrib status` in a folder; returns its report, or its errors.
fn status(folder: &str, words: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(PROGRAM);
    let out = command.args(["status", "--format", "json"]).args(words).current_dir(folder).output().unwrap();
    serde_json::from_slice(&out.stdout).map_err(|_| String::from_utf8(out.stderr).unwrap())
}

/// R8.1, R14.2: `doctor` judges the path of a Unix socket as `serve` does.
#[test]
fn doctor_judges_a_unix_socket() {
    let folder = Folder::new("doctor-socket");
    let path = folder.0.join("crib.sock");
    let judged = |listen: &str| {
        let mut command = Command::new(PROGRAM);
        command.args(["doctor", "--format", "json", "--listen", listen]).args(["--data", "none"]);
        let out = command.current_dir(&folder.0).output().unwrap();
        let report: Value = serde_json::from_slice(&out.stdout).unwrap();
        let all = report["findings"].as_array().unwrap();
        let address = all.iter().find(|one| one["what"] == "address").unwrap();
        (address["health"].as_str().unwrap().to_owned(), address["said"].as_str().unwrap().to_owned())
    };
    let listen = format!("unix:{}", path.display());
    for free in [&listen, "unix:crib.sock"] {
        assert_eq!(judged(free), ("ok".to_owned(), format!("{free} is free")));
    }
    assert!(!path.exists(), "it makes no file");
    let live = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let (health, said) = judged(&listen);
    assert_eq!(health, "note");
    assert!(said.contains(&format!("`toolcrib status {listen}`")), "{said}");
    drop(live);
    assert_eq!(judged(&listen).0, "ok", "the file of a dead process");
    let (nowhere, long) = (format!("{listen}/a.sock"), format!("{listen}{}", "x".repeat(200)));
    for faulty in [&format!("unix:{}", folder.file("plain", "")), &nowhere, &long, "unix:none/a.sock"] {
        assert_eq!(judged(faulty).0, "fault", "{faulty}");
    }
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

/// R5.2: the clients of the official SDKs of November 2024 initialize, list and call over HTTP+SSE.
#[test]
fn clients_on_the_sdks_of_2024_are_served() {
    let gateway = gateway(&Folder::new("sdks-2024"), "");
    let server = Server::Http { url: format!("http://{}/sse", gateway.address) };
    let plan = json!({
        "list": { "tools": ["echo", "get-structured-content"] },
        "call": { "tool": "echo", "arguments": { "message": "from 2024" }, "text": "from 2024" },
    });
    for sdk in [Sdk::TypeScript2024, Sdk::Python2024] {
        let walked = foreign::run(&Deps::of_this_workspace(), sdk, Era::Legacy, &server, &plan);
        let report = walked.unwrap_or_else(|error| panic!("{sdk:?}: {error}\n{}", gateway.process.said()));
        let steps: Vec<_> = report["steps"].as_object().unwrap().keys().collect();
        assert_eq!(steps, ["connect", "list", "call"], "{report}");
        assert_eq!(report["protocolVersion"], "2024-11-05");
    }
}

/// R5.4: an answer with CR between its tokens, which ends a line of an event stream, arrives whole over one.
#[test]
fn an_answer_with_carriage_returns_arrives_whole_over_an_event_stream() {
    let server = Listener::start(|incoming| {
        let Ok(asked) = serde_json::from_str::<Value>(&incoming.body) else { return Outgoing::empty(405) };
        let result = match asked["method"].as_str() {
            Some("initialize") => {
                r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"cr","version":"1"}}"#
            }
            Some("tools/list") => r#"{"tools":[{"name":"read","inputSchema":{"type":"object"}}]}"#,
            Some("tools/call") => {
                "{\r\"content\":\r[\r\n{\"type\":\"text\",\r\"text\":\"to the end\"}\r]\n\r}"
            }
            Some("ping") => "{}",
            _ if asked.get("id").is_none() => return Outgoing::empty(202),
            _ => {
                let error = json!({"code": -32601, "message": "no such method"});
                return Outgoing::json(200, &json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
            }
        };
        Outgoing {
            status: 200,
            headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
            body: format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, asked["id"]),
        }
    })
    .unwrap();
    let gateway = Gateway::start(&[&format!("http://{}/mcp", server.address)]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": "read", "arguments": {}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let answer = Request::new("POST", "/mcp")
        .header("Content-Type", "application/json")
        .header("Accept", "text/event-stream")
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "read")
        .body(body)
        .send(gateway.address)
        .unwrap();
    let text = answer.text();
    let events = answer.events();
    assert_eq!((answer.header("content-type"), events.len()), (Some("text/event-stream"), 1), "{text:?}");
    let message: Value = serde_json::from_str(&events[0].data).unwrap_or_else(|_| panic!("{text:?}"));
    assert_eq!(message["result"]["content"][0]["text"], "to the end", "{text:?}");
}
