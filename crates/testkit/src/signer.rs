//! Signer of JSON Web Tokens: a key, the key set that publishes it, and tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RsaKeyPair};
use serde_json::{Value, json};

/// Private RSA key of 2,048 bits for tests only, because `ring` cannot generate one.
const RSA_PKCS8: &[u8] = include_bytes!("../data/rsa-2048.pk8");

/// Signs tokens with one key and one algorithm.
#[derive(Debug)]
pub struct Signer {
    pair: Pair,
    algorithm: String,
    id: String,
}

#[derive(Debug)]
enum Pair {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
}

impl Signer {
    /// Generates an Ed25519 key with this id; `None` if the system has no randomness.
    #[must_use]
    pub fn new(id: &str) -> Option<Self> {
        Self::with("EdDSA", id)
    }

    /// Generates a key for `algorithm`, a value of `alg`; `None` for an unknown one. The RSA key is always the same.
    #[must_use]
    pub fn with(algorithm: &str, id: &str) -> Option<Self> {
        let random = SystemRandom::new();
        let curve = |own| {
            let pkcs8 = EcdsaKeyPair::generate_pkcs8(own, &random).ok()?;
            EcdsaKeyPair::from_pkcs8(own, pkcs8.as_ref(), &random).ok()
        };
        let pair = match algorithm {
            "EdDSA" => {
                let pkcs8 = Ed25519KeyPair::generate_pkcs8(&random).ok()?;
                Pair::Ed25519(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).ok()?)
            }
            "ES256" => Pair::P256(curve(&signature::ECDSA_P256_SHA256_FIXED_SIGNING)?),
            "ES384" => Pair::P384(curve(&signature::ECDSA_P384_SHA384_FIXED_SIGNING)?),
            _ => {
                padding(algorithm)?;
                Pair::Rsa(Box::new(RsaKeyPair::from_pkcs8(RSA_PKCS8).ok()?))
            }
        };
        Some(Self { pair, algorithm: algorithm.to_owned(), id: id.to_owned() })
    }

    /// Returns the public key as a JSON Web Key.
    #[must_use]
    pub fn key(&self) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let common = json!({"kid": self.id, "alg": self.algorithm, "use": "sig"});
        let own = match &self.pair {
            Pair::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref())})
            }
            Pair::P256(pair) | Pair::P384(pair) => {
                // An uncompressed point: the byte 4, then both coordinates.
                let point = pair.public_key().as_ref().get(1..).unwrap_or_default();
                let (x, y) = point.split_at(point.len() / 2);
                let curve = if matches!(self.pair, Pair::P256(_)) { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": curve, "x": text(x), "y": text(y)})
            }
            Pair::Rsa(pair) => {
                let public = signature::RsaPublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                json!({"kty": "RSA", "n": text(&public.n), "e": text(&public.e)})
            }
        };
        let members = [own, common].into_iter().filter_map(|part| part.as_object().cloned()).flatten();
        Value::Object(members.collect())
    }

    /// Returns the key set with this key.
    #[must_use]
    pub fn keys(&self) -> Value {
        json!({ "keys": [self.key()] })
    }

    /// Returns the header of this key's tokens.
    #[must_use]
    pub fn header(&self) -> Value {
        json!({"alg": self.algorithm, "typ": "JWT", "kid": self.id})
    }

    #[must_use]
    pub fn token(&self, claims: &Value) -> String {
        self.signed(&self.header().to_string(), &claims.to_string())
    }

    /// Signs a header and claims exactly as they are written.
    #[must_use]
    pub fn signed(&self, header: &str, claims: &str) -> String {
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part));
        let message = format!("{header}.{claims}");
        let signature = URL_SAFE_NO_PAD.encode(self.signature(message.as_bytes()));
        format!("{message}.{signature}")
    }

    /// Returns a signature; empty if the system has no randomness.
    fn signature(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Pair::P256(pair) | Pair::P384(pair) => {
                pair.sign(&random, message).map(|signature| signature.as_ref().to_vec()).unwrap_or_default()
            }
            Pair::Rsa(pair) => {
                let mut bytes = vec![0; pair.public().modulus_len()];
                let signed = padding(&self.algorithm)
                    .is_some_and(|padding| pair.sign(padding, &random, message, &mut bytes).is_ok());
                if signed { bytes } else { Vec::new() }
            }
        }
    }
}

fn padding(algorithm: &str) -> Option<&'static dyn signature::RsaEncoding> {
    Some(match algorithm {
        "RS256" => &signature::RSA_PKCS1_SHA256,
        "RS384" => &signature::RSA_PKCS1_SHA384,
        "RS512" => &signature::RSA_PKCS1_SHA512,
        "PS256" => &signature::RSA_PSS_SHA256,
        "PS384" => &signature::RSA_PSS_SHA384,
        "PS512" => &signature::RSA_PSS_SHA512,
        _ => return None,
    })
}
