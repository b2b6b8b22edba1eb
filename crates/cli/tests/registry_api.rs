//! R6.7: the served registry: over a socket, against its own OpenAPI document, with an independent tester.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use toolcrib_testkit::deps::Deps;

struct Served {
    child: Child,
    address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const TOKEN: &str = "a-token-of-some-length";

fn served(name: &str) -> Served {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("registry-api-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let publishers = folder.join("publishers.json");
    std::fs::write(&publishers, r#"{"publishers":[{"token_env":"TOOLCRIB_TEST_TOKEN","names":["*"]}]}"#)
        .unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .args(["registry", "serve", "--listen", "127.0.0.1:0", "--publishers", publishers.to_str().unwrap()])
        .env("TOOLCRIB_STORE", folder.join("toolcrib.db"))
        .env("TOOLCRIB_TEST_TOKEN", TOKEN)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line
        .split("http://")
        .nth(1)
        .and_then(|rest| rest.split('/').next())
        .unwrap_or_else(|| panic!("{line:?}"));
    Served { address: address.to_owned(), child }
}

fn raw(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

const SERVER: &str = r#"{"name":"com.example/one","description":"One.","version":"1.0.0","remotes":[{"type":"sse","url":"https://a.example/mcp"}],"_meta":{"io.modelcontextprotocol.registry/publisher-provided":{"io.github.stacklok":{"https://a.example/mcp":{"status":"active","tools":["look"],"tool_definitions":[{"name":"look","description":"Looks.","inputSchema":{"type":"object"}}]}}}}}"#;

fn publish(address: &str) {
    let answer = raw(
        address,
        &format!(
            "POST /v0.1/publish HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{SERVER}",
            SERVER.len()
        ),
    );
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// R6.7: over the socket: publish, read, a foreign Host and a foreign Origin.
#[test]
fn the_registry_answers_over_http() {
    let served = served("http");
    let address = &served.address;
    publish(address);
    let get = |target: &str, host: &str, more: &str| {
        raw(address, &format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"))
    };
    let list = get("/v0.1/servers", address, "");
    assert!(
        list.starts_with("HTTP/1.1 200") && list.contains("com.example/one") && list.contains("etag: "),
        "{list}"
    );
    assert!(list.contains("content-type: application/json"), "{list}");
    assert!(get("/v0.1/x/toolcrib/tools?search=look", address, "").contains("\"signature\":\"look()\""));
    assert!(get("/v0.1/servers", "evil.example", "").starts_with("HTTP/1.1 403"));
    assert!(get("/v0.1/servers", address, "Origin: https://evil.example\r\n").starts_with("HTTP/1.1 403"));
}

/// R6.7: a non-loopback address is refused: connections are not encrypted and reading needs no credential.
#[test]
fn only_loopback_is_listened_at() {
    let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .args(["registry", "serve", "--listen", "0.0.0.0:0", "--store"])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("registry-loopback.db"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

/// R6.7: schemathesis generates requests from the OpenAPI document and finds no response that the document does not
/// allow.
#[test]
fn schemathesis_finds_nothing() {
    let served = served("schemathesis");
    publish(&served.address);
    let tester = Deps::of_this_workspace().python_venv().join("bin/schemathesis");
    assert!(tester.exists(), "no schemathesis: `cargo run -p xtask -- provision`");
    let output = Command::new(tester)
        .args([
            "run",
            &format!("http://{}/openapi.json", served.address),
            "--url",
            &format!("http://{}", served.address),
        ])
        .args([
            "--header",
            &format!("Authorization: Bearer {TOKEN}"),
            "--phases",
            "examples,coverage,fuzzing",
            "--max-examples",
            "25",
        ])
        .args(["--seed", "7", "--no-color", "--exclude-checks", "positive_data_acceptance"])
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    // A run without requests would find nothing either.
    assert!(said.contains("Tested: 10"), "{said}");
}
