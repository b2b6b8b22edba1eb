//! [`Context`]: what a handler can use besides its arguments: progress, cancellation, logging, caller, client info,
//! questions to the user (R2.7).

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib_contract::Digest;
use toolcrib_contract::json::{Document, Limits, Node, ObjectWriter};
use toolcrib_protocol::convert::elicitation;
use toolcrib_protocol::{Capability, ClientInfo, Level, Revision, write};

use crate::ask::{AskError, Elicited, InputRequired, Question, Reply};
use crate::exchange::Exchange;
use crate::limits::{ASK_MS_MAX, QUESTIONS_MAX};
use crate::outbox::Outgoing;
use crate::peer::Peer;
use crate::principal::Principal;
use crate::round::Round;
use crate::safety::vouch::{ConfirmedBy, Voucher};
use crate::session::Session;

/// Context of one request; clones share it.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    principal: Principal,
    peer: Peer,
    exchange: Arc<Exchange>,
    /// Progress token as raw JSON, if the client wants progress.
    progress_token: Option<Box<str>>,
    progress_last: AtomicU64,
    round: Round,
    kept: Mutex<Option<Box<str>>>,
    confirmation: Option<Confirmation>,
    /// Token or handle from the arguments that this server's gate did not need.
    unused_token: Option<Box<str>>,
}

/// Confirmation that this call passed the gate with.
#[derive(Debug, Clone)]
pub(crate) struct Confirmation {
    pub(crate) by: ConfirmedBy,
    /// Signs statements about the confirmation for a server behind this one.
    pub(crate) voucher: Option<Voucher>,
    pub(crate) now_ms: u64,
}

impl Context {
    #[must_use]
    pub fn new(
        principal: Principal,
        peer: Peer,
        exchange: Arc<Exchange>,
        progress_token: Option<&str>,
        round: Round,
    ) -> Self {
        Self(Arc::new(Inner {
            principal,
            peer,
            exchange,
            progress_token: progress_token.map(Into::into),
            progress_last: AtomicU64::new(f64::NEG_INFINITY.to_bits()),
            round,
            kept: Mutex::default(),
            confirmation: None,
            unused_token: None,
        }))
    }

    /// Adds the call's confirmation; has no effect once the context was cloned.
    pub(crate) fn confirmed(mut self, confirmation: Confirmation) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.confirmation = Some(confirmation);
        }
        self
    }

    /// Adds a token or handle that this server's gate did not need; has no effect once the context was cloned.
    pub(crate) fn with_unused_token(mut self, token: &str) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.unused_token = Some(token.into());
        }
        self
    }

    /// Returns a token or handle from the arguments that this server's gate did not need. It may belong to the gate
    /// of a server behind this one.
    #[must_use]
    pub fn unused_token(&self) -> Option<&str> {
        self.0.unused_token.as_deref()
    }

    /// Returns the kind of confirmation that this call has, if it needed one.
    #[must_use]
    pub fn confirmed_by(&self) -> Option<ConfirmedBy> {
        self.0.confirmation.as_ref().map(|confirmation| confirmation.by)
    }

    /// Returns a statement, as raw JSON, that tells the server with key `audience` that this call was confirmed with
    /// these arguments. `tool` is that server's own name of the tool. `None` if nobody confirmed the call.
    #[must_use]
    pub fn vouch(&self, audience: &str, tool: &str, arguments: Node<'_>) -> Option<String> {
        let Confirmation { by, voucher, now_ms } = self.0.confirmation.as_ref()?;
        let arguments = Digest::of_verbatim(arguments);
        voucher.as_ref()?.vouch(audience, tool, &arguments, *by, *now_ms).ok()
    }

    /// Returns the caller's principal: its identity as proven by a credential.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.0.principal
    }

    /// Returns the client's self-reported name and version; never a reason to allow anything.
    #[must_use]
    pub fn client_info(&self) -> Option<&ClientInfo> {
        self.0.peer.client_info()
    }

    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.peer.revision()
    }

    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.0.peer
    }

    /// Returns true if the client can be asked this kind of question.
    #[must_use]
    pub fn can(&self, capability: Capability) -> bool {
        self.0.peer.can(capability)
    }

    /// Sends progress. Values that do not grow are dropped, as the specification demands.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = &self.0.progress_token else { return };
        let last = self.0.progress_last.swap(progress.to_bits(), Ordering::Relaxed);
        if progress <= f64::from_bits(last) || !progress.is_finite() {
            self.0.progress_last.store(last, Ordering::Relaxed);
            return;
        }
        let mut params = ObjectWriter::new();
        params.raw("progressToken", token).raw("progress", &number(progress));
        if let Some(total) = total.filter(|total| total.is_finite()) {
            params.raw("total", &number(total));
        }
        if let Some(message) = message {
            params.string("message", message);
        }
        self.notify("notifications/progress", &params.finish());
    }

    /// Sends a log message to the client, if the client wants this level.
    pub fn log(&self, level: Level, logger: Option<&str>, data: &Value) {
        if !self.0.peer.logs(level) {
            return;
        }
        let mut params = ObjectWriter::new();
        params.string("level", level.as_str());
        if let Some(logger) = logger {
            params.string("logger", logger);
        }
        params.raw("data", &data.to_string());
        self.notify("notifications/message", &params.finish());
    }

    /// Sends a notification that belongs to this call; `params` is raw JSON.
    pub(crate) fn notify(&self, method: &str, params: &str) {
        // A client that does not read or is gone loses notifications, not the call.
        let _ = self.0.exchange.send(write::notification(method, Some(params)));
    }

    /// Returns when the call is cancelled, or when its modern client disconnects. The handler's own future is dropped
    /// then; this is for work that the handler spawned elsewhere.
    pub async fn cancelled(&self) {
        self.0.exchange.cancelled().await;
    }

    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.exchange.is_cancelled()
    }

    /// Ends the stream of a legacy call without ending the call; the client reconnects after `retry_ms`.
    pub fn close_stream(&self, retry_ms: u64) {
        if self.0.peer.session().is_some() {
            let _ = self.0.exchange.push(Outgoing::CloseStream { retry_ms });
        }
    }

    /// Saves `state` for the next round, if this round ends in a question. A modern client carries it in sealed
    /// `requestState`.
    pub fn keep(&self, state: &impl Serialize) -> Result<(), serde_json::Error> {
        let raw = serde_json::to_string(state)?;
        *self.0.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(raw.into());
        Ok(())
    }

    /// Returns the state that this or an earlier round saved with [`Context::keep`].
    #[must_use]
    pub fn kept<T: DeserializeOwned>(&self) -> Option<T> {
        let own = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let raw = own.as_deref().or(self.0.round.kept())?;
        serde_json::from_str(raw).ok()
    }

    pub(crate) fn kept_raw(&self) -> Option<Box<str>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the progress token as raw JSON, if the client wants progress.
    #[must_use]
    pub fn progress_token(&self) -> Option<&str> {
        self.0.progress_token.as_deref()
    }

    #[must_use]
    pub fn round(&self) -> &Round {
        &self.0.round
    }

    /// Asks the user to fill in a form. `key` identifies the question among those of this call.
    pub async fn elicit(&self, key: &str, message: &str, schema: &Value) -> Result<Elicited, AskError> {
        Ok(self.ask(key, Question::elicit(message, schema)).await?.elicited())
    }

    /// Asks one question. `key` identifies it among those of this call.
    pub async fn ask(&self, key: &str, question: Question) -> Result<Reply, AskError> {
        let mut replies = self.ask_all(vec![(key.to_owned(), question)]).await?;
        replies.pop().ok_or(AskError::Malformed)
    }

    /// Asks several questions at once; returns the answers in the order of the questions.
    pub async fn ask_all(&self, questions: Vec<(String, Question)>) -> Result<Vec<Reply>, AskError> {
        if questions.len() > QUESTIONS_MAX {
            return Err(AskError::TooMany);
        }
        for (_, question) in &questions {
            if !self.can(question.capability) {
                return Err(AskError::NotDeclared(question.capability));
            }
        }
        match &self.0.peer {
            Peer::Modern(_) => self.answers_or_require(questions),
            // Boxed: few calls ask, and the future must not enlarge all of them.
            Peer::Legacy(session) => Box::pin(self.ask_each(session, &questions)).await,
        }
    }

    /// Asks a legacy client, one question after the other.
    async fn ask_each(
        &self,
        session: &Arc<Session>,
        questions: &[(String, Question)],
    ) -> Result<Vec<Reply>, AskError> {
        let mut replies = Vec::with_capacity(questions.len());
        for (_, question) in questions {
            replies.push(self.ask_session(session, question).await?);
        }
        Ok(replies)
    }

    /// Takes a modern client's answers from the round; if any is missing or malformed, returns the questions still to
    /// ask.
    fn answers_or_require(&self, questions: Vec<(String, Question)>) -> Result<Vec<Reply>, AskError> {
        let mut replies = Vec::with_capacity(questions.len());
        let mut missing = Vec::new();
        for (key, question) in questions {
            let answer = self.0.round.answer(&key).filter(|raw| {
                Document::parse(raw.as_bytes(), &Limits::message())
                    .is_ok_and(|document| question.fits(document.root()))
            });
            match answer {
                Some(raw) => replies.push(Reply(raw.into())),
                None => missing.push((key.into_boxed_str(), question)),
            }
        }
        if missing.is_empty() {
            return Ok(replies);
        }
        Err(AskError::InputRequired(Box::new(InputRequired { questions: missing })))
    }

    /// Asks a legacy client by a request on the call's own stream, and waits for the answer.
    async fn ask_session(&self, session: &Arc<Session>, question: &Question) -> Result<Reply, AskError> {
        let exchange = &self.0.exchange;
        let params = match question.capability {
            Capability::ElicitationForm | Capability::ElicitationUrl => {
                let document = Document::parse(question.params.as_bytes(), &Limits::message())
                    .map_err(|_| AskError::Malformed)?;
                elicitation::params(document.root(), session.revision())
                    .ok_or(AskError::NotDeclared(question.capability))?
                    .into_owned()
            }
            Capability::Sampling | Capability::Roots => question.params.to_string(),
        };
        let (open, receiver) = session.open_question();
        exchange
            .send(write::request(&open.id, question.method, Some(&params)))
            .map_err(|_| AskError::Unreachable)?;
        let answered = tokio::select! {
            biased;
            answered = receiver => answered.map_err(|_| AskError::Cancelled)?,
            () = exchange.cancelled() => return Err(AskError::Cancelled),
            () = tokio::time::sleep(Duration::from_millis(ASK_MS_MAX)) => return Err(AskError::TooLate),
        };
        let raw = answered.map_err(AskError::Refused)?;
        let document =
            Document::parse(raw.as_bytes(), &Limits::message()).map_err(|_| AskError::Malformed)?;
        if !question.fits(document.root()) {
            return Err(AskError::Malformed);
        }
        drop(document);
        Ok(Reply(raw))
    }
}

/// Formats a number as JSON, without a fraction if it is integral.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        format!("{}", value as i64)
    } else {
        value.to_string()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("principal", &self.0.principal)
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_protocol::Revision;

    use super::*;

    /// `ASK_MS_MAX`: a handler waits this long and no longer for a client that never answers.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_answer_within_ask_ms_max_is_given_up() {
        let declared = Document::parse(br#"{"elicitation":{}}"#, &Limits::message()).unwrap();
        let capabilities = toolcrib_protocol::ClientCapabilities::read(declared.root());
        let session = Session::new(None, Principal::Local, Revision::V2025_11_25, capabilities, None);
        let exchange = Exchange::alone(true);
        let context = Context::new(Principal::Local, Peer::Legacy(session), exchange, None, Round::default());
        let begun = tokio::time::Instant::now();
        let asked = context.elicit("name", "Your name?", &serde_json::json!({"type": "object"})).await;
        assert!(matches!(asked, Err(AskError::TooLate)), "{asked:?}");
        assert_eq!(begun.elapsed(), Duration::from_millis(ASK_MS_MAX));
    }
}
