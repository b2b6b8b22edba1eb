//! Bearer tokens that the operator issued (R5.9: authentication in and out).
//!
//! Guarantees: a token is looked up by its SHA-256 digest, so the time of a refusal reveals nothing about valid
//! tokens, and no token is kept in clear text. Tokens are accepted in the `Authorization` header only.

use std::collections::HashMap;

use toolcrib_contract::Digest;
use toolcrib_engine::Principal;

use crate::auth::{Authenticator, Challenge};
use toolcrib_http1::RequestHead;

/// Authenticator for a fixed set of bearer tokens.
#[derive(Debug, Clone, Default)]
pub struct Bearer {
    by_digest: HashMap<String, Principal>,
    /// URL at which clients learn how to authenticate (RFC 9728).
    metadata_url: Option<String>,
}

impl Bearer {
    #[must_use]
    pub fn new(metadata_url: Option<String>) -> Self {
        Self { by_digest: HashMap::new(), metadata_url }
    }

    #[must_use]
    pub fn with(mut self, subject: &str, token: &str) -> Self {
        self.by_digest.insert(digest(token), Principal::subject(subject));
        self
    }

    /// Returns the challenge for a client without a valid token; `error` is a code of RFC 6750.
    #[must_use]
    pub fn challenge(&self, error: Option<&str>) -> Challenge {
        let mut parts = vec!["Bearer realm=\"toolcrib\"".to_owned()];
        parts.extend(error.map(|error| format!("error=\"{error}\"")));
        parts.extend(self.metadata_url.as_ref().map(|url| format!("resource_metadata=\"{url}\"")));
        Challenge { www_authenticate: parts.join(", ") }
    }
}

/// Returns the bearer token of a request: exactly one header, with the scheme `Bearer`.
#[must_use]
pub fn token(head: &RequestHead) -> Option<&str> {
    let (scheme, token) = head.only("authorization")?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn digest(token: &str) -> String {
    Digest::of_bytes(token.as_bytes()).to_string()
}

impl Authenticator for Bearer {
    fn principal(&self, head: &RequestHead) -> Result<Principal, Challenge> {
        let Some(token) = token(head) else { return Err(self.challenge(None)) };
        let found = self.by_digest.get(&digest(token)).cloned();
        found.ok_or_else(|| self.challenge(Some("invalid_token")))
    }

    /// Checks only if the subject still has a token, because the time at which a token was issued is unknown.
    fn still_holds(&self, principal: &Principal, _since_ms: u64) -> bool {
        self.by_digest.values().any(|known| known == principal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirrors::head_with;

    fn ask(value: Option<&str>) -> Result<Principal, Challenge> {
        let bearer = Bearer::new(Some("https://x/meta".into())).with("me", "s3cret");
        let lines: Vec<_> = value.map(|value| ("Authorization", value)).into_iter().collect();
        bearer.principal(&head_with(&lines))
    }

    /// R5.9: bearer tokens are checked, with RFC 9728 challenges.
    #[test]
    fn only_the_right_token_in_the_right_header_is_somebody() {
        assert_eq!(ask(Some("Bearer s3cret")), Ok(Principal::subject("me")));
        assert_eq!(ask(Some("bearer s3cret")), Ok(Principal::subject("me")));
        for wrong in ["Bearer s3cre", "Bearer ", "s3cret", "Basic s3cret", "Bearer S3CRET"] {
            let refused = ask(Some(wrong)).unwrap_err().www_authenticate;
            assert!(refused.contains("resource_metadata=\"https://x/meta\""), "{wrong}: {refused}");
        }
        assert!(!ask(None).unwrap_err().www_authenticate.contains("error="));
        assert!(!format!("{:?}", Bearer::default().with("me", "s3cret")).contains("s3cret"));
    }

    #[test]
    fn two_authorization_headers_are_nobody() {
        let line = ("Authorization", "Bearer s3cret");
        assert!(Bearer::default().with("me", "s3cret").principal(&head_with(&[line, line])).is_err());
    }
}
