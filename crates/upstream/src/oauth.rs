//! Tokens for servers that ask for OAuth (R5.9).
//!
//! Guarantees: a token goes only to the server it was made for (RFC 8707 on every request for one); a caller's own token
//! never comes near this; an authorization server is reached over https, or over http on this machine alone, and no
//! redirect is followed; codes are bound by PKCE with S256; tokens lie in a file that its owner alone can read.
//! A server that asks for more scopes in mid-call (403 `insufficient_scope`) gets them, where no person has to agree.
//! Implements RFC 6749 (authorization code, client credentials, refresh), 7591, 7636, 8414, 8707, 9207, 9728 and client ID metadata documents.

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

/// How tokens for one server are had.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct OAuth {
    pub grant: Grant,
    /// Without one the client registers itself where the authorization server lets it.
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// A document that says who this client is, which its URL names it by, where an authorization server reads such.
    pub client_metadata_url: Option<String>,
    /// Asked for; else what the server says it needs.
    pub scopes: Vec<String>,
    /// The authorization server, where the server names several or none.
    pub issuer: Option<String>,
    /// The folder that tokens are kept in; none outlives the process without.
    pub folder: Option<PathBuf>,
    /// What `toolcrib auth` knows the server by, and its tokens are kept under; the server's name if absent.
    pub known_as: Option<String>,
    /// The operator said nothing about OAuth: a token is used if somebody logged in, and asked for only on refusal.
    pub is_implicit: bool,
}

/// Who a token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grant {
    /// A person, who logs in with a browser.
    #[default]
    AuthorizationCode,
    /// The gateway itself.
    ClientCredentials,
}

// The secret is not shown.
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
