//! Upstream servers that require OAuth tokens: login, renewal, and tokens that are never forwarded.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use toolcrib_testkit::http::Request;
use toolcrib_testkit::issuer::{Issuer, Manner};
use toolcrib_testkit::process::Process;

use super::running::{Gateway, PROGRAM, SOON};

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let folder =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("oauth-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("policy.toml"), "[safety]\ndestructive = \"never\"\n").unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn config(&self, text: &str) -> String {
        std::fs::write(self.0.join("toolcrib.toml"), text).unwrap();
        self.path("toolcrib.toml")
    }

    /// Starts a gateway with its data in this folder.
    fn gateway(&self, words: &[&str]) -> Gateway {
        let own = ["--data".to_owned(), self.path("data"), "--policy".to_owned(), self.path("policy.toml")];
        Gateway::start_with(own, words)
    }

    fn auth(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("auth").args(words).args(["--data", &self.path("data")]);
        command
    }

    /// Logs in as a person would: opens the printed address and follows the redirect.
    fn log_in(&self, words: &[&str]) -> (Option<i32>, String) {
        let mut process = Process::start(self.auth(words).arg("--no-browser")).unwrap();
        let url = process
            .wait_for_line("the address", SOON, |line| line.trim().strip_prefix("http://").map(str::to_owned))
            .unwrap();
        let (host, target) = url.split_once('/').unwrap();
        let sent = Request::get(&format!("/{target}")).send(host.parse().unwrap()).unwrap();
        assert_eq!(sent.status, 302, "{}", sent.text());
        let back = sent.header("location").unwrap().strip_prefix("http://").unwrap().to_owned();
        let (host, target) = back.split_once('/').unwrap();
        // A callback with an unknown state changes nothing.
        let stranger = Request::get("/callback?code=x&state=y").send(host.parse().unwrap()).unwrap();
        assert_eq!(stranger.status, 400);
        Request::get(&format!("/{target}")).send(host.parse().unwrap()).unwrap();
        let status = process.wait(SOON).unwrap();
        (status.code(), process.said())
    }
}

fn whoami(gateway: &Gateway, tool: &str) -> String {
    let answer = gateway.ask("tools/call", &json!({"name": tool, "arguments": {}}));
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn status(gateway: &Gateway) -> Value {
    let ready: Value = serde_json::from_str(&gateway.get("/readyz").1).unwrap();
    ready["servers"][0].clone()
}

/// R5.9: authorization code with PKCE, a registered client and a loopback redirect; the token is readable by its owner
/// only, is used, and is renewed after a revocation; a running gateway picks up a login by itself.
#[test]
fn a_person_logs_in_once_and_the_gateway_renews_by_itself() {
    let issuer = Issuer::start(Manner::default()).unwrap();
    let place = Place::new("login");
    let config = place.config(&format!("[servers.mail]\nurl = \"{}\"\n[servers.mail.oauth]\n", issuer.url()));
    let gateway = place.gateway(&["--config", &config]);
    let before = status(&gateway);
    assert_eq!(before["state"], "failed", "{before}");
    assert!(before["reason"].as_str().unwrap().contains("run `toolcrib auth mail`"), "{before}");
    let (code, said) = place.log_in(&["mail", "--config", &config]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("for tools:read") && said.contains("renews itself"), "{said}");
    let kept: Vec<_> = std::fs::read_dir(place.0.join("data/oauth")).unwrap().flatten().collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    super::running::until("served", || status(&gateway)["state"] == "ready");
    let first = whoami(&gateway, "mail__whoami");
    issuer.revoke();
    let second = whoami(&gateway, "mail__whoami");
    assert_ne!(first, second);
    assert_eq!(issuer.grants(), ["authorization_code", "refresh_token"]);
    // Refresh tokens are valid once: the file has the newest, so that another process can continue.
    drop(gateway);
    issuer.revoke();
    let gateway = place.gateway(&["--config", &config]);
    assert_ne!(whoami(&gateway, "mail__whoami"), second);
    assert_eq!(issuer.grants().len(), 3);
    // After all tokens are revoked, the error says what to do.
    issuer.revoke_all();
    let refused = gateway.ask("tools/call", &json!({"name": "mail__whoami", "arguments": {}}));
    assert!(refused.to_string().contains("toolcrib auth mail"), "{refused}");
}

/// R5.9: a token that is about to expire is renewed before it is used.
#[test]
fn a_token_that_ends_soon_is_renewed_before_it_is_refused() {
    let issuer = Issuer::start(Manner { lasts_s: 20, ..Manner::default() }).unwrap();
    let place = Place::new("short");
    // Without a file: a URL on the command line, and a login to the same URL.
    let (code, said) = place.log_in(&[&issuer.url()]);
    assert_eq!(code, Some(0), "{said}");
    let gateway = place.gateway(&[&issuer.url()]);
    let asked = issuer.presented().len();
    assert_ne!(whoami(&gateway, "whoami"), whoami(&gateway, "whoami"));
    let since = issuer.presented().split_off(asked);
    assert!(since.iter().all(Option::is_some), "{since:?}");
    assert!(issuer.grants().iter().skip(1).all(|grant| grant == "refresh_token"), "{:?}", issuer.grants());
    let out = place.auth(&[&issuer.url(), "--forget"]).output().unwrap();
    assert!(String::from_utf8_lossy(&out.stdout).contains("Logged out"), "{out:?}");
}

/// R5.9: client credentials need no person, and a caller's own token never reaches a server.
#[test]
fn client_credentials_are_used_and_a_callers_token_is_never_passed_on() {
    let client = Some(("gate".to_owned(), "s3cret".to_owned()));
    let issuer = Issuer::start(Manner { client, registers: false, ..Manner::default() }).unwrap();
    let place = Place::new("machine");
    let config = place.config(&format!(
        "[servers.api]\nurl = \"{}\"\n[servers.api.oauth]\ngrant = \"client_credentials\"\nclient_id = \"gate\"\n\
         client_secret = \"s3cret\"\n[[auth.tokens]]\nsubject = \"me\"\ntoken = \"callers-own\"\n",
        issuer.url()
    ));
    let gateway = place.gateway(&["--config", &config]);
    let call = |token: &str| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "api__whoami", "arguments": {}}});
        let request = Request::post_json("/mcp", &body.to_string()).header("Authorization", token);
        request.header("MCP-Protocol-Version", "2025-11-25").send(gateway.address).unwrap()
    };
    let answer = call("Bearer callers-own");
    assert!(answer.text().contains("access-"), "{}", answer.text());
    issuer.revoke();
    assert!(call("Bearer callers-own").text().contains("access-"));
    assert_eq!(issuer.grants(), ["client_credentials", "client_credentials"]);
    let presented = issuer.presented();
    assert!(presented.iter().flatten().all(|value| value.starts_with("Bearer access-")), "{presented:?}");
}

/// R5.9: a wrong client secret is named in the status, and the other servers keep serving.
#[test]
fn a_refused_client_is_named_in_the_status() {
    let client = Some(("gate".to_owned(), "s3cret".to_owned()));
    let issuer = Issuer::start(Manner { client, ..Manner::default() }).unwrap();
    let place = Place::new("refused");
    let config = place.config(&format!(
        "[servers.api]\nurl = \"{}\"\noauth = {{ grant = \"client_credentials\", client_id = \"gate\", client_secret = \"x\" }}\n",
        issuer.url()
    ));
    let gateway = place.gateway(&["--config", &config]);
    let status = status(&gateway);
    assert!(status["reason"].as_str().unwrap().contains("refused: invalid_client"), "{status}");
    assert!(!status.to_string().contains("s3cret"));
    assert_eq!(gateway.get("/livez").0, 200);
}

/// R5.9: metadata of another resource, or a redirect from another issuer, fails a login.
#[test]
fn a_login_through_somebody_else_is_refused() {
    let elsewhere = Some("https://evil.example".to_owned());
    let issuer = Issuer::start(Manner { iss: elsewhere.clone(), ..Manner::default() }).unwrap();
    let place = Place::new("mixed-up");
    let (code, said) = place.log_in(&[&issuer.url()]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("the issuer that sent the browser back is \"https://evil.example\""), "{said}");
    assert!(issuer.grants().is_empty());
    let issuer = Issuer::start(Manner { resource: elsewhere, ..Manner::default() }).unwrap();
    let out = place.auth(&[&issuer.url(), "--no-browser"]).output().unwrap();
    assert_eq!(out.status.code(), Some(3));
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.contains("the resource of the metadata is \"https://evil.example\""), "{said}");
}

/// R5.9: a server that demands more scopes during a call gets them once if no person has to consent, and the call goes
/// on; a server that is never satisfied is named and delays no other call.
#[test]
fn client_credentials_step_up_when_a_server_asks_for_more_scopes() {
    let client = Some(("gate".to_owned(), "s3cret".to_owned()));
    let issuer = Issuer::start(Manner { client, registers: false, ..Manner::default() }).unwrap();
    let place = Place::new("step-up-machine");
    let config = place.config(&format!(
        "[servers.api]\nurl = \"{}\"\n[servers.api.oauth]\ngrant = \"client_credentials\"\nclient_id = \"gate\"\n\
         client_secret = \"s3cret\"\n",
        issuer.url()
    ));
    let gateway = place.gateway(&["--config", &config]);
    let narrow = whoami(&gateway, "api__whoami");
    let wide = whoami(&gateway, "api__write");
    assert_ne!(narrow, wide);
    assert_eq!(whoami(&gateway, "api__whoami"), wide, "the wider token is kept");
    assert_eq!(whoami(&gateway, "api__write"), wide);
    assert_eq!(issuer.grants().len(), 2, "{:?}", issuer.grants());
    for _ in 0..3 {
        let refused = gateway.ask("tools/call", &json!({"name": "api__admin", "arguments": {}}));
        assert!(
            refused["result"]["content"][0]["text"].as_str().unwrap().contains("Server \"api\""),
            "{refused}"
        );
    }
    assert_eq!(issuer.grants().len(), 3, "asked for once: {:?}", issuer.grants());
    assert_eq!(status(&gateway)["state"], "ready");
    assert!(whoami(&gateway, "api__write").starts_with("access-"));
}

/// R5.9: if a person has to consent, the call says so, the next login requests the scope, and the running gateway uses
/// it.
#[test]
fn a_person_is_told_to_log_in_again_when_a_server_asks_for_more_scopes() {
    let issuer = Issuer::start(Manner::default()).unwrap();
    let place = Place::new("step-up-person");
    let config = place.config(&format!("[servers.mail]\nurl = \"{}\"\n[servers.mail.oauth]\n", issuer.url()));
    let (code, said) = place.log_in(&["mail", "--config", &config]);
    assert_eq!(code, Some(0), "{said}");
    let gateway = place.gateway(&["--config", &config]);
    let refused = gateway.ask("tools/call", &json!({"name": "mail__write", "arguments": {}}));
    let text = refused["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("asks for more rights: tools:write; run `toolcrib auth mail`"), "{text}");
    assert!(whoami(&gateway, "mail__whoami").starts_with("access-"), "what it may do, it may still do");
    let (code, said) = place.log_in(&["mail", "--config", &config]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("for tools:read tools:write"), "{said}");
    assert!(whoami(&gateway, "mail__write").starts_with("access-"));
}

/// R5.9: a client id that is a document's URL: the authorization server reads it, and nobody has to register.
#[test]
fn a_published_document_says_who_the_gateway_is() {
    let printed: std::sync::Arc<std::sync::OnceLock<String>> = std::sync::Arc::default();
    let shown = printed.clone();
    let host = toolcrib_testkit::listener::Listener::start(move |_| {
        let document: Value = serde_json::from_str(shown.get().unwrap()).unwrap();
        toolcrib_testkit::listener::Outgoing::json(200, &document)
    })
    .unwrap();
    let url = host.url("/toolcrib.json");
    let out = Command::new(PROGRAM).args(["auth", "--client-metadata", &url]).output().unwrap();
    assert!(out.status.success(), "{out:?}");
    printed.set(String::from_utf8(out.stdout).unwrap()).unwrap();
    let issuer =
        Issuer::start(Manner { registers: false, reads_clients: true, ..Manner::default() }).unwrap();
    let place = Place::new("document");
    let config = place.config(&format!(
        "[servers.mail]\nurl = \"{}\"\n[servers.mail.oauth]\nclient_metadata_url = \"{url}\"\n",
        issuer.url()
    ));
    let (code, said) = place.log_in(&["mail", "--config", &config]);
    assert_eq!(code, Some(0), "{said}");
    let gateway = place.gateway(&["--config", &config]);
    assert!(whoami(&gateway, "mail__whoami").starts_with("access-"));
    issuer.revoke();
    assert!(whoami(&gateway, "mail__whoami").starts_with("access-"), "renewed as the same client");
}
