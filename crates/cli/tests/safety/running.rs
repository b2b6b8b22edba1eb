//! The binary under test, and clients of both eras.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_testkit::http::{Request, Response};
use toolcrib_testkit::process::Process;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_toolcrib");
const SOON: Duration = Duration::from_secs(20);
const MODERN: &str = "2026-07-28";

/// Waits until a condition holds, with enough time for a busy machine.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < end, "not within {SOON:?}: {what}");
        pause(Duration::from_millis(20));
    }
}

/// Waits a fixed time, for tests of time itself.
pub(crate) fn pause(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}

/// Temporary folder that is deleted with the test.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("toolcrib-safety-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a policy file into the folder.
    pub(crate) fn policy(&self, text: &str) -> PathBuf {
        let path = self.0.join("policy.toml");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs a verb on this data folder.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        Command::new(PROGRAM).args(words).arg("--data").arg(&self.0).output().unwrap()
    }

    /// Runs a verb that must succeed, and returns its output.
    pub(crate) fn does(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn operator(&self) -> String {
        std::fs::read_to_string(self.0.join("operator.token")).unwrap().trim().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running `toolcrib serve`.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
}

/// Policy whose rates a test with a thousand tokens does not reach.
pub(crate) const PLENTY: &str = "[safety]\ntoken_ms = 3600000\ntokens_per_minute_max = 1000000\nrest_requests_per_minute_max = 1000000\n\
                                 approvals_pending_max = 100000\nrepeats_max = 0\nrepeats_read_only_max = 0\n";

impl Serving {
    pub(crate) fn start(folder: &Folder) -> Self {
        Self::with(folder, &[])
    }

    pub(crate) fn policy(folder: &Folder, text: &str) -> Self {
        let path = folder.policy(text);
        Self::with(folder, &["--policy", path.to_str().unwrap()])
    }

    pub(crate) fn with(folder: &Folder, words: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command
            .args(["serve", "--demo", "workshop", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path())
            .args(words);
        let mut process = Process::start(&mut command).unwrap();
        let address = process
            .wait_for_line("saying where it serves", SOON, |line| {
                let rest = line.strip_prefix("toolcrib serves at http://")?;
                rest.strip_suffix("/mcp")?.parse().ok()
            })
            .unwrap();
        Self { process, address }
    }

    pub(crate) fn end(mut self) {
        assert!(self.process.terminate(SOON).unwrap().success());
    }

    pub(crate) fn rest(
        &self,
        method: &str,
        path: &str,
        secret: Option<&str>,
        body: Option<&Value>,
    ) -> Response {
        let mut request = Request::new(method, &format!("/api/v1/{path}"));
        if let Some(secret) = secret {
            request = request.header("Authorization", &format!("Bearer {secret}"));
        }
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        request.send(self.address).unwrap()
    }

    /// Creates a credential and waits until the server knows it.
    pub(crate) fn credential(&self, folder: &Folder, words: &[&str]) -> String {
        let secret = folder.does(&[&["credential", "add"], words].concat());
        until("the credential is known", || self.rest("GET", "stop", Some(&secret), None).status == 200);
        secret
    }

    pub(crate) fn client(&self) -> Client {
        Client { address: self.address, capabilities: json!({}), secret: None, name: None, source: None }
    }
}

/// Modern client: stateless, so it consists of what it declares.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) capabilities: Value,
    pub(crate) secret: Option<String>,
    pub(crate) name: Option<&'static str>,
    /// Source address; `None` lets the system choose.
    pub(crate) source: Option<Ipv4Addr>,
}

impl Client {
    pub(crate) fn at_address(mut self, source: [u8; 4]) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn with_elicitation(mut self) -> Self {
        self.capabilities = json!({"elicitation": {}});
        self
    }

    pub(crate) fn with_secret(mut self, secret: &str) -> Self {
        self.secret = Some(secret.to_owned());
        self
    }

    pub(crate) fn named(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// Builds the request, so that a test can send its bytes in any way.
    pub(crate) fn request(&self, method: &str, mut params: Value) -> Request {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        });
        if let Some(name) = self.name {
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": name, "version": "1"});
        }
        params["_meta"] = meta;
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = Request::post_json("/mcp", &body.to_string())
            .header("MCP-Protocol-Version", MODERN)
            .header("Mcp-Method", method);
        if let Some(name) = params.get("name").and_then(Value::as_str) {
            request = request.header("Mcp-Name", name);
        }
        if let Some(secret) = &self.secret {
            request = request.header("Authorization", &format!("Bearer {secret}"));
        }
        match self.source {
            Some(source) => request.from_address(source),
            None => request,
        }
    }

    pub(crate) fn ask(&self, method: &str, params: Value) -> Value {
        let response = self.request(method, params).send(self.address).unwrap();
        let mut json = response.json().unwrap_or_else(|error| panic!("{error}: {}", response.text()));
        assert!(json.get("result").is_some(), "{json}");
        json["result"].take()
    }

    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Requests a token for exactly these arguments.
    pub(crate) fn token(&self, tool: &str, arguments: &Value) -> String {
        let wish = json!({"action": tool, "params_summary": "a test", "arguments": arguments});
        let result = self.call("get_confirmation_token", wish);
        result["structuredContent"]["token"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    }

    /// Calls with a confirmation token.
    pub(crate) fn confirmed(&self, tool: &str, arguments: &Value, token: &str) -> Value {
        let mut arguments = arguments.clone();
        arguments["confirmation_token"] = token.into();
        self.call(tool, arguments)
    }
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// Returns true if the call was refused and did not run.
pub(crate) fn is_refused(result: &Value) -> bool {
    result["isError"] == json!(true) && text(result).starts_with("Not run")
}

pub(crate) fn handle(result: &Value) -> String {
    let handle = &result["_meta"]["toolcrib/confirmation"]["handle"];
    handle.as_str().unwrap_or_else(|| panic!("no handle: {result}")).to_owned()
}

/// Legacy session over HTTP.
#[derive(Debug)]
pub(crate) struct Legacy {
    address: SocketAddr,
    session: String,
}

impl Legacy {
    pub(crate) fn open(serving: &Serving, capabilities: &Value) -> Self {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "raw", "version": "0"}}});
        let response = Request::post_json("/mcp", &body.to_string()).send(serving.address).unwrap();
        let session = response.header("mcp-session-id").unwrap().to_owned();
        let legacy = Self { address: serving.address, session };
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(legacy.post(&done).send(serving.address).unwrap().status, 202);
        legacy
    }

    pub(crate) fn id(&self) -> &str {
        &self.session
    }

    pub(crate) fn post(&self, body: &Value) -> Request {
        Request::post_json("/mcp", &body.to_string()).header("Mcp-Session-Id", &self.session)
    }

    pub(crate) fn call_request(&self, tool: &str, arguments: &Value) -> Request {
        self.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}}))
    }

    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        let response = self.call_request(tool, arguments).send(self.address).unwrap();
        response.json().unwrap()["result"].take()
    }

    /// Calls, and answers the first question.
    pub(crate) fn call_answering(&self, tool: &str, arguments: &Value, answer: &Value) -> (Value, Value) {
        let mut stream = self.call_request(tool, arguments).open(self.address).unwrap();
        let mut asked = Value::Null;
        while let Some(event) = stream.event().unwrap() {
            let Ok(message) = serde_json::from_str::<Value>(&event.data) else { continue };
            if message["method"] == "elicitation/create" {
                asked = message["params"].clone();
                let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": answer});
                assert_eq!(self.post(&reply).send(self.address).unwrap().status, 202);
            } else if message.get("result").is_some() {
                return (asked, message["result"].clone());
            }
        }
        panic!("the stream ended without a result");
    }
}
