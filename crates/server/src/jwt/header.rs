//! Header of a token (RFC 7515): the algorithm, and the id of the key.
//!
//! Keys inside a token (`jwk`, `jku`, `x5c`, `x5u`) are never used.

use toolcrib_contract::json::Node;

use super::refusal::TokenRefusal;

/// Header members that are used.
pub(super) struct Header {
    pub(super) algorithm: String,
    pub(super) key_id: Option<String>,
}

impl Header {
    pub(super) fn read(header: Node<'_>) -> Result<Self, TokenRefusal> {
        // RFC 7515 section 4.1.11: a token with an unknown critical extension must be refused.
        if header.get("crit").is_some() {
            return Err(TokenRefusal::Critical);
        }
        if let Some(kind) = text(header, "typ")?
            && !is_access_token(&kind)
        {
            return Err(TokenRefusal::Kind);
        }
        let algorithm = text(header, "alg")?.ok_or(TokenRefusal::Missing("alg"))?;
        Ok(Self { algorithm, key_id: text(header, "kid")? })
    }
}

/// Returns `true` for access tokens. RFC 8725 section 3.11: another kind of token of the same issuer must not pass as
/// one.
fn is_access_token(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    matches!(kind.strip_prefix("application/").unwrap_or(&kind), "jwt" | "at+jwt")
}

/// Returns the string member `name`; refuses any other type and an empty string.
pub(super) fn text(object: Node<'_>, name: &'static str) -> Result<Option<String>, TokenRefusal> {
    let Some(value) = object.get(name) else { return Ok(None) };
    match value.as_str() {
        Some(text) if !text.is_empty() => Ok(Some(text.into_owned())),
        _ => Err(TokenRefusal::Malformed { name, expected: "a string with text" }),
    }
}
