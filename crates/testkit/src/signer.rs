//! Whoever signs JSON Web Tokens: a key of its own (Ed25519), the set that publishes it, and tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

#[derive(Debug)]
pub struct Signer {
    pair: Ed25519KeyPair,
    id: String,
}

impl Signer {
    /// With a fresh key of this id; `None` where the system gives no randomness.
    #[must_use]
    pub fn new(id: &str) -> Option<Self> {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).ok()?;
        Some(Self { pair: Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).ok()?, id: id.to_owned() })
    }

    /// The set of keys that an issuer publishes.
    #[must_use]
    pub fn keys(&self) -> Value {
        let x = URL_SAFE_NO_PAD.encode(self.pair.public_key().as_ref());
        let key =
            json!({"kty": "OKP", "crv": "Ed25519", "kid": self.id, "alg": "EdDSA", "use": "sig", "x": x});
        json!({ "keys": [key] })
    }

    #[must_use]
    pub fn token(&self, claims: &Value) -> String {
        let head = json!({"alg": "EdDSA", "typ": "JWT", "kid": self.id});
        let [head, claims] = [&head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{head}.{claims}");
        let signature = URL_SAFE_NO_PAD.encode(self.pair.sign(signed.as_bytes()).as_ref());
        format!("{signed}.{signature}")
    }
}
