//! Legacy sessions of an HTTP server.
//!
//! Guarantees: a session is found only by the principal that opened it. Sessions are bounded in total and per owner (a
//! subject, or an address without authentication), and one owner's sessions never evict another's that is in use. Idle
//! sessions expire.

mod shelf;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use toolcrib_engine::{Principal, Session, Share};

use self::shelf::Shelf;
use crate::limits::SESSION_STREAMS_MAX;
use crate::load::{Account, LoadLimits};
use crate::shed::Shed;
use crate::sse_channel::SseChannel;
use crate::stream_log::StreamLog;

/// A session and its streams.
#[derive(Debug)]
pub(crate) struct HttpSession {
    pub(crate) session: Arc<Session>,
    logs: Mutex<BTreeMap<u64, Arc<StreamLog>>>,
    log_last: AtomicU64,
    /// Stream of unsolicited messages, which has number 0.
    news: Mutex<Option<Arc<StreamLog>>>,
    opened_ms: u64,
    /// Unix time at which the session was opened, in milliseconds.
    since_ms: u64,
    /// Time of the last use in milliseconds; 0 until the first.
    used_ms: AtomicU64,
    /// Quotas that the bytes of its streams count towards.
    account: Option<Account>,
    /// Stream of a session over HTTP+SSE.
    channel: Option<Arc<SseChannel>>,
}

impl HttpSession {
    fn new(session: Arc<Session>, account: Option<Account>, now_ms: u64) -> Self {
        Self {
            session,
            logs: Mutex::default(),
            log_last: AtomicU64::new(0),
            news: Mutex::default(),
            opened_ms: now_ms,
            since_ms: unix_ms(),
            used_ms: AtomicU64::new(0),
            account,
            channel: None,
        }
    }

    /// Returns the stream of a session over HTTP+SSE.
    pub(crate) fn channel(&self) -> Option<&Arc<SseChannel>> {
        self.channel.as_ref()
    }

    /// Returns the session that `initialize` negotiated. Over HTTP+SSE the stream is opened before `initialize`; until
    /// then it is the session with which the stream was opened.
    pub(crate) fn agreed(&self) -> &Arc<Session> {
        self.channel.as_ref().and_then(|channel| channel.agreed()).unwrap_or(&self.session)
    }

    /// Returns the time of the last use in milliseconds; `None` if the session was only opened.
    fn used_ms(&self) -> Option<u64> {
        Some(self.used_ms.load(Ordering::Relaxed)).filter(|ms| *ms > 0)
    }

    fn use_at(&self, now_ms: u64) {
        self.used_ms.store(now_ms.max(1), Ordering::Relaxed);
    }

    /// Opens a stream for one call; evicts the oldest finished streams if there are too many.
    pub(crate) fn open_log(&self) -> Arc<StreamLog> {
        let number = self.log_last.fetch_add(1, Ordering::Relaxed) + 1;
        let log = StreamLog::new(number, self.account.as_ref());
        let mut logs = lock(&self.logs);
        while logs.len() >= SESSION_STREAMS_MAX {
            let oldest = logs.iter().find(|(_, log)| log.is_finished()).or(logs.iter().next());
            let Some(number) = oldest.map(|(number, _)| *number) else { break };
            logs.remove(&number);
        }
        // Finished streams are kept so that clients can resume them; older ones are evicted for newer ones.
        while self.account.as_ref().is_some_and(Account::keeps_much) {
            let finished = logs.iter().find(|(_, log)| log.is_finished()).map(|(number, _)| *number);
            let Some(number) = finished else { break };
            logs.remove(&number);
        }
        logs.insert(number, log.clone());
        log
    }

    pub(crate) fn log(&self, number: u64) -> Option<Arc<StreamLog>> {
        if number == 0 { lock(&self.news).clone() } else { lock(&self.logs).get(&number).cloned() }
    }

    /// Returns the stream of unsolicited messages, and `true` if it is new and needs a task that fills it.
    pub(crate) fn news_log(&self) -> (Arc<StreamLog>, bool) {
        let mut news = lock(&self.news);
        match &*news {
            Some(log) => (log.clone(), false),
            None => {
                let log = StreamLog::new(0, self.account.as_ref());
                *news = Some(log.clone());
                (log, true)
            }
        }
    }

    fn end(&self) {
        self.session.end();
        if let Some(channel) = &self.channel {
            channel.end();
        }
        for log in lock(&self.logs).values().chain(lock(&self.news).as_ref()) {
            log.finish();
        }
    }
}

/// All legacy sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    shelf: Mutex<Shelf>,
    limits: LoadLimits,
    started: Instant,
}

impl Default for Sessions {
    fn default() -> Self {
        Self::new(LoadLimits::default())
    }
}

impl Sessions {
    pub(crate) fn new(limits: LoadLimits) -> Self {
        Self { shelf: Mutex::default(), limits, started: Instant::now() }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Stores a session; one without an id cannot be found and is not stored.
    pub(crate) fn open(
        &self,
        session: Arc<Session>,
        account: Option<Account>,
    ) -> Result<Arc<HttpSession>, Shed> {
        self.open_at(session, account, self.now_ms())
    }

    fn open_at(
        &self,
        session: Arc<Session>,
        account: Option<Account>,
        now_ms: u64,
    ) -> Result<Arc<HttpSession>, Shed> {
        self.keep(HttpSession::new(session, account, now_ms), now_ms)
    }

    /// Stores a session over HTTP+SSE.
    pub(crate) fn open_sse(
        &self,
        session: Arc<Session>,
        account: Account,
        channel: Arc<SseChannel>,
    ) -> Result<Arc<HttpSession>, Shed> {
        let now_ms = self.now_ms();
        let opened = HttpSession::new(session, Some(account), now_ms);
        self.keep(HttpSession { channel: Some(channel), ..opened }, now_ms)
    }

    fn keep(&self, opened: HttpSession, now_ms: u64) -> Result<Arc<HttpSession>, Shed> {
        let session = &opened.session;
        let owner = Share::of(session.principal(), None, session.opened_from());
        let id = session.id().cloned();
        let opened = Arc::new(opened);
        if let Some(id) = id {
            let ended = lock(&self.shelf).open(id, opened.clone(), &owner, &self.limits, now_ms)?;
            if let Some(session) = ended {
                tracing::debug!(target: "toolcrib", "a session of {owner} ended to make room for another");
                session.end();
            }
        }
        Ok(opened)
    }

    /// Returns the session with this id over Streamable HTTP, if it belongs to this principal.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<HttpSession>> {
        self.find_any(id, principal).filter(|found| found.channel.is_none())
    }

    /// Returns the session with this id over HTTP+SSE, if it belongs to this principal.
    pub(crate) fn find_sse(&self, id: &str, principal: &Principal) -> Option<Arc<HttpSession>> {
        self.find_any(id, principal).filter(|found| found.channel.is_some())
    }

    fn find_any(&self, id: &str, principal: &Principal) -> Option<Arc<HttpSession>> {
        let found = lock(&self.shelf).find(id).cloned()?;
        if found.session.principal() != principal {
            return None;
        }
        found.use_at(self.now_ms());
        Some(found)
    }

    /// Ends a session; returns `false` if this principal has none with this id.
    pub(crate) fn close(&self, id: &str, principal: &Principal) -> bool {
        if self.find(id, principal).is_none() {
            return false;
        }
        let closed = lock(&self.shelf).remove(id);
        closed.inspect(|session| session.end()).is_some()
    }

    /// Ends a session over HTTP+SSE whose stream has ended.
    pub(crate) fn end_sse(&self, session: &HttpSession) {
        if let Some(id) = session.session.id() {
            lock(&self.shelf).remove(id.as_str());
        }
        session.end();
    }

    /// Ends sessions that have been idle for too long and that nobody holds.
    pub(crate) fn sweep(&self) {
        self.sweep_at(self.now_ms());
    }

    fn sweep_at(&self, now_ms: u64) {
        let oldest = now_ms.saturating_sub(self.limits.session_idle_ms_max);
        let ended = lock(&self.shelf).retain(|session| {
            session.used_ms().unwrap_or(session.opened_ms) >= oldest || Arc::strong_count(session) > 1
        });
        for session in ended {
            session.end();
        }
    }

    /// Ends the sessions whose principal may no longer be served, with their streams and calls in flight.
    pub(crate) fn end_revoked(&self, holds: impl Fn(&Principal, u64) -> bool) {
        let ended = lock(&self.shelf).retain(|session| holds(session.session.principal(), session.since_ms));
        for session in ended {
            tracing::info!(target: "toolcrib", "a session ended with the credential that opened it");
            session.end();
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        lock(&self.shelf).len()
    }

    /// Ends all sessions, at shutdown.
    pub(crate) fn end(&self) {
        let all = lock(&self.shelf).retain(|_| false);
        for session in all {
            session.end();
        }
    }
}

/// Returns the Unix time in milliseconds.
pub(crate) fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
