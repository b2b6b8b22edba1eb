//! Parsers of OAuth documents, for fuzz targets.

use serde_json::Value;

use super::client::read_tokens;
use super::discovery::{more_rights, read_challenge, read_issuer, read_resource};
use super::error::OAuthError;

/// Parsed `WWW-Authenticate` of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenged {
    pub resource_metadata: Option<String>,
    pub scope: Option<String>,
    /// Scopes that a 403 asks for.
    pub more_rights: Option<Vec<String>>,
}

#[must_use]
pub fn challenge(text: &str) -> Challenged {
    let read = read_challenge(text);
    Challenged {
        resource_metadata: read.resource_metadata,
        scope: read.scope,
        more_rights: more_rights(text),
    }
}

/// Reads protected resource metadata for the server at `server`; returns the resource.
pub fn resource(metadata: &Value, server: &str) -> Result<String, OAuthError> {
    read_resource(metadata, "https://probe.example/", server)
}

/// Reads authorization server metadata requested as `issuer`; returns its issuer and its token endpoint.
pub fn issuer(metadata: &Value, issuer: &str) -> Result<(String, String), OAuthError> {
    let read = read_issuer(metadata, "https://probe.example/", issuer)?;
    Ok((read.issuer, read.token_endpoint))
}

/// Reads a token response; returns the access token and the refresh token.
#[must_use]
pub fn tokens(said: &Value) -> Option<(String, Option<String>)> {
    let read = read_tokens(said, None)?;
    Some((read.access, read.refresh))
}
