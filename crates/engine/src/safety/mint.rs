//! Minting of confirmation tokens: by `get_confirmation_token` (R4.1) or by REST (R4.6).

use std::sync::Arc;

use toolcrib_contract::json::Node;
use toolcrib_contract::{Digest, Violations};

use super::audit::{Event, Kind};
use super::keep::Unkept;
use super::policy::Demand;
use super::rate::TooOften;
use super::ticket::{self, Issuer, Secret, Token};
use super::{Safety, Who};
use crate::entry::Entry;
use crate::limits::SUMMARY_CHARS_MAX;
use crate::long_work::LongWorkError;
use crate::seal::NoRandomness;
use crate::stage::check::check_input;

/// Request for a token.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    pub who: &'a Who,
    pub entry: &'a Arc<Entry>,
    pub summary: &'a str,
    pub arguments: Option<Node<'a>>,
    pub issuer: Issuer,
}

/// Token that was issued.
#[derive(Debug)]
pub struct Minted {
    pub id: String,
    pub secret: Secret,
    pub expires_in_ms: u64,
}

/// Reason why a token was not issued.
#[derive(Debug, thiserror::Error)]
pub enum MintError {
    #[error("{0} is not a destructive tool: call it directly, it needs no token")]
    NotDestructive(String),
    #[error(
        "{0} has to be confirmed by a person: call it, and a person will be asked or the call will wait for one"
    )]
    NeedsPerson(String),
    #[error("params_summary is missing: say in a sentence what the call will do and to what")]
    NoSummary,
    #[error("params_summary is over {SUMMARY_CHARS_MAX} characters: make it shorter")]
    LongSummary,
    #[error("arguments are needed here: give exactly those that the call will have")]
    NoArguments,
    #[error("the arguments break the tool's contract; correct them first:\n{}", .0.list())]
    BadArguments(Violations),
    #[error("the arguments could not be checked: {0}")]
    Unchecked(#[from] LongWorkError),
    #[error(transparent)]
    TooOften(#[from] TooOften),
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    #[error("no token can be given now: {0}")]
    Unkept(#[from] Unkept),
}

impl Safety {
    /// Issues a token for one call. Nothing is stored unless it succeeds.
    pub async fn mint(&self, wish: Wish<'_>) -> Result<Minted, MintError> {
        let Wish { who, entry, summary, arguments, issuer } = wish;
        let judged = entry.judged();
        if !judged.takes_token() {
            return Err(MintError::NotDestructive(entry.name().to_owned()));
        }
        if judged.demand == Demand::Human && issuer == Issuer::Caller {
            return Err(MintError::NeedsPerson(entry.name().to_owned()));
        }
        if summary.trim().is_empty() {
            return Err(MintError::NoSummary);
        }
        if summary.chars().count() > SUMMARY_CHARS_MAX {
            return Err(MintError::LongSummary);
        }
        let bound = match arguments {
            None if self.policy().require_arguments => return Err(MintError::NoArguments),
            None => None,
            Some(arguments) => {
                check_input(entry, arguments).await?.map_err(MintError::BadArguments)?;
                Some(Digest::of_verbatim(arguments))
            }
        };
        let now_ms = self.now_ms();
        self.minting.take(&who.user, &self.policy().token_allowance(), now_ms)?;
        let secret = Secret::random()?;
        let token = Token {
            id: ticket::name("tok_")?,
            hash: self.key().hash(secret.as_str()),
            caller: who.caller.clone(),
            session: who.session.clone(),
            tool: entry.name().to_owned(),
            contract: entry.contract().digest(),
            arguments: bound,
            policy: self.fingerprint(),
            summary: summary.to_owned(),
            issuer,
            created_ms: now_ms,
            expires_ms: now_ms.saturating_add(self.policy().token_ms),
        };
        let id = token.id.clone();
        let event = Event {
            tool: Some(token.tool.clone()),
            contract: Some(token.contract.to_string()),
            arguments: bound.map(|digest| digest.to_string()),
            ticket: Some(id.clone()),
            by: match issuer {
                Issuer::Operator => Some("operator".to_owned()),
                Issuer::Caller => self.person().map(str::to_owned),
            },
            ..self.event(Kind::Token, who)
        };
        self.store().put_token(token, event).await?;
        Ok(Minted { id, secret, expires_in_ms: self.policy().token_ms })
    }
}
