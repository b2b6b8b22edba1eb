//! Fuzz target for an issuer's keys, and for a token with arbitrary header and claims.
//!
//! Properties: a signed token is accepted only if a strict parser accepts its claims. No text other than a signed
//! token is accepted.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use toolcrib::Server;
use toolcrib::serde_json::{Value, from_slice, json};
use toolcrib_server::{Bearer, Endpoint, HttpOptions, JwtBearer, listener};

use crate::mutation::tree::SEPARATOR;
use crate::script::{Script, block_on};
use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "jwt",
    seeds,
    heavy,
    dictionary: DICTIONARY,
    bytes_max: 32 * 1024,
    cpu_max: Duration::from_millis(500),
    memory_max: Memory { factor: 64, constant: 1024 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    "\"alg\":\"EdDSA\"",
    "\"alg\":\"none\"",
    "\"alg\":\"HS256\"",
    "\"alg\":\"ES256\"",
    "\"kid\":\"k1\"",
    "\"crit\":[\"exp\"]",
    "\"use\":\"enc\"",
    "\"key_ops\":[\"sign\"]",
    "\"kty\":\"OKP\"",
    "\"kty\":\"RSA\"",
    "\"kty\":\"oct\"",
    "\"crv\":\"Ed25519\"",
    "\"iss\":\"https://issuer\"",
    "\"aud\":[\"https://gateway/mcp\"]",
    "\"aud\":\"https://gateway/mcp\"",
    "\"sub\":\"ada\"",
    "\"sub\":\"\"",
    "\"exp\":4000000000",
    "\"exp\":1",
    "\"exp\":\"4000000000\"",
    "\"exp\":4e9",
    "\"nbf\":4000000000",
    "\"nbf\":\"0\"",
    "\"scope\":\"mcp\"",
    "\"scp\":[\"mcp\"]",
    "null",
    ".",
];

const ISSUER: &str = "https://issuer";
const AUDIENCE: &str = "https://gateway/mcp";
const HEAD: &str = r#"{"alg":"EdDSA","kid":"k1","typ":"JWT"}"#;
const CLAIMS: &str = r#"{"iss":"https://issuer","aud":"https://gateway/mcp","sub":"ada","exp":4000000000,"scope":"mcp other"}"#;
/// Tolerated difference between clocks in seconds; the product allows 30.
const LEEWAY_S: f64 = 60.0;

static KEY: LazyLock<Ed25519KeyPair> =
    LazyLock::new(|| Ed25519KeyPair::from_seed_unchecked(&[9; 32]).unwrap_or_else(|error| panic!("{error}")));

fn jwks() -> String {
    let x = URL_SAFE_NO_PAD.encode(KEY.public_key().as_ref());
    let key = json!({"kty": "OKP", "crv": "Ed25519", "kid": "k1", "alg": "EdDSA", "use": "sig", "x": x});
    json!({ "keys": [key] }).to_string()
}

/// Inputs: the key set, a token's header, its claims, and a text to verify as a token.
fn seeds() -> Vec<Vec<u8>> {
    let jwks = jwks();
    let bare = jwks.replace("\"kid\":\"k1\",", "");
    [
        format!("{jwks}\u{1e}{HEAD}\u{1e}{CLAIMS}\u{1e}a.b.c"),
        format!("{bare}\u{1e}{{\"alg\":\"EdDSA\"}}\u{1e}{CLAIMS}\u{1e}"),
        format!("{jwks}\u{1e}{HEAD}\u{1e}{}\u{1e}..", CLAIMS.replace("4000000000", "1")),
        format!("{jwks}\u{1e}{{\"alg\":\"none\"}}\u{1e}{CLAIMS}\u{1e}"),
        format!("{{\"keys\":[]}}\u{1e}{HEAD}\u{1e}{CLAIMS}\u{1e}"),
        format!(
            "{}\u{1e}{HEAD}\u{1e}{CLAIMS}\u{1e}",
            jwks.replace("[{", "[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"},{")
        ),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn heavy() -> Vec<Vec<u8>> {
    let jwks = jwks();
    let with =
        |old: &str, new: &str| format!("{jwks}\u{1e}{HEAD}\u{1e}{}", CLAIMS.replace(old, new)).into_bytes();
    vec![
        with("\"ada\"", "\"\""),
        with("\"https://issuer\"", "[\"https://issuer\",\"https://other\"]"),
        format!("{jwks}\u{1e}{HEAD}\u{1e}{CLAIMS}\u{1e}{}", "a.".repeat(7_000)).into_bytes(),
        format!("{{\"keys\":[{}{{}}]}}\u{1e}{HEAD}\u{1e}{CLAIMS}", "{\"kty\":\"OKP\"},".repeat(900))
            .into_bytes(),
        format!("{jwks}\u{1e}{HEAD}\u{1e}{{\"aud\":[{}\"\"]}}", "\"\",".repeat(4_000)).into_bytes(),
    ]
}

fn run(input: &[u8]) -> Shape {
    let mut parts = input.splitn(4, |byte| *byte == SEPARATOR);
    let mut next = || parts.next().unwrap_or_default();
    let (keys, head, claims, other) = (next(), next(), next(), next());
    let jwt = JwtBearer::new(Bearer::new(None), ISSUER, AUDIENCE, &["mcp".to_owned()]);
    let Ok(keys) = std::str::from_utf8(keys) else { return Shape::of(&["no keys"]) };
    if jwt.set_keys(keys).is_err() {
        return Shape::of(&["refused keys"]);
    }
    let options = HttpOptions { authenticator: jwt, ..HttpOptions::default() };
    let server = Server::new("fuzzed", "1").unwrap_or_else(|error| panic!("no server: {error}"));
    let endpoint = Endpoint::new(server.engine().clone(), options);
    let ask = |token: &str| {
        let request = format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        let script = Script::new(vec![request.into_bytes()]);
        let seen = script.seen();
        let (_stop, stopped) = tokio::sync::watch::channel(false);
        block_on(listener::serve_connection(script, endpoint.clone(), stopped, 1_000));
        let said = String::from_utf8_lossy(&seen.written()).into_owned();
        said.get(9..12).unwrap_or_default().to_owned()
    };
    let signed = sign(head, claims);
    let status = ask(&signed);
    let counts = !matches!(status.as_str(), "" | "400" | "401" | "403");
    assert!(!counts || is_good(head, claims), "status {status} for a token that says something else");
    let mut forged = signed.clone().into_bytes();
    let at = input.len() % forged.len();
    if let Some(byte) = forged.get_mut(at) {
        *byte = if *byte == b'A' { b'B' } else { b'A' };
    }
    let forged = String::from_utf8_lossy(&forged).into_owned();
    let others = [forged, String::from_utf8_lossy(other).into_owned()];
    for other in
        others.iter().filter(|other| **other != signed && other.bytes().all(|byte| byte.is_ascii_graphic()))
    {
        let status = ask(other);
        assert!(
            matches!(status.as_str(), "400" | "401" | "403" | "431"),
            "status {status} for {other}, which nobody signed"
        );
    }
    Shape::of(&["asked", &status, &is_good(head, claims).to_string()])
}

fn sign(head: &[u8], claims: &[u8]) -> String {
    let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(claims));
    let signature = KEY.sign(text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
}

/// Returns `true` if a strict parser accepts these claims.
fn is_good(head: &[u8], claims: &[u8]) -> bool {
    let (Ok(head), Ok(claims)) = (from_slice::<Value>(head), from_slice::<Value>(claims)) else {
        return false;
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let number = |name: &str| claims.get(name).map(Value::as_f64);
    let audience = match claims.get("aud") {
        Some(Value::Array(all)) => all.iter().any(|one| one == AUDIENCE),
        one => one.and_then(Value::as_str) == Some(AUDIENCE),
    };
    // Both spellings of the claim may be a string of words or a list of such strings.
    let has_scope = |text: &str| text.split_whitespace().any(|one| one == "mcp");
    let scoped = ["scope", "scp"].iter().any(|name| match claims.get(*name) {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).any(has_scope),
        one => one.and_then(Value::as_str).is_some_and(has_scope),
    });
    head.get("alg").and_then(Value::as_str) == Some("EdDSA")
        && head.get("crit").is_none()
        && text("iss") == Some(ISSUER)
        && audience
        && text("sub").is_some_and(|subject| !subject.is_empty())
        && number("exp").flatten().is_some_and(|end| end > now - LEEWAY_S)
        && number("nbf").is_none_or(|begin| begin.is_some_and(|begin| begin < now + LEEWAY_S))
        && scoped
}
