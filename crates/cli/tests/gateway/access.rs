//! Tokens of an issuer that publishes its keys at a URL.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolcrib_testkit::http::{Request, Response};
use toolcrib_testkit::listener::{Listener, Outgoing};
use toolcrib_testkit::signer::Signer;
use toolcrib_testkit::tls::{Certificate, TlsFront};

use super::client::{able, modern};
use super::folder::Folder;
use super::running::{Gateway, until};

const ISSUER: &str = "https://login.example.org";
const RESOURCE: &str = "https://tools.example.org/mcp";

fn claims() -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    json!({"iss": ISSUER, "aud": RESOURCE, "sub": "ada", "exp": now + 600, "scope": "mcp"})
}

/// R5.9: keys of an issuer whose certificate a private authority has signed, with `ca_file`; without it none are taken.
#[test]
fn keys_come_over_tls_from_an_issuer_with_a_private_authority() {
    let signer = Signer::new("one").unwrap();
    let keys = signer.keys();
    let issuer = Listener::start(move |_| Outgoing::json(200, &keys)).unwrap();
    let certificate = Certificate::new().unwrap();
    let front = TlsFront::start(&certificate, issuer.address).unwrap();
    let folder = Folder::new("jwks-tls");
    folder.file("ca.pem", &certificate.pem());
    let start = |name: &str, setting: &str| {
        let text = format!(
            "[servers.s]\ncommand = \"true\"\n[auth.jwt]\nissuer = {ISSUER:?}\naudience = {RESOURCE:?}\n\
             jwks_url = {:?}\n{setting}",
            front.url("/jwks")
        );
        Gateway::start(&["--config", &folder.file(name, &text)])
    };
    let trusting = start("trusting.toml", "ca_file = \"ca.pem\"\n");
    until("the keys are there", || list(&trusting, &signer.token(&claims())).status == 200);
    let wary = start("wary.toml", "");
    until("logged", || wary.process.said().contains("not trusted here; ca_file names one that is"));
    assert_eq!(list(&wary, &signer.token(&claims())).status, 401);
}

fn list(gateway: &Gateway, token: &str) -> Response {
    let request =
        modern("tools/list", &json!({}), &able()).header("Authorization", &format!("Bearer {token}"));
    request.send(gateway.address).unwrap()
}

/// R5.9: JWT via JWKS with audience check, RFC 9728 metadata and challenges, and key rotation while the gateway serves.
#[test]
fn tokens_of_an_issuer_are_verified_with_the_keys_it_publishes() {
    let (first, second) = (Signer::new("one").unwrap(), Signer::new("two").unwrap());
    let published = Arc::new(Mutex::new(first.keys()));
    let shown = published.clone();
    let keys = Listener::start(move |_| Outgoing::json(200, &shown.lock().unwrap())).unwrap();
    let folder = Folder::new("jwt");
    let hostile = toolcrib_testkit::deps::built_example("hostile").unwrap_or_else(|error| panic!("{error}"));
    let text = format!(
        "[servers.s]\ncommand = {:?}\nargs = [\"stdio\", \"\"]\n[auth.jwt]\nissuer = {ISSUER:?}\naudience = {RESOURCE:?}\n\
         jwks_url = {:?}\nscopes = [\"mcp\"]\n",
        hostile.display().to_string(),
        keys.url("/jwks")
    );
    let gateway = Gateway::start(&["--config", &folder.file("toolcrib.toml", &text)]);
    let nobody = modern("tools/list", &json!({}), &able()).send(gateway.address).unwrap();
    assert_eq!(nobody.status, 401);
    let challenge = nobody.header("www-authenticate").unwrap().to_owned();
    let place = "https://tools.example.org/.well-known/oauth-protected-resource/mcp";
    assert!(challenge.contains(&format!("resource_metadata=\"{place}\"")), "{challenge}");
    let metadata = Request::get("/.well-known/oauth-protected-resource/mcp").send(gateway.address).unwrap();
    let metadata = metadata.json().unwrap();
    assert_eq!(
        (&metadata["resource"], &metadata["authorization_servers"]),
        (&json!(RESOURCE), &json!([ISSUER]))
    );
    until("the keys are there", || list(&gateway, &first.token(&claims())).status == 200);
    let with = |key: &str, value: Value| {
        let mut claims = claims();
        claims[key] = value;
        first.token(&claims)
    };
    for (what, token, status) in [
        ("another audience", with("aud", json!("https://elsewhere.example")), 401),
        ("another issuer", with("iss", json!("https://evil.example")), 401),
        ("expired", with("exp", json!(1_000_000)), 401),
        ("no scope", with("scope", json!("other")), 403),
        ("another key of the same name", Signer::new("one").unwrap().token(&claims()), 401),
        ("a key that nobody published", second.token(&claims()), 401),
    ] {
        assert_eq!(list(&gateway, &token).status, status, "{what}");
    }
    // The issuer rotates its key: a token with an unknown key id triggers a new fetch.
    *published.lock().unwrap() = second.keys();
    until("the new key is known", || list(&gateway, &second.token(&claims())).status == 200);
    assert_eq!(list(&gateway, &first.token(&claims())).status, 401, "the old one is gone");
}
