//! JSON Web Tokens of one issuer (R5.9).
//!
//! Guarantees: a token counts only if it was signed by one of the issuer's published keys with an asymmetric algorithm,
//! names this issuer and this resource as its audience, has not expired, and carries every scope that is asked for.
//! Keys are looked up by their id; a token never brings its own. Tokens the operator gave out count as well.

use std::sync::Arc;

use arc_swap::ArcSwap;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use tokio::sync::Notify;
use toolcrib_engine::Principal;

use crate::auth::{Authenticator, Challenge};
use crate::bearer::{Bearer, token};
use crate::http1::Head;

/// What is not symmetric: with a shared secret, whoever verifies could sign.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// Clocks may differ so much, in seconds.
const LEEWAY_S: u64 = 30;

pub struct JwtBearer {
    bearer: Bearer,
    issuer: String,
    audience: String,
    scopes: Vec<String>,
    keys: ArcSwap<JwkSet>,
    /// A token named a key that is not known: perhaps there are new ones.
    unknown: Notify,
}

impl std::fmt::Debug for JwtBearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JwtBearer")
            .field("issuer", &self.issuer)
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}

/// A text is no set of keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no JSON Web Key Set: {0}")]
pub struct BadKeys(String);

#[derive(Deserialize)]
struct Claims {
    sub: String,
    /// One text, as RFC 8693 has it.
    scope: Option<String>,
    /// A list, as some issuers have it.
    scp: Option<Vec<String>>,
}

impl JwtBearer {
    #[must_use]
    pub fn new(bearer: Bearer, issuer: &str, audience: &str, scopes: &[String]) -> Arc<Self> {
        Arc::new(Self {
            bearer,
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
            scopes: scopes.to_vec(),
            keys: ArcSwap::from_pointee(JwkSet { keys: Vec::new() }),
            unknown: Notify::new(),
        })
    }

    /// Takes the issuer's keys, as JSON, instead of those it had.
    pub fn set_keys(&self, json: &str) -> Result<(), BadKeys> {
        let keys: JwkSet = serde_json::from_str(json).map_err(|error| BadKeys(error.to_string()))?;
        self.keys.store(Arc::new(keys));
        Ok(())
    }

    /// Returns when a token named a key that is not known.
    pub async fn wants_keys(&self) {
        self.unknown.notified().await;
    }

    fn verify(&self, token: &str) -> Result<Principal, &'static str> {
        const INVALID: &str = "invalid_token";
        let head = decode_header(token).map_err(|_| INVALID)?;
        if !ALGORITHMS.contains(&head.alg) {
            return Err(INVALID);
        }
        let keys = self.keys.load();
        let Some(key) = find(&keys, head.kid.as_deref()) else {
            self.unknown.notify_one();
            return Err(INVALID);
        };
        let named = key.common.key_algorithm.map(|named| named.to_string());
        if named.is_some_and(|named| named != format!("{:?}", head.alg)) {
            return Err(INVALID);
        }
        let decoding = DecodingKey::from_jwk(key).map_err(|_| INVALID)?;
        let mut validation = Validation::new(head.alg);
        validation.set_audience(&[&self.audience]);
        validation.set_issuer(&[&self.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY_S;
        let claims = decode::<Claims>(token, &decoding, &validation).map_err(|_| INVALID)?.claims;
        let granted: Vec<&str> = claims
            .scope
            .iter()
            .flat_map(|scope| scope.split(' '))
            .chain(claims.scp.iter().flatten().map(String::as_str))
            .collect();
        if !self.scopes.iter().all(|scope| granted.contains(&scope.as_str())) {
            return Err("insufficient_scope");
        }
        // A subject is the issuer's: no token of the operator's can have the same name.
        Ok(Principal::subject(&format!("{}#{}", self.issuer, claims.sub)))
    }
}

/// The key of that id; the only one there is, if the token names none.
fn find<'a>(keys: &'a JwkSet, id: Option<&str>) -> Option<&'a Jwk> {
    match (id, keys.keys.as_slice()) {
        (Some(id), _) => keys.find(id),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

impl Authenticator for JwtBearer {
    fn principal(&self, head: &Head) -> Result<Principal, Challenge> {
        let Some(token) = token(head) else { return Err(self.bearer.challenge(None)) };
        if let Ok(principal) = self.bearer.principal(head) {
            return Ok(principal);
        }
        self.verify(token).map_err(|error| {
            let mut challenge = self.bearer.challenge(Some(error));
            if error == "insufficient_scope" {
                challenge.www_authenticate.push_str(&format!(", scope=\"{}\"", self.scopes.join(" ")));
            }
            challenge
        })
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use jsonwebtoken::{EncodingKey, Header, encode};
    use ring::rand::SystemRandom;
    use ring::signature::{Ed25519KeyPair, KeyPair as _};
    use serde_json::{Value, json};

    use super::*;

    struct Issuer {
        key: EncodingKey,
        jwks: String,
    }

    fn issuer() -> Issuer {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
        let x = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        let jwks = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k1", "alg": "EdDSA", "use": "sig", "x": x}]});
        Issuer { key: EncodingKey::from_ed_der(pkcs8.as_ref()), jwks: jwks.to_string() }
    }

    fn sign(issuer: &Issuer, kid: &str, claims: &Value) -> String {
        let header = Header { kid: Some(kid.to_owned()), ..Header::new(Algorithm::EdDSA) };
        encode(&header, claims, &issuer.key).unwrap()
    }

    fn claims() -> Value {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        json!({"iss": "https://issuer", "aud": "https://gateway/mcp", "sub": "ada", "exp": now + 300, "scope": "mcp other"})
    }

    fn ask(jwt: &JwtBearer, token: &str) -> Result<Principal, String> {
        let head = Head::with(&[("Authorization", &format!("Bearer {token}"))]);
        jwt.principal(&head).map_err(|challenge| challenge.www_authenticate)
    }

    /// R5.9: JWT via JWKS with audience check.
    #[test]
    fn a_token_counts_only_for_this_resource_from_this_issuer_while_it_is_valid() {
        let (mine, other) = (issuer(), issuer());
        let bearer = Bearer::new(None).with("operator", "s3cret");
        let jwt = JwtBearer::new(bearer, "https://issuer", "https://gateway/mcp", &["mcp".to_owned()]);
        jwt.set_keys(&mine.jwks).unwrap();
        assert_eq!(ask(&jwt, &sign(&mine, "k1", &claims())), Ok(Principal::subject("https://issuer#ada")));
        assert_eq!(ask(&jwt, "s3cret"), Ok(Principal::subject("operator")));
        let with = |key: &str, value: Value| {
            let mut claims = claims();
            claims[key] = value;
            sign(&mine, "k1", &claims)
        };
        for (what, token) in [
            ("another audience", with("aud", json!("https://elsewhere"))),
            ("another issuer", with("iss", json!("https://evil"))),
            ("expired", with("exp", json!(1))),
            ("no expiry", with("exp", Value::Null)),
            ("not yet", with("nbf", json!(4_000_000_000_u64))),
            ("another key", sign(&other, "k1", &claims())),
            ("an unknown key", sign(&mine, "k2", &claims())),
            ("no token", "abc".to_owned()),
        ] {
            assert!(ask(&jwt, &token).unwrap_err().contains("invalid_token"), "{what}");
        }
        let unsigned = {
            let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
            format!("{}.{}.", part(json!({"alg": "none", "typ": "JWT"})), part(claims()))
        };
        assert!(ask(&jwt, &unsigned).is_err());
        let symmetric = encode(
            &Header::new(Algorithm::HS256),
            &claims(),
            &EncodingKey::from_secret(mine.jwks.as_bytes()),
        );
        assert!(ask(&jwt, &symmetric.unwrap()).is_err());
        let refused = ask(&jwt, &with("scope", json!("other"))).unwrap_err();
        assert!(refused.contains("insufficient_scope") && refused.contains("scope=\"mcp\""), "{refused}");
        assert!(jwt.set_keys("{}").is_err());
    }
}
