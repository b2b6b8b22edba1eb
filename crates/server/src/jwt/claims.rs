//! Claims of a token (RFC 7519), checked after its signature.
//!
//! Guarantees: a malformed claim refuses the token; it is never treated as absent.

use toolcrib_contract::json::Node;

use super::header::text;
use super::refusal::TokenRefusal;
use crate::limits::JWT_LEEWAY_S;

/// Claims that a token must have.
pub(super) struct Required<'a> {
    pub(super) issuer: &'a str,
    pub(super) audience: &'a str,
    pub(super) scopes: &'a [String],
}

impl Required<'_> {
    /// Returns the subject of a token that is valid at `now`, in seconds since the epoch.
    pub(super) fn check(&self, claims: Node<'_>, now: f64) -> Result<String, TokenRefusal> {
        let issuer = text(claims, "iss")?.ok_or(TokenRefusal::Missing("iss"))?;
        let subject = text(claims, "sub")?.ok_or(TokenRefusal::Missing("sub"))?;
        let audience = texts(claims, "aud")?.ok_or(TokenRefusal::Missing("aud"))?;
        let expiry = seconds(claims, "exp")?.ok_or(TokenRefusal::Missing("exp"))?;
        let not_before = seconds(claims, "nbf")?;
        seconds(claims, "iat")?;
        if issuer != self.issuer {
            return Err(TokenRefusal::Issuer);
        }
        if !audience.iter().any(|one| one == self.audience) {
            return Err(TokenRefusal::Audience);
        }
        if now >= expiry + JWT_LEEWAY_S as f64 {
            return Err(TokenRefusal::Expired);
        }
        if not_before.is_some_and(|not_before| not_before > now + JWT_LEEWAY_S as f64) {
            return Err(TokenRefusal::NotYetValid);
        }
        self.check_scopes(claims)?;
        Ok(subject)
    }

    fn check_scopes(&self, claims: Node<'_>) -> Result<(), TokenRefusal> {
        let mut granted = Vec::new();
        // RFC 8693 has a string in `scope`; some issuers have a string or an array in `scp`.
        for name in ["scope", "scp"] {
            granted.extend(scopes(claims, name)?);
        }
        let has = |wanted: &String| granted.iter().any(|text| text.split(' ').any(|one| one == wanted));
        if self.scopes.iter().all(has) { Ok(()) } else { Err(TokenRefusal::Scope) }
    }
}

/// Returns a NumericDate in seconds; refuses one that is not finite or negative.
fn seconds(claims: Node<'_>, name: &'static str) -> Result<Option<f64>, TokenRefusal> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value.as_number().map(toolcrib_contract::json::Number::as_f64);
    match seconds.filter(|seconds| seconds.is_finite() && seconds.is_sign_positive()) {
        Some(seconds) => Ok(Some(seconds)),
        None => Err(TokenRefusal::Malformed { name, expected: "seconds since 1970" }),
    }
}

/// Returns a string or a non-empty array of strings as a list.
fn texts(claims: Node<'_>, name: &'static str) -> Result<Option<Vec<String>>, TokenRefusal> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let list =
        if value.is_array() { strings(value) } else { value.as_str().map(|text| vec![text.into_owned()]) };
    match list.filter(|list| !list.is_empty() && list.iter().all(|text| !text.is_empty())) {
        Some(list) => Ok(Some(list)),
        None => Err(TokenRefusal::Malformed { name, expected: "a string or an array of strings, with text" }),
    }
}

/// Returns scopes; unlike the audience, they may be empty.
fn scopes(claims: Node<'_>, name: &'static str) -> Result<Vec<String>, TokenRefusal> {
    let Some(value) = claims.get(name) else { return Ok(Vec::new()) };
    let list =
        if value.is_array() { strings(value) } else { value.as_str().map(|text| vec![text.into_owned()]) };
    list.ok_or(TokenRefusal::Malformed { name, expected: "a string or an array of strings" })
}

/// Returns the elements of an array; `None` if one is not a string.
fn strings(array: Node<'_>) -> Option<Vec<String>> {
    array.elements().map(|element| element.as_str().map(std::borrow::Cow::into_owned)).collect()
}
