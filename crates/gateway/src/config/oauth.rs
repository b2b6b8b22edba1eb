//! `[servers.NAME.oauth]`: how tokens for a server are obtained (R5.9: authentication in and out).

use std::net::IpAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_upstream::oauth::{Grant, OAuth};

use super::Reader;
use super::own::secret;
use super::place::{ConfigError, Problem};

/// How a server's tokens are had; an empty table is enough for one that registers clients by itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OAuthTable {
    /// `authorization_code`, where a person logs in once with `toolcrib auth NAME`, or `client_credentials`.
    #[serde(default)]
    grant: GrantWord,
    /// Client id at the authorization server; if absent, the gateway registers itself where it may.
    client_id: Option<String>,
    client_secret: Option<String>,
    /// An https URL at which `toolcrib auth --client-metadata URL` was published: who the gateway is, to authorization
    /// servers that read such documents.
    client_metadata_url: Option<String>,
    /// A file that holds the client secret.
    client_secret_file: Option<PathBuf>,
    /// Asked for instead of what the server says it needs.
    #[serde(default)]
    scopes: Vec<String>,
    /// The authorization server, where the server names several or none.
    issuer: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GrantWord {
    #[default]
    AuthorizationCode,
    ClientCredentials,
}

impl OAuthTable {
    /// `near` adds the place of the server's table to an error.
    pub(super) fn read(
        self,
        reader: &Reader<'_>,
        near: &impl Fn(Problem) -> ConfigError,
    ) -> Result<OAuth, ConfigError> {
        let client_id = self.client_id.map(|id| reader.expand(&id)).transpose()?;
        let client_secret = secret(reader, self.client_secret, self.client_secret_file)?;
        if self.grant == GrantWord::ClientCredentials && (client_id.is_none() || client_secret.is_none()) {
            let problem =
                "oauth with client_credentials needs client_id and client_secret or client_secret_file";
            return Err(near(Problem::Value(problem.to_owned())));
        }
        if client_secret.is_some() && client_id.is_none() {
            return Err(near(Problem::Value("oauth has a client secret and no client_id".to_owned())));
        }
        let client_metadata_url = self.client_metadata_url.map(|url| reader.expand(&url)).transpose()?;
        if client_metadata_url.as_deref().is_some_and(|url| !is_document(url)) {
            let problem = "client_metadata_url is an https URL with a path";
            return Err(near(Problem::Value(problem.to_owned())));
        }
        Ok(OAuth {
            client_metadata_url,
            grant: match self.grant {
                GrantWord::AuthorizationCode => Grant::AuthorizationCode,
                GrantWord::ClientCredentials => Grant::ClientCredentials,
            },
            client_id,
            client_secret,
            scopes: self.scopes,
            issuer: self.issuer.map(|issuer| reader.expand(&issuer)).transpose()?,
            ..OAuth::default()
        })
    }
}

/// Returns `true` if a client ID metadata document may be at this URL: https with a path, or http on this machine.
fn is_document(url: &str) -> bool {
    let Ok(uri) = url.parse::<http::Uri>() else { return false };
    let Some(authority) = uri.authority() else { return false };
    let is_safe = match uri.scheme_str() {
        Some("https") => !authority.host().is_empty(),
        Some("http") => is_this_machine(authority.host()),
        _ => false,
    };
    is_safe && !authority.as_str().contains('@') && uri.path() != "/"
}

/// Returns `true` for the host of a URL that is `localhost` or a loopback address.
pub(super) fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.9: http is for this machine, whose name or address is the whole host.
    #[test]
    fn a_client_metadata_document_is_at_https_or_on_this_machine() {
        for good in [
            "https://gateway.example/client.json",
            "http://127.0.0.1:7420/client.json",
            "http://localhost/client.json",
            "http://[::1]:7420/client.json",
        ] {
            assert!(is_document(good), "{good}");
        }
        for bad in [
            "http://localhost.evil.example/client.json",
            "http://127.0.0.1.evil.example/client.json",
            "http://localhost@evil.example/client.json",
            "http://gateway.example/client.json",
            "https://gateway.example",
            "https://gateway.example/",
            "https:///client.json",
            "ftp://localhost/client.json",
            "localhost/client.json",
            "",
        ] {
            assert!(!is_document(bad), "{bad}");
        }
    }
}
