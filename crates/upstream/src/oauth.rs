//! OAuth tokens for servers that require them (R5.9: authentication in and out; a caller's token is never passed on).
//!
//! Guarantees: a token is sent only to the server it was issued for (RFC 8707 in every token request); a caller's own
//! token is never used. An authorization server is reached over https, or over http on this machine only; redirects are
//! followed within its origin only. Codes are bound by PKCE with S256. Tokens are stored in a file that only its owner
//! can read. If a server asks for more scopes during a call (403 `insufficient_scope`), they are requested, unless a
//! person has to agree.
//!
//! Implements RFC 6749 (authorization code, client credentials, refresh), 7591, 7636, 8414, 8707, 9207, 9728 and client
//! ID metadata documents.

mod address;
mod bearer;
mod client;
mod discovery;
mod error;
mod form;
mod login;
pub(crate) mod probe;
mod store;
mod wire;

pub(crate) use bearer::Bearer;
pub use client::metadata;
pub(crate) use discovery::more_rights;
pub use error::OAuthError;
pub use login::{Login, login};
pub use store::forget;

use std::path::PathBuf;

/// OAuth settings for one server.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct OAuth {
    pub grant: Grant,
    /// Client id. Without one the client registers itself, if the authorization server allows that.
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// URL of a client ID metadata document, which is also the client id, for authorization servers that read such
    /// documents.
    pub client_metadata_url: Option<String>,
    /// Scopes to request; if empty, those that the server says it needs.
    pub scopes: Vec<String>,
    /// Authorization server to use, if the server names several or none.
    pub issuer: Option<String>,
    /// Folder in which tokens are stored; without one they are lost when the process ends.
    pub folder: Option<PathBuf>,
    /// Name under which tokens are stored and which `toolcrib auth` uses; the server's name if absent.
    pub known_as: Option<String>,
    /// `true` if the operator configured no OAuth: a token is used if somebody has logged in, and never requested
    /// otherwise.
    pub is_implicit: bool,
}

/// Identity that a token represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grant {
    /// A person, who logs in with a browser.
    #[default]
    AuthorizationCode,
    /// The gateway itself.
    ClientCredentials,
}

// Leaves the secret out.
impl std::fmt::Debug for OAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuth")
            .field("grant", &self.grant)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}
