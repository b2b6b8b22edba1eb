//! [`Session`] of a legacy client: the result of `initialize`, and the requests and questions in flight.
//!
//! Guarantees: a session belongs to the principal that opened it; a question of the server is answered once, by this
//! session; requests in flight are found for cancellation by their exact id.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::oneshot;
use toolcrib_protocol::{Capability, ClientCapabilities, ClientInfo, Level, Revision, RpcError};

use crate::exchange::Exchange;
use crate::hub::{Subscriber, Wanted};
use crate::limits::IN_FLIGHT_MAX;
use crate::principal::Principal;
use crate::seal::{NoRandomness, random_bytes};
use crate::toolset::profile::{Enabled, Step};
use crate::toolset::selection::Approach;

/// Session id: 128 random bits in hexadecimal. It names the session and is not a credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    pub fn random() -> Result<Self, NoRandomness> {
        let bytes = random_bytes::<16>()?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for SessionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Client's answer to a question: the result as raw JSON, or an error.
pub type Answered = Result<Box<str>, RpcError>;

/// Too many requests are in flight in this session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {IN_FLIGHT_MAX} requests are in flight")]
pub struct TooManyInFlight;

/// Session of one legacy client.
#[derive(Debug)]
pub struct Session {
    id: Option<SessionId>,
    principal: Principal,
    revision: Revision,
    capabilities: ClientCapabilities,
    client_info: Option<ClientInfo>,
    log_level: AtomicU8,
    /// `true` while the client can send answers to the server's questions.
    routable: AtomicBool,
    in_flight: Mutex<HashMap<Box<str>, Arc<Exchange>>>,
    questions: Mutex<HashMap<Box<str>, oneshot::Sender<Answered>>>,
    question_last: AtomicU64,
    news: Arc<Subscriber>,
    approach: OnceLock<Arc<Approach>>,
    opened_from: OnceLock<IpAddr>,
    /// Toolsets that this session enabled; `None` means those it started with.
    enabled: Mutex<Option<Arc<Enabled>>>,
    /// Fingerprint of the tool list that the client was last told about.
    seen: AtomicU64,
    told: AtomicBool,
    relisted: AtomicBool,
    hearing: AtomicBool,
}

impl Session {
    /// Creates a session from the result of `initialize`.
    #[must_use]
    pub fn new(
        id: Option<SessionId>,
        principal: Principal,
        revision: Revision,
        capabilities: ClientCapabilities,
        client_info: Option<ClientInfo>,
    ) -> Arc<Self> {
        Arc::new(Self::build(id, principal, revision, capabilities, client_info, true))
    }

    /// Creates a session for a legacy request outside any session: only the client's revision is known.
    #[must_use]
    pub fn ephemeral(principal: Principal, revision: Revision) -> Arc<Self> {
        Arc::new(Self::build(None, principal, revision, ClientCapabilities::default(), None, false))
    }

    fn build(
        id: Option<SessionId>,
        principal: Principal,
        revision: Revision,
        capabilities: ClientCapabilities,
        client_info: Option<ClientInfo>,
        routable: bool,
    ) -> Self {
        let all = Wanted { tools: true, prompts: true, resources: true, ..Wanted::default() };
        Self {
            id,
            principal,
            revision,
            capabilities,
            client_info,
            log_level: AtomicU8::new(Level::Info as u8),
            routable: AtomicBool::new(routable),
            in_flight: Mutex::default(),
            questions: Mutex::default(),
            question_last: AtomicU64::new(0),
            news: Subscriber::new(all),
            approach: OnceLock::new(),
            opened_from: OnceLock::new(),
            enabled: Mutex::default(),
            seen: AtomicU64::new(0),
            told: AtomicBool::new(false),
            relisted: AtomicBool::new(false),
            hearing: AtomicBool::new(false),
        }
    }

    #[must_use]
    pub fn id(&self) -> Option<&SessionId> {
        self.id.as_ref()
    }

    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    #[must_use]
    pub fn client_info(&self) -> Option<&ClientInfo> {
        self.client_info.as_ref()
    }

    #[must_use]
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    /// Returns true if the client declared the capability, its revision has it, and answers can be routed back.
    #[must_use]
    pub fn can(&self, capability: Capability) -> bool {
        let known = match capability {
            Capability::ElicitationForm => self.revision.has_elicitation(),
            Capability::ElicitationUrl => self.revision.has_rich_elicitation(),
            Capability::Sampling | Capability::Roots => true,
        };
        self.routable.load(Ordering::Acquire) && known && self.capabilities.has(capability)
    }

    pub fn set_log_level(&self, level: Level) {
        self.log_level.store(level as u8, Ordering::Relaxed);
    }

    #[must_use]
    pub fn logs(&self, level: Level) -> bool {
        level as u8 >= self.log_level.load(Ordering::Relaxed)
    }

    /// Returns the URL and headers with which the session was opened; they bound what it can reach.
    #[must_use]
    pub fn approach(&self) -> Arc<Approach> {
        self.approach.get().cloned().unwrap_or_default()
    }

    /// Sets the URL and headers with which the session is opened; only the first call counts.
    pub fn come_by(&self, approach: Arc<Approach>) {
        let _ = self.approach.set(approach);
    }

    /// Returns the network address of the request that opened the session, if its transport has addresses.
    #[must_use]
    pub fn opened_from(&self) -> Option<IpAddr> {
        self.opened_from.get().copied()
    }

    /// Sets the address from which the session is opened; only the first one counts.
    pub fn open_from(&self, address: Option<IpAddr>) {
        if let Some(address) = address {
            let _ = self.opened_from.set(address);
        }
    }

    /// Returns true if state changed now is still there at the next request.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        self.routable.load(Ordering::Acquire)
    }

    #[must_use]
    pub fn enabled(&self) -> Option<Arc<Enabled>> {
        lock(&self.enabled).clone()
    }

    /// Loads or unloads a toolset, atomically with reading what is loaded; the first change begins with `start`.
    pub(crate) fn change_enabled(&self, start: Enabled, step: &Step) {
        let mut held = lock(&self.enabled);
        let mut enabled = held.as_deref().cloned().unwrap_or(start);
        step.apply(&mut enabled);
        *held = Some(Arc::new(enabled));
    }

    /// Records that a stream sends this session's notifications to the client.
    pub(crate) fn hears(&self) {
        self.hearing.store(true, Ordering::Release);
    }

    #[must_use]
    pub(crate) fn is_hearing(&self) -> bool {
        self.hearing.load(Ordering::Acquire)
    }

    /// Records the fingerprint of the list that the client knows; returns true if it differs from the last one.
    pub(crate) fn sees(&self, fingerprint: u64) -> bool {
        self.seen.swap(fingerprint, Ordering::AcqRel) != fingerprint
    }

    /// Records that the client was told that its list changed.
    pub(crate) fn tell_changed(&self) {
        self.told.store(true, Ordering::Release);
    }

    /// Records that the client listed its tools: after a `list_changed`, this is evidence that it re-lists.
    pub(crate) fn lists(&self) {
        if self.told.load(Ordering::Acquire) {
            self.relisted.store(true, Ordering::Release);
        }
    }

    #[must_use]
    pub(crate) fn has_relisted(&self) -> bool {
        self.relisted.load(Ordering::Acquire)
    }

    /// Returns the subscriber for unsolicited notifications: list changes and followed resources.
    #[must_use]
    pub fn news(&self) -> &Arc<Subscriber> {
        &self.news
    }

    /// Registers a request for cancellation until the returned guard is dropped.
    pub fn enter(self: &Arc<Self>, id: &str, exchange: &Arc<Exchange>) -> Result<InFlight, TooManyInFlight> {
        let mut in_flight = lock(&self.in_flight);
        if in_flight.len() >= IN_FLIGHT_MAX {
            return Err(TooManyInFlight);
        }
        in_flight.insert(id.into(), exchange.clone());
        Ok(InFlight { session: self.clone(), id: id.into() })
    }

    /// Cancels the request with exactly this id; returns false if there is none.
    pub fn cancel(&self, id: &str) -> bool {
        let found = lock(&self.in_flight).get(id).cloned();
        found.inspect(|exchange| exchange.cancel()).is_some()
    }

    /// Ends the session: cancels all requests in flight, ends its notifications and drops open questions.
    pub fn end(&self) {
        let all: Vec<_> = lock(&self.in_flight).values().cloned().collect();
        for exchange in all {
            exchange.cancel();
        }
        self.news.end();
        self.hang_up();
    }

    /// Marks the client as unable to answer; every waiting question fails.
    pub fn hang_up(&self) {
        self.routable.store(false, Ordering::Release);
        lock(&self.questions).clear();
    }

    /// Opens a question; the answer arrives on the receiver.
    pub(crate) fn open_question(self: &Arc<Self>) -> (OpenQuestion, oneshot::Receiver<Answered>) {
        let id: Box<str> = (self.question_last.fetch_add(1, Ordering::Relaxed) + 1).to_string().into();
        let (sender, receiver) = oneshot::channel();
        lock(&self.questions).insert(id.clone(), sender);
        // Closes the race with `hang_up`, which may have run before the insert.
        if !self.routable.load(Ordering::Acquire) {
            lock(&self.questions).remove(&id);
        }
        (OpenQuestion { session: self.clone(), id }, receiver)
    }

    /// Passes a client's response to the waiting question; returns false if there is none.
    pub fn answer(&self, id: &str, answered: Answered) -> bool {
        let asker = lock(&self.questions).remove(id);
        asker.is_some_and(|asker| asker.send(answered).is_ok())
    }
}

/// Registration of a request in flight; dropping it removes the request.
#[derive(Debug)]
pub struct InFlight {
    session: Arc<Session>,
    id: Box<str>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        lock(&self.session.in_flight).remove(&self.id);
    }
}

/// Open question; dropping it removes the question.
#[derive(Debug)]
pub(crate) struct OpenQuestion {
    session: Arc<Session>,
    pub(crate) id: Box<str>,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        lock(&self.session.questions).remove(&self.id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Arc<Session> {
        Session::new(None, Principal::Anonymous, Revision::V2025_11_25, ClientCapabilities::default(), None)
    }

    #[test]
    fn session_ids_are_visible_ascii_and_never_repeat() {
        let ids: std::collections::HashSet<_> = (0..1000).map(|_| SessionId::random().unwrap()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(
            ids.iter()
                .all(|id| id.as_str().len() == 32 && id.as_str().bytes().all(|b| b.is_ascii_hexdigit()))
        );
    }

    #[tokio::test]
    async fn a_question_is_answered_once() {
        let session = session();
        let (question, receiver) = session.open_question();
        assert!(session.answer(&question.id, Ok("{}".into())));
        assert!(!session.answer(&question.id, Ok("{}".into())));
        assert_eq!(receiver.await.unwrap().unwrap().as_ref(), "{}");
    }

    #[tokio::test]
    async fn a_client_that_hung_up_keeps_nobody_waiting() {
        let session = session();
        let (_before, early) = session.open_question();
        session.hang_up();
        let (_after, late) = session.open_question();
        assert!(early.await.is_err() && late.await.is_err());
    }

    #[test]
    fn a_session_has_no_more_than_in_flight_max_requests() {
        let (session, exchange) = (session(), Exchange::silent());
        let mut held: Vec<_> =
            (0..IN_FLIGHT_MAX).map(|number| session.enter(&number.to_string(), &exchange).unwrap()).collect();
        assert_eq!(session.enter("more", &exchange).unwrap_err(), TooManyInFlight);
        held.pop();
        assert!(session.enter("more", &exchange).is_ok());
    }

    #[test]
    fn a_request_can_be_cancelled_only_while_it_is_in_flight() {
        let session = session();
        let exchange = Exchange::silent();
        let guard = session.enter("\"7\"", &exchange).unwrap();
        assert!(!session.cancel("7"));
        assert!(session.cancel("\"7\""));
        assert!(exchange.is_cancelled());
        drop(guard);
        assert!(!session.cancel("\"7\""));
    }
}
