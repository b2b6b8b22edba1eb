//! Fuzz target for documents of servers that require OAuth: challenges, metadata, token responses.
//!
//! Properties: a challenge yields only its own parameters, nothing from inside a quoted value. Metadata of another
//! resource or issuer is refused. A token is valid in a header.

use std::time::Duration;

use toolcrib::serde_json::{Value, from_slice};
use toolcrib_upstream::probe::{challenge, issuer, resource, tokens};

use crate::mutation::tree::SEPARATOR;
use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "oauth_documents",
    seeds,
    heavy,
    dictionary: DICTIONARY,
    bytes_max: 64 * 1024,
    cpu_max: Duration::from_millis(500),
    memory_max: Memory { factor: 64, constant: 256 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    "Bearer ",
    "resource_metadata=\"https://x/m\"",
    "error=\"insufficient_scope\"",
    "error_description=\"the scope=admin is needed\"",
    "scope=\"a b\"",
    "scope=a",
    ", ",
    "\\\"",
    "\"resource\":\"https://example.org/mcp\"",
    "\"authorization_servers\":[\"https://as.example\"]",
    "\"issuer\":\"https://as.example\"",
    "\"token_endpoint\":\"https://as.example/token\"",
    "\"code_challenge_methods_supported\":[\"S256\"]",
    "\"access_token\":\"t\"",
    "\"token_type\":\"Bearer\"",
    "\"expires_in\":3600",
    "\"refresh_token\":\"r\"",
    "https://example.org",
    "https://example.org.evil.example",
    "\\r\\nX: y",
];

const SERVER: &str = "https://example.org/v1/mcp?x=1";
const ISSUER: &str = "https://as.example/tenant";

/// Inputs: parameters of a challenge, metadata of the resource and of the issuer, a token response.
fn seeds() -> Vec<Vec<u8>> {
    [
        r#"[["error","invalid_token"],["resource_metadata","https://x/m"],["scope","a b"]]"#,
        r#"[["error","insufficient_scope"],["error_description","needs scope=admin, more"],["scope","a"]]"#,
        r#"[["error_description","resource_metadata=https://evil.example"],["my_scope","x"]]"#,
        "[[\"scope\",\"a\"]]\u{1e}{\"resource\":\"https://example.org/v1/mcp\",\"authorization_servers\":[\"https://as.example\"]}",
        "[]\u{1e}{\"resource\":\"https://example.org\"}\u{1e}{\"issuer\":\"https://as.example/tenant\",\"token_endpoint\":\"https://as.example/token\",\"code_challenge_methods_supported\":[\"S256\"]}",
        "[]\u{1e}{\"resource\":\"https://example.org.evil.example\"}\u{1e}{\"issuer\":\"https://as.example/other\",\"token_endpoint\":1}",
        "[]\u{1e}{}\u{1e}{}\u{1e}{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"expires_in\":3600,\"refresh_token\":\"r\"}",
        "[]\u{1e}{}\u{1e}{}\u{1e}{\"access_token\":\"a b\",\"token_type\":\"mac\",\"expires_in\":18446744073709551615}",
    ]
    .map(|seed| seed.as_bytes().to_vec())
    .to_vec()
}

fn heavy() -> Vec<Vec<u8>> {
    vec![
        "scope".repeat(6_000).into_bytes(),
        "scope=".repeat(5_000).into_bytes(),
        format!("Bearer {}", "a=\"b\",".repeat(5_000)).into_bytes(),
        format!("Bearer a=\"{}", "\\\"".repeat(15_000)).into_bytes(),
    ]
}

fn run(input: &[u8]) -> Shape {
    let mut words = Vec::new();
    // The raw input as a malformed challenge.
    let read = challenge(&String::from_utf8_lossy(input));
    words.push(format!("{}{}", read.scope.is_some(), read.more_rights.is_some()));
    let mut parts = input.split(|byte| *byte == SEPARATOR).map(|part| from_slice::<Value>(part).ok());
    let mut next = || parts.next().flatten().unwrap_or_default();
    words.push(challenged(&next()));
    let metadata = next();
    if let Ok(found) = resource(&metadata, SERVER) {
        assert_eq!(metadata.get("resource").and_then(Value::as_str), Some(found.as_str()));
        let rest = SERVER.strip_prefix(found.trim_end_matches('/'));
        let is_whole = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
        let has_host = found.trim_end_matches('/').len() >= "https://example.org".len();
        assert!(is_whole && has_host, "{found:?} covers the server");
        words.push("resource".to_owned());
    }
    let metadata = next();
    if let Ok((named, endpoint)) = issuer(&metadata, ISSUER) {
        assert_eq!(named.trim_end_matches('/'), ISSUER, "another issuer");
        assert_eq!(metadata.get("token_endpoint").and_then(Value::as_str), Some(endpoint.as_str()));
        words.push("issuer".to_owned());
    }
    if let Some((access, refresh)) = tokens(&next()) {
        let is_legal = !access.is_empty() && access.bytes().all(|byte| byte.is_ascii_graphic());
        assert!(is_legal, "a token that cannot stand in a header: {access:?}");
        words.push(format!("token {}", refresh.is_some()));
    }
    Shape::of(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Writes a challenge with these names and values by RFC 9110 and parses it.
fn challenged(parameters: &Value) -> String {
    let texts = parameters.as_array().into_iter().flatten().filter_map(|pair| {
        let text = |at: usize| pair.get(at).and_then(Value::as_str);
        Some((text(0)?, text(1)?))
    });
    let is_token = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    // Values that a header can contain.
    let is_plain = |value: &str| value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let pairs: Vec<(&str, &str)> = texts.filter(|(name, value)| is_token(name) && is_plain(value)).collect();
    let quoted = pairs
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")));
    let text = format!("Bearer {}", quoted.collect::<Vec<_>>().join(", "));
    let read = challenge(&text);
    let first = |name: &str| {
        pairs.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| (*value).to_owned())
    };
    assert_eq!(read.scope, first("scope"), "another scope than in {text}");
    assert_eq!(read.resource_metadata, first("resource_metadata"), "other metadata than in {text}");
    let is_insufficient = first("error").as_deref() == Some("insufficient_scope");
    assert_eq!(read.more_rights.is_some(), is_insufficient, "{text}");
    format!("{} {}", pairs.len().min(4), is_insufficient)
}
