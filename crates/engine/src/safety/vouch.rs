//! Vouching: a gateway tells a Toolcrib server behind it that a call was confirmed, so that nobody is asked twice
//! (R12.4: one question to a person and one execution).
//!
//! Guarantees: a statement is signed with the key of the gateway's data folder, in its own domain, and holds for one
//! server, one tool, these exact arguments, one use, and `VOUCH_MS_MAX`. A server accepts it only if its operator
//! trusts the gateway's key (`trusted_gateways`), and if a person must confirm, only if one did. Limit: a server that
//! announces the key of another one can pass a statement on to it, for the same tool and arguments.

use std::fmt;
use std::sync::Arc;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_contract::Digest;

use super::audit::{from_hex, to_hex};
use super::policy::Demand;
use super::shown;
use super::ticket::Clearance;
use crate::limits::VOUCH_MS_MAX;
use crate::seal::{NoRandomness, random_bytes};

/// Member of `_meta` that carries a statement.
pub const STATEMENT: &str = "io.github.toolcrib/confirmed";
/// Experimental capability with which a server announces its gate and public key.
pub const CAPABILITY: &str = "io.github.toolcrib/gate";
/// Prefix of the key of the gate's own question to a modern client; a nonce follows.
pub const QUESTION_PREFIX: &str = "toolcrib-confirm-";
/// Prefix of the nonce that carries a confirmation on to a further round of the same call.
pub(crate) const AGAIN_PREFIX: &str = "again_";

const DOMAIN: &str = "toolcrib vouch 1";

/// Words for a tool's effect in the gate's question.
const EFFECTS: [&str; 2] = ["destructive", "has to be confirmed"];

/// Returns the gate's question about a call.
pub(crate) fn question(tool: &str, is_destructive: bool, raw: &str) -> String {
    let [destructive, other] = EFFECTS;
    shown::question(tool, if is_destructive { destructive } else { other }, raw)
}

/// Returns true if a server's question is a gate's question about exactly this call.
#[must_use]
pub fn is_question_about(message: &str, tool: &str, raw: &str) -> bool {
    EFFECTS.iter().any(|effect| shown::question(tool, effect, raw) == message)
}

/// Kind of confirmation that a call has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfirmedBy {
    /// A person: an answered question, an approval, an operator's token.
    Person,
    /// A two-step token, which a model can get by itself.
    Token,
}

impl ConfirmedBy {
    /// Returns the kind of confirmation of a clearance; `None` if the call needed none.
    pub(crate) fn of(clearance: &Clearance, demand: Demand) -> Option<Self> {
        match clearance {
            Clearance::Free => None,
            // If a person is demanded, nothing else passed the gate.
            _ if demand == Demand::Human => Some(Self::Person),
            Clearance::Asked | Clearance::Approval { .. } => Some(Self::Person),
            // The first round's kind of confirmation is not known any more, so the weaker one is assumed.
            Clearance::Sealed { nonce, .. } if nonce.starts_with(AGAIN_PREFIX) => Some(Self::Token),
            Clearance::Sealed { .. } => Some(Self::Person),
            Clearance::Token { .. } => Some(Self::Token),
            Clearance::Vouched { by, .. } => Some(*by),
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Token => "token",
        }
    }
}

/// Public key of a data folder, as in its file `audit.pub`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GatewayKey(VerifyingKey);

/// The text is not a public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no key: it has 64 hexadecimal digits, as in the file audit.pub of the gateway's data folder"
)]
pub struct BadKey(String);

impl TryFrom<String> for GatewayKey {
    type Error = BadKey;

    fn try_from(text: String) -> Result<Self, BadKey> {
        let key = from_hex(text.trim()).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        key.map(Self).ok_or(BadKey(text))
    }
}

impl From<GatewayKey> for String {
    fn from(key: GatewayKey) -> Self {
        key.to_string()
    }
}

impl fmt::Display for GatewayKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(self.0.as_bytes()))
    }
}

/// Signing key for statements.
#[derive(Clone)]
pub struct Voucher(Arc<SigningKey>);

impl fmt::Debug for Voucher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Voucher({})", self.public())
    }
}

/// Statement in its wire form.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Statement {
    /// Public key of the gateway that vouches.
    key: String,
    /// Public key of the server that the statement is for.
    audience: String,
    /// Server's own name of the tool.
    tool: String,
    arguments: String,
    by: ConfirmedBy,
    expires_ms: u64,
    nonce: String,
    #[serde(default)]
    signature: String,
}

impl Statement {
    /// Returns the bytes to sign: every part with its length, so that different statements have different bytes.
    fn signed(&self) -> Vec<u8> {
        let expires_ms = self.expires_ms.to_string();
        let parts = [
            DOMAIN,
            &self.key,
            &self.audience,
            &self.tool,
            &self.arguments,
            self.by.word(),
            &expires_ms,
            &self.nonce,
        ];
        let mut out = Vec::new();
        for part in parts {
            out.extend_from_slice(&(part.len() as u64).to_be_bytes());
            out.extend_from_slice(part.as_bytes());
        }
        out
    }
}

impl Voucher {
    #[must_use]
    pub fn new(seed: &[u8; 32]) -> Self {
        Self(Arc::new(SigningKey::from_bytes(seed)))
    }

    #[must_use]
    pub fn public(&self) -> GatewayKey {
        GatewayKey(self.0.verifying_key())
    }

    /// Returns a signed statement, as raw JSON, that a call to the server with key `audience` was confirmed.
    pub fn vouch(
        &self,
        audience: &str,
        tool: &str,
        arguments: &Digest,
        by: ConfirmedBy,
        now_ms: u64,
    ) -> Result<String, NoRandomness> {
        let mut statement = Statement {
            key: self.public().to_string(),
            audience: audience.to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.to_string(),
            by,
            expires_ms: now_ms.saturating_add(VOUCH_MS_MAX),
            nonce: to_hex(&random_bytes::<16>()?),
            signature: String::new(),
        };
        statement.signature = to_hex(&self.0.sign(&statement.signed()).to_bytes());
        Ok(json!(statement).to_string())
    }
}

/// Reason why a statement is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unvouched {
    #[error("it cannot be read")]
    Malformed,
    #[error("this server does not trust the gateway's key {0}")]
    Untrusted(String),
    #[error("its signature is wrong")]
    Signature,
    #[error("it was given for another server")]
    OtherServer,
    #[error("it was given for another tool")]
    OtherTool,
    #[error("it was given for other arguments")]
    OtherArguments,
    #[error("it has expired, or the clocks of gateway and server differ")]
    Expired,
    #[error("it tells of a token, and this call has to be confirmed by a person")]
    NoPerson,
}

impl Unvouched {
    /// Returns what an operator or client can do about it.
    pub(crate) fn way_out(&self) -> String {
        match self {
            Self::Untrusted(key) => format!(
                "An operator of this server can trust the gateway: trusted_gateways = [\"{key}\"] in the section \
                 [safety] of the server's policy."
            ),
            Self::NoPerson => {
                "An operator of the gateway can demand a person for this tool there: demand = \"human\" \
                 in a rule of its section [safety]."
                    .to_owned()
            }
            _ => "Call it again through the gateway to have it confirmed anew.".to_owned(),
        }
    }
}

/// Call for which a statement is checked, as the receiving server sees it.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) own: &'a GatewayKey,
    pub(crate) trusted: &'a [GatewayKey],
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a Digest,
    /// `true` if only a person's confirmation suffices.
    pub(crate) person: bool,
    pub(crate) now_ms: u64,
}

impl Shown<'_> {
    /// Checks a statement; returns the clearance, which is burnt when the intent is written.
    pub(crate) fn check(&self, raw: &str) -> Result<Clearance, Unvouched> {
        let statement: Statement = serde_json::from_str(raw).map_err(|_| Unvouched::Malformed)?;
        let trusted = self.trusted.iter().find(|key| key.to_string() == statement.key);
        let GatewayKey(key) = trusted.ok_or_else(|| match GatewayKey::try_from(statement.key.clone()) {
            Ok(key) => Unvouched::Untrusted(key.to_string()),
            Err(_) => Unvouched::Malformed,
        })?;
        let signature = from_hex(&statement.signature).ok_or(Unvouched::Malformed)?;
        key.verify_strict(&statement.signed(), &Signature::from_bytes(&signature))
            .map_err(|_| Unvouched::Signature)?;
        if statement.audience != self.own.to_string() {
            return Err(Unvouched::OtherServer);
        }
        if statement.tool != self.tool {
            return Err(Unvouched::OtherTool);
        }
        if statement.arguments != self.arguments.to_string() {
            return Err(Unvouched::OtherArguments);
        }
        // Clocks may differ by as much as the life of a statement.
        let latest_ms = self.now_ms.saturating_add(2 * VOUCH_MS_MAX);
        if statement.expires_ms <= self.now_ms || statement.expires_ms > latest_ms {
            return Err(Unvouched::Expired);
        }
        if self.person && statement.by != ConfirmedBy::Person {
            return Err(Unvouched::NoPerson);
        }
        let gateway = statement.key.get(..16).unwrap_or_default();
        Ok(Clearance::Vouched {
            nonce: format!("{gateway}-{}", statement.nonce),
            expires_ms: statement.expires_ms,
            by: statement.by,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 1_000_000;

    fn digest(text: &str) -> Digest {
        Digest::of_bytes(text.as_bytes())
    }

    struct Case {
        own: GatewayKey,
        trusted: Vec<GatewayKey>,
    }

    impl Case {
        fn new(trusted: &[&Voucher]) -> Self {
            let trusted = trusted.iter().map(|voucher| voucher.public()).collect();
            Self { own: Voucher::new(&[9; 32]).public(), trusted }
        }

        fn check(&self, raw: &str, tool: &str, arguments: &str, now_ms: u64) -> Result<Clearance, Unvouched> {
            let (own, trusted, arguments) = (&self.own, &*self.trusted, &digest(arguments));
            Shown { own, trusted, tool, arguments, person: false, now_ms }.check(raw)
        }

        fn vouch(&self, voucher: &Voucher, by: ConfirmedBy) -> String {
            voucher.vouch(&self.own.to_string(), "t", &digest("{}"), by, NOW_MS).unwrap()
        }
    }

    /// R12.4, `VOUCH_MS_MAX`: a statement holds for one server, tool, arguments and a minute, under a trusted key.
    #[test]
    fn a_statement_holds_for_exactly_what_it_says() {
        let gateway = Voucher::new(&[1; 32]);
        let case = Case::new(&[&gateway]);
        let raw = case.vouch(&gateway, ConfirmedBy::Person);
        let accepted = case.check(&raw, "t", "{}", NOW_MS).unwrap();
        let Clearance::Vouched { expires_ms, by, .. } = accepted else { panic!("{accepted:?}") };
        assert_eq!((expires_ms, by), (NOW_MS + VOUCH_MS_MAX, ConfirmedBy::Person));
        let refused = |tool, arguments, now_ms| case.check(&raw, tool, arguments, now_ms).unwrap_err();
        assert_eq!(refused("u", "{}", NOW_MS), Unvouched::OtherTool);
        assert_eq!(refused("t", "[]", NOW_MS), Unvouched::OtherArguments);
        assert_eq!(refused("t", "{}", NOW_MS + VOUCH_MS_MAX), Unvouched::Expired);
        assert_eq!(refused("t", "{}", NOW_MS - VOUCH_MS_MAX - 1), Unvouched::Expired);
        let elsewhere = Case { own: gateway.public(), trusted: vec![gateway.public()] };
        assert_eq!(elsewhere.check(&raw, "t", "{}", NOW_MS).unwrap_err(), Unvouched::OtherServer);
    }

    /// R12.4: an untrusted key, a forged signature and an altered statement are refused.
    #[test]
    fn a_statement_of_an_unknown_key_or_a_changed_one_is_refused() {
        let (gateway, other) = (Voucher::new(&[1; 32]), Voucher::new(&[2; 32]));
        let case = Case::new(&[&gateway]);
        let strange = case.vouch(&other, ConfirmedBy::Person);
        let untrusted = Unvouched::Untrusted(other.public().to_string());
        assert_eq!(case.check(&strange, "t", "{}", NOW_MS).unwrap_err(), untrusted);
        let claimed = strange.replace(&other.public().to_string(), &gateway.public().to_string());
        assert_eq!(case.check(&claimed, "t", "{}", NOW_MS).unwrap_err(), Unvouched::Signature);
        let token = case.vouch(&gateway, ConfirmedBy::Token);
        let raised = token.replace("\"token\"", "\"person\"");
        assert_eq!(case.check(&raised, "t", "{}", NOW_MS).unwrap_err(), Unvouched::Signature);
        for raw in ["{}", "7", "", &token.replace("nonce", "once")] {
            assert_eq!(case.check(raw, "t", "{}", NOW_MS).unwrap_err(), Unvouched::Malformed, "{raw}");
        }
    }

    /// R12.4: if a person is demanded, a gateway's token does not suffice.
    #[test]
    fn a_token_at_the_gateway_is_no_person() {
        let gateway = Voucher::new(&[1; 32]);
        let case = Case::new(&[&gateway]);
        let check = |by| {
            let raw = case.vouch(&gateway, by);
            let (own, trusted, arguments) = (&case.own, &*case.trusted, &digest("{}"));
            Shown { own, trusted, tool: "t", arguments, person: true, now_ms: NOW_MS }.check(&raw).map(drop)
        };
        assert_eq!(check(ConfirmedBy::Person), Ok(()));
        assert_eq!(check(ConfirmedBy::Token), Err(Unvouched::NoPerson));
    }

    #[test]
    fn only_the_question_about_this_very_call_is_recognised() {
        let raw = r#"{"count":8}"#;
        for destructive in [true, false] {
            let message = question("launch", destructive, raw);
            assert!(is_question_about(&message, "launch", raw));
            assert!(!is_question_about(&message, "launch", r#"{"count":9}"#));
            assert!(!is_question_about(&message, "lunch", raw));
        }
        assert!(!is_question_about("Wipe everything?", "launch", raw));
    }
}
