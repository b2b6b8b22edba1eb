//! JSON Web Tokens of one issuer (R5.9: authentication in and out).
//!
//! Guarantees: a token is accepted only if it was signed by one of the issuer's published keys with an asymmetric
//! algorithm, names this issuer and has this resource as its audience, is valid now, and has every required scope.
//! Keys are looked up by their id, never taken from the token. Header, claims and key set are parsed strictly: a
//! duplicate or malformed member refuses the whole. Tokens that the operator issued are accepted too.
//!
//! Signatures are verified with `ring`, which TLS links already: the backends of the `jsonwebtoken` crate are a second
//! C library (`aws-lc-rs`) or an RSA implementation with an open advisory (`rsa`).

mod algorithm;
mod claims;
mod follow;
mod header;
mod keys;
mod refusal;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::sync::Notify;
use toolcrib_contract::json::{Document, Limits};
use toolcrib_engine::Principal;

use self::algorithm::Algorithm;
use self::claims::Required;
use self::header::Header;
use self::keys::Keys;
pub use self::refusal::{BadKeys, Part, TokenRefusal, Unusable};
use crate::auth::{Authenticator, Challenge};
use crate::bearer::{Bearer, token};
use crate::limits::JWT_BYTES_MAX;
use toolcrib_http1::RequestHead;

/// Verifier of one issuer's tokens.
pub struct JwtBearer {
    bearer: Bearer,
    issuer: String,
    audience: String,
    scopes: Vec<String>,
    keys: ArcSwap<Keys>,
    /// Notified when a token names an unknown key, because the issuer may have published new ones.
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

impl JwtBearer {
    #[must_use]
    pub fn new(bearer: Bearer, issuer: &str, audience: &str, scopes: &[String]) -> Arc<Self> {
        Arc::new(Self {
            bearer,
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
            scopes: scopes.to_vec(),
            keys: ArcSwap::default(),
            unknown: Notify::new(),
        })
    }

    /// Replaces the issuer's keys with those of a JSON Web Key Set.
    ///
    /// # Errors
    /// The set cannot be read; the keys stay as they were.
    pub fn set_keys(&self, json: &str) -> Result<(), BadKeys> {
        let keys = Keys::read(json)?;
        for reason in keys.set_aside() {
            tracing::debug!(target: "toolcrib", "a key of {} is not used: {reason}", self.issuer);
        }
        if !keys.has_usable() {
            tracing::warn!(target: "toolcrib", "{} publishes no key that can verify tokens", self.issuer);
        }
        self.keys.store(Arc::new(keys));
        Ok(())
    }

    /// Returns the principal of a token that is valid at `now`.
    ///
    /// # Errors
    /// The first reason to refuse it. Claims are checked only after the signature was verified.
    pub fn verify(&self, token: &str, now: SystemTime) -> Result<Principal, TokenRefusal> {
        if token.len() > JWT_BYTES_MAX {
            return Err(TokenRefusal::TooLong);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenRefusal::NotCompact)?;
        let (header, claims) = signed.split_once('.').ok_or(TokenRefusal::NotCompact)?;
        if claims.contains('.') {
            return Err(TokenRefusal::NotCompact);
        }
        let header = decoded(header, Part::Header)?;
        let header = Header::read(object(&header, Part::Header)?.root())?;
        let algorithm = Algorithm::named(&header.algorithm)?;
        let keys = self.keys.load();
        let key = keys.find(header.key_id.as_deref(), &header.algorithm).inspect_err(|refusal| {
            if *refusal == TokenRefusal::UnknownKey {
                self.unknown.notify_one();
            }
        })?;
        if !key.verifies(algorithm, signed.as_bytes(), &decoded(signature, Part::Signature)?) {
            return Err(TokenRefusal::Signature);
        }
        let claims = decoded(claims, Part::Claims)?;
        let claims = object(&claims, Part::Claims)?;
        let required = Required { issuer: &self.issuer, audience: &self.audience, scopes: &self.scopes };
        // A clock before 1970 is wrong: every token counts as expired.
        let now = now.duration_since(UNIX_EPOCH).map_or(f64::INFINITY, |since| since.as_secs_f64());
        let subject = required.check(claims.root(), now)?;
        // The issuer's name as a prefix keeps its subjects apart from those of the operator's own tokens.
        Ok(Principal::subject(&format!("{}#{subject}", self.issuer)))
    }
}

fn decoded(text: &str, part: Part) -> Result<Vec<u8>, TokenRefusal> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenRefusal::Encoding(part))
}

fn object(json: &[u8], part: Part) -> Result<Document<'_>, TokenRefusal> {
    let document =
        Document::parse(json, &Limits::message()).map_err(|error| TokenRefusal::Json(part, error))?;
    if document.root().is_object() { Ok(document) } else { Err(TokenRefusal::NotObject(part)) }
}

impl Authenticator for JwtBearer {
    fn principal(&self, head: &RequestHead) -> Result<Principal, Challenge> {
        let Some(token) = token(head) else { return Err(self.bearer.challenge(None)) };
        if let Ok(principal) = self.bearer.principal(head) {
            return Ok(principal);
        }
        self.verify(token, SystemTime::now()).map_err(|refusal| {
            tracing::debug!(target: "toolcrib", "a token is refused: {refusal}");
            let mut challenge = self.bearer.challenge(Some(refusal.code()));
            if refusal == TokenRefusal::Scope {
                challenge.www_authenticate.push_str(&format!(", scope=\"{}\"", self.scopes.join(" ")));
            }
            challenge
        })
    }

    /// A token of the issuer stays valid until it expires; there is no way to learn of an earlier revocation.
    fn still_holds(&self, principal: &Principal, since_ms: u64) -> bool {
        let is_issued = match principal {
            Principal::Subject(subject) => {
                subject.strip_prefix(&*self.issuer).is_some_and(|rest| rest.starts_with('#'))
            }
            Principal::Anonymous | Principal::Local => false,
        };
        is_issued || self.bearer.still_holds(principal, since_ms)
    }
}
