//! Signature algorithms that are accepted (RFC 7518, RFC 8037, RFC 9864): asymmetric ones only.

use ring::signature::{self, RsaParameters, VerificationAlgorithm};

use super::refusal::TokenRefusal;

/// Signature algorithm, grouped by the type of key that it needs.
#[derive(Clone, Copy)]
pub(super) enum Algorithm {
    Rsa(&'static RsaParameters),
    P256,
    P384,
    Ed25519,
}

impl Algorithm {
    /// Returns the algorithm that a header or a key names.
    pub(super) fn named(name: &str) -> Result<Self, TokenRefusal> {
        Ok(match name {
            "RS256" => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
            "RS384" => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
            "RS512" => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
            "PS256" => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
            "PS384" => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
            "PS512" => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
            "ES256" => Self::P256,
            "ES384" => Self::P384,
            // RFC 9864 names the curve.
            "EdDSA" | "Ed25519" => Self::Ed25519,
            name if name.eq_ignore_ascii_case("none") => return Err(TokenRefusal::Unsigned),
            name if name.starts_with("HS") => return Err(TokenRefusal::Symmetric),
            _ => return Err(TokenRefusal::UnknownAlgorithm),
        })
    }

    /// Returns the verification algorithm of a curve; `None` for RSA.
    pub(super) fn curve(self) -> Option<&'static dyn VerificationAlgorithm> {
        match self {
            Self::Rsa(_) => None,
            Self::P256 => Some(&signature::ECDSA_P256_SHA256_FIXED),
            Self::P384 => Some(&signature::ECDSA_P384_SHA384_FIXED),
            Self::Ed25519 => Some(&signature::ED25519),
        }
    }
}
