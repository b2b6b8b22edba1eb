//! Discovery of a server's token source: the server's own metadata (RFC 9728), then its authorization server's (RFC
//! 8414).
//!
//! Refuses metadata of another resource, and metadata with another issuer than the requested one.

use serde_json::Value;

use super::error::{OAuthError, plain};
use super::wire::Way;
use crate::http::Target;

/// The metadata of an authorization server that is used here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Issuer {
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) registration_endpoint: Option<String>,
    /// `token_endpoint_auth_methods_supported`; by RFC 8414, `client_secret_basic` if absent.
    pub(super) auth_methods: Vec<String>,
    pub(super) has_pkce: bool,
    /// `client_id_metadata_document_supported`
    pub(super) reads_clients: bool,
    /// `true` if the browser returns with the parameter `iss` (RFC 9207).
    pub(super) names_itself: bool,
}

/// Result of discovery: resource, issuer and scopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Identifier of the resource that tokens are requested for (RFC 8707).
    pub(super) resource: String,
    pub(super) issuer: Issuer,
    pub(super) scopes: Vec<String>,
}

/// Parameters of `WWW-Authenticate` in a 401.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) resource_metadata: Option<String>,
    pub(super) scope: Option<String>,
}

/// Asks the server without a token, then follows its metadata. `chosen` is the operator's own authorization server.
pub(super) async fn discover(
    way: &Way,
    chosen: Option<&str>,
    scopes: &[String],
) -> Result<Found, OAuthError> {
    let challenge = challenge(way).await;
    let (metadata, resource) = resource_metadata(way, &challenge).await?;
    let named =
        metadata.as_ref().and_then(|metadata| texts(metadata, "authorization_servers").into_iter().next());
    // A server older than RFC 9728 is its own authorization server.
    let issuer = chosen.map(str::to_owned).or(named).map_or_else(|| origin(&way.server), Ok)?;
    let issuer = issuer_metadata(way, &issuer).await?;
    let scopes = if !scopes.is_empty() {
        scopes.to_vec()
    } else if let Some(scope) = challenge.scope {
        scope.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect()
    } else {
        metadata.as_ref().map(|metadata| texts(metadata, "scopes_supported")).unwrap_or_default()
    };
    Ok(Found { resource, issuer, scopes })
}

/// Returns the challenge to a request without a token. If there is none, discovery continues with well-known URLs.
async fn challenge(way: &Way) -> Challenge {
    let probe = r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let fields = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n";
    let answer = way.unchecked("POST", &way.server, fields, probe).await;
    answer.ok().and_then(|answer| answer.challenge).map(|text| read_challenge(&text)).unwrap_or_default()
}

pub(super) fn read_challenge(text: &str) -> Challenge {
    Challenge { resource_metadata: parameter(text, "resource_metadata"), scope: parameter(text, "scope") }
}

/// Returns the scopes that a 403 asks for, if its error is `insufficient_scope` (RFC 6750).
pub(crate) fn more_rights(challenge: &str) -> Option<Vec<String>> {
    (parameter(challenge, "error").as_deref() == Some("insufficient_scope")).then_some(())?;
    let scopes = parameter(challenge, "scope").unwrap_or_default();
    Some(scopes.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect())
}

/// Returns the union of both lists.
pub(super) fn joined(mut one: Vec<String>, other: &[String]) -> Vec<String> {
    for scope in other {
        if !one.contains(scope) {
            one.push(scope.clone());
        }
    }
    one
}

/// Returns the first parameter of this name in a challenge, quoted or not. Text inside another parameter's quotes is
/// skipped.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(['=', ',', ' ', '\t', '"']).unwrap_or(rest.len()));
        let behind = after.trim_start();
        if let Some(value) = behind.strip_prefix('=') {
            let (value, behind) = parameter_value(value.trim_start());
            if word.eq_ignore_ascii_case(name) {
                return Some(value);
            }
            rest = behind;
        } else if behind.starts_with('"') {
            rest = parameter_value(behind).1;
        } else {
            rest = behind.strip_prefix(',').unwrap_or(behind);
        }
    }
    None
}

/// Splits off the token or quoted string at the start, unescaped.
fn parameter_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, behind) = text.split_at(text.find([',', ' ', '\t']).unwrap_or(text.len()));
        return (value.to_owned(), behind);
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    while let Some(next) = chars.next() {
        match next {
            '"' => break,
            '\\' => value.extend(chars.next()),
            other => value.push(other),
        }
    }
    (value, chars.as_str())
}

async fn resource_metadata(way: &Way, challenge: &Challenge) -> Result<(Option<Value>, String), OAuthError> {
    let own = without_fragment(&way.server).to_owned();
    let target = Target::read(&way.server).map_err(|_| unusable(&way.server))?;
    let (base, path) = (origin(&way.server)?, target.path.split('?').next().unwrap_or("/"));
    let well_known = format!("{base}/.well-known/oauth-protected-resource");
    let places = match &challenge.resource_metadata {
        Some(url) => vec![url.clone()],
        None if path == "/" => vec![well_known],
        None => vec![format!("{well_known}{}", path.trim_end_matches('/')), well_known],
    };
    for place in places {
        let Some(metadata) = way.metadata(&place).await? else { continue };
        let resource = read_resource(&metadata, &place, &own)?;
        return Ok((Some(metadata), resource));
    }
    Ok((None, own))
}

/// Returns the resource of the metadata from `place`; refuses one that does not cover the server at `own`.
pub(super) fn read_resource(metadata: &Value, place: &str, own: &str) -> Result<String, OAuthError> {
    let resource = text(metadata, "resource").ok_or_else(|| incomplete(place, "resource"))?;
    if covers(&resource, own) {
        return Ok(resource);
    }
    let (found, expected) = (plain(&resource), own.into());
    Err(OAuthError::Mismatch { what: "the resource of the metadata", found, expected })
}

/// Returns `true` if the resource is the server's URL or a prefix of it that ends at a slash.
fn covers(resource: &str, server: &str) -> bool {
    let (resource, server) = (resource.trim_end_matches('/'), without_fragment(server));
    let rest = server.strip_prefix(resource);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?'])) && resource.contains("://")
}

async fn issuer_metadata(way: &Way, issuer: &str) -> Result<Issuer, OAuthError> {
    let target = super::address::check(issuer, &way.server).await?.target;
    let (base, path) = (origin(issuer)?, target.path.trim_end_matches('/'));
    let mut places = vec![
        format!("{base}/.well-known/oauth-authorization-server{path}"),
        format!("{base}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{base}{path}/.well-known/openid-configuration"));
    }
    for place in places {
        let Some(metadata) = way.metadata(&place).await? else { continue };
        return read_issuer(&metadata, &place, issuer);
    }
    Err(OAuthError::Incomplete { url: plain(issuer), what: "authorization server metadata" })
}

/// Reads authorization server metadata from `place`; refuses metadata of another issuer than `issuer`.
pub(super) fn read_issuer(metadata: &Value, place: &str, issuer: &str) -> Result<Issuer, OAuthError> {
    let named = text(metadata, "issuer").ok_or_else(|| incomplete(place, "issuer"))?;
    // RFC 8414 demands equality; only a trailing slash is ignored.
    if named.trim_end_matches('/') != issuer.trim_end_matches('/') {
        let (found, expected) = (plain(&named), issuer.into());
        return Err(OAuthError::Mismatch { what: "the issuer of the metadata", found, expected });
    }
    let says = |name: &str| metadata.get(name) == Some(&Value::Bool(true));
    Ok(Issuer {
        issuer: named,
        token_endpoint: text(metadata, "token_endpoint")
            .ok_or_else(|| incomplete(place, "token_endpoint"))?,
        authorization_endpoint: text(metadata, "authorization_endpoint"),
        registration_endpoint: text(metadata, "registration_endpoint"),
        auth_methods: texts(metadata, "token_endpoint_auth_methods_supported"),
        has_pkce: texts(metadata, "code_challenge_methods_supported").iter().any(|one| one == "S256"),
        reads_clients: says("client_id_metadata_document_supported"),
        names_itself: says("authorization_response_iss_parameter_supported"),
    })
}

fn incomplete(url: &str, what: &'static str) -> OAuthError {
    OAuthError::Incomplete { url: plain(url), what }
}

fn unusable(url: &str) -> OAuthError {
    OAuthError::Address { url: plain(url), why: "it is no URL" }
}

fn origin(url: &str) -> Result<String, OAuthError> {
    let target = Target::read(url).map_err(|_| unusable(url))?;
    Ok(format!("{}://{}", if target.secure { "https" } else { "http" }, target.authority))
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}

fn text(metadata: &Value, name: &str) -> Option<String> {
    Some(metadata.get(name)?.as_str()?.to_owned())
}

fn texts(metadata: &Value, name: &str) -> Vec<String> {
    let listed = metadata.get(name).and_then(Value::as_array).into_iter().flatten();
    listed.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read_quoted_or_not_and_whole_names_alone_count() {
        let text =
            r#"Bearer error="invalid_token", resource_metadata="https://x/m", my_scope=no, scope="a b""#;
        assert_eq!(parameter(text, "resource_metadata").as_deref(), Some("https://x/m"));
        assert_eq!(parameter(text, "scope").as_deref(), Some("a b"));
        assert_eq!(parameter("Bearer scope=files:read, x=1", "scope").as_deref(), Some("files:read"));
        assert_eq!(parameter("Bearer", "scope"), None);
        let inside = r#"Bearer error_description="the scope=admin, \"scope=x\"", Scope = "b\\c", scope=d"#;
        assert_eq!(parameter(inside, "scope").as_deref(), Some("b\\c"));
        assert_eq!(parameter(r#"Bearer a="scope=x"#, "scope"), None);
        let wants = r#"Bearer error="insufficient_scope", scope="a b", error_description="more""#;
        assert_eq!(more_rights(wants), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(more_rights(r#"Bearer error="invalid_token", scope="a""#), None);
    }

    /// R5.9: metadata of another resource is not accepted for this one.
    #[test]
    fn a_resource_covers_its_own_url_and_what_is_below_it() {
        let server = "https://example.org/mcp";
        assert!(
            ["https://example.org/mcp", "https://example.org", "https://example.org/"]
                .iter()
                .all(|one| covers(one, server))
        );
        for other in
            ["https://example.org/m", "https://example.com/mcp", "https://example.org/mcp/x", "", "https:"]
        {
            assert!(!covers(other, server), "{other}");
        }
    }
}
