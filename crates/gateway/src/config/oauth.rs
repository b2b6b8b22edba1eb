//! `[servers.NAME.oauth]`: how tokens for a server are obtained (R5.9: authentication in and out).

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
    let rest = url.strip_prefix("https://").or_else(|| {
        url.strip_prefix("http://")
            .filter(|rest| rest.starts_with("127.0.0.1") || rest.starts_with("localhost"))
    });
    rest.and_then(|rest| rest.split_once('/'))
        .is_some_and(|(host, path)| !host.is_empty() && !path.is_empty())
}
