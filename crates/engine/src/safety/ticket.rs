//! Tickets, which let one call pass once: a token, a person's approval, an answered question.
//!
//! Guarantees: a token has 256 random bits and is stored only as a keyed hash of its text, so that neither a stolen
//! database nor another spelling of the token passes; the binding of a ticket is compared here, for every store.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use sha2::Sha256;
use toolcrib_contract::Digest;

use super::vouch::ConfirmedBy;
use crate::seal::{NoRandomness, random_bytes};

/// Prefix of every token.
pub const TOKEN_PREFIX: &str = "ctk_";
/// Prefix of every approval's handle.
pub const APPROVAL_PREFIX: &str = "apr_";
/// Argument that carries a token or handle.
pub const ARGUMENT: &str = "confirmation_token";

/// Text of a token, known only to the caller that requested it.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    pub fn random() -> Result<Self, NoRandomness> {
        Ok(Self(format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(random_bytes::<32>()?))))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Keyed hash of a secret's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyed(pub [u8; 32]);

/// Key for hashing secrets; not stored in the database.
#[derive(Clone)]
pub struct SecretKey([u8; 32]);

impl SecretKey {
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub fn hash(&self, text: &str) -> Keyed {
        // HMAC accepts keys of any length, so this cannot fail.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return Keyed([0; 32]) };
        mac.update(text.as_bytes());
        Keyed(mac.finalize().into_bytes().into())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

/// Returns a short name that is not secret, such as `tok_1f…`.
pub(crate) fn name(prefix: &str) -> Result<String, NoRandomness> {
    let hex: String = random_bytes::<8>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{prefix}{hex}"))
}

/// Returns an unguessable handle.
pub(crate) fn handle(prefix: &str) -> Result<String, NoRandomness> {
    let hex: String = random_bytes::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{prefix}{hex}"))
}

/// Identity of a call: caller, tool, contract, arguments and policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub caller: String,
    /// Legacy session; a ticket of one session is refused in another.
    pub session: Option<String>,
    pub tool: String,
    pub contract: Digest,
    pub arguments: Digest,
    pub policy: Digest,
}

/// Requester of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Issuer {
    /// The caller itself: does not prove a person.
    Caller,
    /// An operator's credential.
    Operator,
}

/// Stored token.
#[derive(Debug, Clone)]
pub struct Token {
    pub id: String,
    pub hash: Keyed,
    pub caller: String,
    pub session: Option<String>,
    pub tool: String,
    pub contract: Digest,
    /// `None` allows any arguments.
    pub arguments: Option<Digest>,
    pub policy: Digest,
    pub summary: String,
    pub issuer: Issuer,
    pub created_ms: u64,
    pub expires_ms: u64,
}

/// State of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    Pending,
    Allowed,
    Denied,
    Used,
}

/// Call that waits, or waited, for a person.
#[derive(Debug, Clone)]
pub struct Approval {
    pub id: String,
    pub binding: Binding,
    /// Self-reported name of the client.
    pub client: Option<String>,
    /// Complete arguments, as they were sent.
    pub arguments: String,
    pub created_ms: u64,
    pub expires_ms: u64,
    pub state: ApprovalState,
    pub decided_by: Option<String>,
}

/// Reason why a call may pass the gate.
#[derive(Debug, Clone)]
pub enum Clearance {
    /// No confirmation is needed.
    Free,
    /// The person at the client was asked during this call and agreed.
    Asked,
    Token {
        hash: Keyed,
        /// `true` if only an operator's token suffices.
        person: bool,
    },
    Approval {
        id: String,
    },
    /// Answer that this server sealed; its nonce passes once.
    Sealed {
        nonce: String,
        expires_ms: u64,
    },
    /// Confirmation by a gateway that the operator trusts; its nonce passes once.
    Vouched {
        nonce: String,
        expires_ms: u64,
        by: ConfirmedBy,
    },
}

/// Reason why a ticket lets no call pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Spent {
    #[error("it is not known here")]
    Unknown,
    #[error("it has expired")]
    Expired,
    #[error("it was used already")]
    Used,
    #[error("it was revoked")]
    Revoked,
    #[error("it was given for another tool")]
    OtherTool,
    #[error("the tool's contract has changed since it was given")]
    ContractChanged,
    #[error("the policy has changed since it was given")]
    PolicyChanged,
    #[error("it was given for other arguments")]
    OtherArguments,
    #[error("a person has to confirm this, and the token was not issued by one")]
    NoPerson,
    #[error("nobody has decided yet")]
    Pending,
    #[error("a person denied it")]
    Denied,
}

impl Spent {
    /// Returns one word for the audit.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Expired => "expired",
            Self::Used => "used",
            Self::Revoked => "revoked",
            Self::OtherTool => "other-tool",
            Self::ContractChanged => "contract-changed",
            Self::PolicyChanged => "policy-changed",
            Self::OtherArguments => "other-arguments",
            Self::NoPerson => "no-person",
            Self::Pending => "pending",
            Self::Denied => "denied",
        }
    }
}

impl Token {
    /// Checks that the token is bound to this call and not expired. The store checks that it is neither used nor
    /// revoked.
    pub fn admits(&self, call: &Binding, person: bool, now_ms: u64) -> Result<(), Spent> {
        // Another caller must not even learn that the token exists.
        if self.caller != call.caller
            || self.session.as_ref().is_some_and(|own| Some(own) != call.session.as_ref())
        {
            return Err(Spent::Unknown);
        }
        if now_ms >= self.expires_ms {
            return Err(Spent::Expired);
        }
        same(&self.tool, &self.contract, &self.policy, call)?;
        if self.arguments.is_some_and(|arguments| arguments != call.arguments) {
            return Err(Spent::OtherArguments);
        }
        if person && self.issuer != Issuer::Operator {
            return Err(Spent::NoPerson);
        }
        Ok(())
    }
}

impl Approval {
    /// Checks that the approval is for this call, is allowed, and is neither used nor expired.
    pub fn admits(&self, call: &Binding, now_ms: u64) -> Result<(), Spent> {
        if self.binding.caller != call.caller || self.binding.session != call.session {
            return Err(Spent::Unknown);
        }
        same(&self.binding.tool, &self.binding.contract, &self.binding.policy, call)?;
        if self.binding.arguments != call.arguments {
            return Err(Spent::OtherArguments);
        }
        match self.state {
            ApprovalState::Used => Err(Spent::Used),
            ApprovalState::Denied => Err(Spent::Denied),
            _ if now_ms >= self.expires_ms => Err(Spent::Expired),
            ApprovalState::Pending => Err(Spent::Pending),
            ApprovalState::Allowed => Ok(()),
        }
    }
}

fn same(tool: &str, contract: &Digest, policy: &Digest, call: &Binding) -> Result<(), Spent> {
    if tool != call.tool {
        return Err(Spent::OtherTool);
    }
    if *contract != call.contract {
        return Err(Spent::ContractChanged);
    }
    if *policy != call.policy {
        return Err(Spent::PolicyChanged);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::of_bytes(text.as_bytes())
    }

    fn call() -> Binding {
        Binding {
            caller: "subject:a".into(),
            session: None,
            tool: "t".into(),
            contract: digest("contract"),
            arguments: digest("{}"),
            policy: digest("policy"),
        }
    }

    fn token() -> Token {
        let call = call();
        Token {
            id: "tok_1".into(),
            hash: Keyed([0; 32]),
            caller: call.caller,
            session: None,
            tool: call.tool,
            contract: call.contract,
            arguments: Some(call.arguments),
            policy: call.policy,
            summary: String::new(),
            issuer: Issuer::Caller,
            created_ms: 0,
            expires_ms: 60_000,
        }
    }

    /// R4.3: a token is bound to caller, session, tool, contract, arguments and policy, and expires to the
    /// millisecond.
    #[test]
    fn a_token_admits_exactly_the_call_it_was_given_for() {
        assert_eq!(token().admits(&call(), false, 59_999), Ok(()));
        assert_eq!(token().admits(&call(), false, 60_000), Err(Spent::Expired));
        assert_eq!(token().admits(&call(), true, 0), Err(Spent::NoPerson));
        let in_session = Token { session: Some("s".into()), ..token() };
        let changes: [(Binding, &Token, Spent); 6] = [
            (Binding { caller: "subject:b".into(), ..call() }, &token(), Spent::Unknown),
            (Binding { session: Some("r".into()), ..call() }, &in_session, Spent::Unknown),
            (Binding { tool: "u".into(), ..call() }, &token(), Spent::OtherTool),
            (Binding { contract: digest("x"), ..call() }, &token(), Spent::ContractChanged),
            (Binding { arguments: digest("x"), ..call() }, &token(), Spent::OtherArguments),
            (Binding { policy: digest("x"), ..call() }, &token(), Spent::PolicyChanged),
        ];
        for (other, token, why) in changes {
            assert_eq!(token.admits(&other, false, 0), Err(why));
        }
        let any = Token { arguments: None, ..token() };
        assert_eq!(any.admits(&Binding { arguments: digest("x"), ..call() }, false, 0), Ok(()));
    }

    /// R4.3: only the exact text of a token has its hash.
    #[test]
    fn no_other_spelling_of_a_token_has_its_hash() {
        let key = SecretKey::new([7; 32]);
        let secret = Secret::random().unwrap();
        let text = secret.as_str();
        assert!(text.starts_with(TOKEN_PREFIX) && text.len() >= TOKEN_PREFIX.len() + 22);
        for at in 0..text.len() * 8 {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at / 8] ^= 1 << (at % 8);
            assert_ne!(key.hash(&String::from_utf8_lossy(&bytes)), key.hash(text), "bit {at}");
        }
        assert_ne!(SecretKey::new([8; 32]).hash(text), key.hash(text));
        assert!(!format!("{secret:?}").contains(text));
    }
}
