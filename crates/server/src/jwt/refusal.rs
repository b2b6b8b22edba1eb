//! Reasons why a token or a key set is refused.
//!
//! The messages are for the operator's log. A client gets only the error code of RFC 6750, and no message repeats text
//! of the token.
//! repeats text of the token.

use toolcrib_contract::json::ReadError;

use crate::limits::{JWKS_BYTES_MAX, JWKS_KEYS_MAX, JWT_BYTES_MAX};

/// Reason why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefusal {
    #[error("JWT_BYTES_MAX: the token is longer than {JWT_BYTES_MAX} bytes")]
    TooLong,
    #[error("the token is not three parts separated by dots")]
    NotCompact,
    #[error("the {0} is not base64url without padding")]
    Encoding(Part),
    #[error("the {0}: {1}")]
    Json(Part, ReadError),
    #[error("the {0} is not a JSON object")]
    NotObject(Part),
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`{name}` has the wrong type or is empty; expected {expected}")]
    Malformed { name: &'static str, expected: &'static str },
    #[error("`crit` names an extension; none is supported")]
    Critical,
    #[error("`typ` is not JWT or at+jwt: this is another kind of token")]
    Kind,
    #[error("`alg` is none: the token is not signed")]
    Unsigned,
    #[error("`alg` is symmetric: whoever verifies could sign")]
    Symmetric,
    #[error("`alg` is not one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA")]
    UnknownAlgorithm,
    #[error("`kid` names no key of the issuer")]
    UnknownKey,
    #[error("`kid` names a key that verifies no tokens: {0}")]
    UnusableKey(Unusable),
    #[error("`alg` does not fit the key")]
    AlgorithmOfKey,
    #[error("more than one key of the issuer fits `kid` and `alg`")]
    AmbiguousKey,
    #[error("the signature is wrong")]
    Signature,
    #[error("`iss` is not the configured issuer")]
    Issuer,
    #[error("`aud` does not contain the configured audience")]
    Audience,
    #[error("`exp` has passed")]
    Expired,
    #[error("`nbf` is in the future")]
    NotYetValid,
    #[error("a required scope is missing")]
    Scope,
}

impl TokenRefusal {
    /// Returns the error code of RFC 6750, the only part that a client sees.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Scope => "insufficient_scope",
            _ => "invalid_token",
        }
    }
}

/// Part of a token in its compact form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Header,
    Claims,
    Signature,
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Header => "header",
            Self::Claims => "claims",
            Self::Signature => "signature",
        })
    }
}

/// Reason why a published key cannot verify tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    #[error("`kid` is not a string with text")]
    Id,
    #[error("`use` is not sig")]
    Use,
    #[error("`key_ops` does not contain verify")]
    Operations,
    #[error("`alg` is unknown or does not fit the key's type")]
    Algorithm,
    #[error("`kty` or `crv` is not supported; expected RSA, EC with P-256 or P-384, or OKP with Ed25519")]
    Kind,
    #[error("its numbers are missing, malformed or of the wrong size; RSA needs 2,048 to 8,192 bits")]
    Material,
}

/// Reason why a text is refused as a JSON Web Key Set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadKeys {
    #[error("JWKS_BYTES_MAX: the key set is longer than {JWKS_BYTES_MAX} bytes")]
    TooLong,
    #[error("the key set is not valid JSON: {0}")]
    Json(#[from] ReadError),
    #[error("the key set is not an object with an array `keys` of objects")]
    Shape,
    #[error("JWKS_KEYS_MAX: the key set has more than {JWKS_KEYS_MAX} keys")]
    TooMany,
}
