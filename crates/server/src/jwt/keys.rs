//! Keys that an issuer publishes as a JSON Web Key Set (RFC 7517).
//!
//! Guarantees: a key verifies only what it was published for (`use`, `key_ops`, `alg`, its type). Keys that cannot
//! verify tokens are skipped one by one, as RFC 7517 section 5 requires; a malformed set is refused as a whole.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{RsaPublicKeyComponents, UnparsedPublicKey};
use toolcrib_contract::json::{Document, Limits, Node};

use super::algorithm::Algorithm;
use super::refusal::{BadKeys, TokenRefusal, Unusable};
use crate::limits::{JWKS_BYTES_MAX, JWKS_KEYS_MAX};

/// Accepted lengths of RSA moduli in bytes: 2,048 to 8,192 bits, as `ring` verifies them.
const RSA_MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

/// Keys of one issuer.
#[derive(Default)]
pub(super) struct Keys {
    usable: Vec<Key>,
    set_aside: Vec<(Option<String>, Unusable)>,
}

/// Public key that verifies tokens.
pub(super) struct Key {
    id: Option<String>,
    /// The only algorithm that the key may be used with, if the issuer names one.
    algorithm: Option<String>,
    material: Material,
}

enum Material {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Keys {
    /// Parses a key set.
    pub(super) fn read(json: &str) -> Result<Self, BadKeys> {
        if json.len() > JWKS_BYTES_MAX {
            return Err(BadKeys::TooLong);
        }
        let document = Document::parse(json.as_bytes(), &Limits::message())?;
        let list = document.root().get("keys").filter(|list| list.is_array()).ok_or(BadKeys::Shape)?;
        if list.len() > JWKS_KEYS_MAX {
            return Err(BadKeys::TooMany);
        }
        let mut keys = Self::default();
        for key in list.elements() {
            if !key.is_object() {
                return Err(BadKeys::Shape);
            }
            match Key::read(key) {
                Ok(key) => keys.usable.push(key),
                Err(reason) => keys.set_aside.push((text(key, "kid").ok().flatten(), reason)),
            }
        }
        Ok(keys)
    }

    /// Returns the only key that a token's header can refer to.
    pub(super) fn find(&self, id: Option<&str>, algorithm: &str) -> Result<&Key, TokenRefusal> {
        let is_named = |own: &Option<String>| id.is_none_or(|id| own.as_deref() == Some(id));
        let mut named = self.usable.iter().filter(|key| is_named(&key.id)).peekable();
        if named.peek().is_none() {
            let set_aside = self.set_aside.iter().find(|(own, _)| is_named(own));
            return Err(
                set_aside.map_or(TokenRefusal::UnknownKey, |(_, reason)| TokenRefusal::UnusableKey(*reason))
            );
        }
        let mut fitting = named.filter(|key| key.fits(algorithm));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Ok(key),
            (Some(_), Some(_)) => Err(TokenRefusal::AmbiguousKey),
            (None, _) => Err(TokenRefusal::AlgorithmOfKey),
        }
    }

    /// Returns the reasons why keys were skipped.
    pub(super) fn set_aside(&self) -> impl Iterator<Item = Unusable> {
        self.set_aside.iter().map(|(_, reason)| *reason)
    }

    pub(super) fn has_usable(&self) -> bool {
        !self.usable.is_empty()
    }
}

impl Key {
    fn read(key: Node<'_>) -> Result<Self, Unusable> {
        let id = text(key, "kid").map_err(|()| Unusable::Id)?;
        if !matches!(text(key, "use").map_err(|()| Unusable::Use)?.as_deref(), None | Some("sig")) {
            return Err(Unusable::Use);
        }
        if let Some(operations) = key.get("key_ops")
            && !operations.elements().any(|one| one.as_str().is_some_and(|one| one == "verify"))
        {
            return Err(Unusable::Operations);
        }
        let key = Self {
            id,
            algorithm: text(key, "alg").map_err(|()| Unusable::Algorithm)?,
            material: Material::read(key)?,
        };
        match &key.algorithm {
            Some(named) if !key.fits(named) => Err(Unusable::Algorithm),
            _ => Ok(key),
        }
    }

    /// Returns `true` if tokens with this `alg` may be verified with the key.
    fn fits(&self, algorithm: &str) -> bool {
        let is_allowed = self.algorithm.as_deref().is_none_or(|own| own == algorithm);
        is_allowed && Algorithm::named(algorithm).is_ok_and(|named| self.material.fits(named))
    }

    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let verified = match (&self.material, algorithm) {
            (Material::Rsa(components), Algorithm::Rsa(parameters)) => {
                components.verify(parameters, message, signature)
            }
            (Material::P256(point), Algorithm::P256)
            | (Material::P384(point), Algorithm::P384)
            | (Material::Ed25519(point), Algorithm::Ed25519) => match algorithm.curve() {
                Some(curve) => UnparsedPublicKey::new(curve, point).verify(message, signature),
                None => return false,
            },
            _ => return false,
        };
        verified.is_ok()
    }
}

impl Material {
    fn read(key: Node<'_>) -> Result<Self, Unusable> {
        let member = |name| text(key, name).map_err(|()| Unusable::Kind);
        match (member("kty")?.as_deref(), member("crv")?.as_deref()) {
            (Some("RSA"), None) => {
                let (n, e) = (number(key, "n")?, number(key, "e")?);
                let is_sized = RSA_MODULUS_BYTES.contains(&n.len()) && !e.is_empty();
                if is_sized {
                    Ok(Self::Rsa(RsaPublicKeyComponents { n, e }))
                } else {
                    Err(Unusable::Material)
                }
            }
            (Some("EC"), Some("P-256")) => Ok(Self::P256(point(key, 32)?)),
            (Some("EC"), Some("P-384")) => Ok(Self::P384(point(key, 48)?)),
            (Some("OKP"), Some("Ed25519")) => Ok(Self::Ed25519(bytes(key, "x", 32)?)),
            _ => Err(Unusable::Kind),
        }
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        matches!(
            (self, algorithm),
            (Self::Rsa(_), Algorithm::Rsa(_))
                | (Self::P256(_), Algorithm::P256)
                | (Self::P384(_), Algorithm::P384)
                | (Self::Ed25519(_), Algorithm::Ed25519)
        )
    }
}

/// Returns the string member `name`; any other type and an empty string are an error.
fn text(key: Node<'_>, name: &str) -> Result<Option<String>, ()> {
    let Some(value) = key.get(name) else { return Ok(None) };
    value.as_str().filter(|text| !text.is_empty()).map(|text| Some(text.into_owned())).ok_or(())
}

fn decoded(key: Node<'_>, name: &str) -> Result<Vec<u8>, Unusable> {
    let text = text(key, name).ok().flatten().ok_or(Unusable::Material)?;
    URL_SAFE_NO_PAD.decode(text).map_err(|_| Unusable::Material)
}

/// Returns a positive number without leading zeros, which `ring` refuses and some issuers write.
fn number(key: Node<'_>, name: &str) -> Result<Vec<u8>, Unusable> {
    Ok(decoded(key, name)?.into_iter().skip_while(|byte| *byte == 0).collect())
}

fn bytes(key: Node<'_>, name: &str, length: usize) -> Result<Vec<u8>, Unusable> {
    decoded(key, name)
        .and_then(|bytes| if bytes.len() == length { Ok(bytes) } else { Err(Unusable::Material) })
}

/// Returns an uncompressed point of SEC 1: the byte 4, then both coordinates.
fn point(key: Node<'_>, length: usize) -> Result<Vec<u8>, Unusable> {
    Ok([vec![4], bytes(key, "x", length)?, bytes(key, "y", length)?].concat())
}
