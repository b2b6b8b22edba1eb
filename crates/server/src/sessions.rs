//! The legacy sessions of an HTTP server.
//!
//! Guarantees: a session is found only by the principal that opened it; there are never more than a limit; unused
//! ones end by themselves.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use toolcrib_engine::{Principal, Session};

use crate::limits::{SESSION_IDLE_MS_MAX, SESSION_STREAMS_MAX, SESSIONS_MAX};
use crate::stream_log::StreamLog;

/// A session and its streams.
#[derive(Debug)]
pub(crate) struct HttpSession {
    pub(crate) session: Arc<Session>,
    logs: Mutex<BTreeMap<u64, Arc<StreamLog>>>,
    log_last: AtomicU64,
    /// The stream of unsolicited messages, number 0.
    news: Mutex<Option<Arc<StreamLog>>>,
    used_ms: AtomicU64,
}

impl HttpSession {
    fn new(session: Arc<Session>, now_ms: u64) -> Self {
        Self {
            session,
            logs: Mutex::default(),
            log_last: AtomicU64::new(0),
            news: Mutex::default(),
            used_ms: AtomicU64::new(now_ms),
        }
    }

    /// A new stream for one call; the oldest finished ones make room.
    pub(crate) fn open_log(&self) -> Arc<StreamLog> {
        let number = self.log_last.fetch_add(1, Ordering::Relaxed) + 1;
        let log = StreamLog::new(number);
        let mut logs = lock(&self.logs);
        while logs.len() >= SESSION_STREAMS_MAX {
            let oldest = logs.iter().find(|(_, log)| log.is_finished()).or(logs.iter().next());
            let Some(number) = oldest.map(|(number, _)| *number) else { break };
            logs.remove(&number);
        }
        logs.insert(number, log.clone());
        log
    }

    pub(crate) fn log(&self, number: u64) -> Option<Arc<StreamLog>> {
        if number == 0 { lock(&self.news).clone() } else { lock(&self.logs).get(&number).cloned() }
    }

    /// The unsolicited stream, and whether it is new and needs somebody to fill it.
    pub(crate) fn news_log(&self) -> (Arc<StreamLog>, bool) {
        let mut news = lock(&self.news);
        match &*news {
            Some(log) => (log.clone(), false),
            None => {
                let log = StreamLog::new(0);
                *news = Some(log.clone());
                (log, true)
            }
        }
    }

    fn end(&self) {
        self.session.end();
        for log in lock(&self.logs).values().chain(lock(&self.news).as_ref()) {
            log.finish();
        }
    }
}

/// Every session, by id.
#[derive(Debug)]
pub(crate) struct Sessions {
    by_id: Mutex<HashMap<Box<str>, Arc<HttpSession>>>,
    started: Instant,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { by_id: Mutex::default(), started: Instant::now() }
    }
}

/// No room for another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many sessions are open; try again later")]
pub(crate) struct TooManySessions;

impl Sessions {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Keeps a session that has an id.
    pub(crate) fn open(&self, session: Arc<Session>) -> Result<Arc<HttpSession>, TooManySessions> {
        let id: Box<str> = session.id().map(toolcrib_engine::SessionId::as_str).unwrap_or_default().into();
        let opened = Arc::new(HttpSession::new(session, self.now_ms()));
        if lock(&self.by_id).len() >= SESSIONS_MAX {
            self.sweep();
        }
        let mut by_id = lock(&self.by_id);
        if by_id.len() >= SESSIONS_MAX {
            return Err(TooManySessions);
        }
        by_id.insert(id, opened.clone());
        Ok(opened)
    }

    /// The session of this id, if it belongs to this principal.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<HttpSession>> {
        let found = lock(&self.by_id).get(id).cloned()?;
        if found.session.principal() != principal {
            return None;
        }
        found.used_ms.store(self.now_ms(), Ordering::Relaxed);
        Some(found)
    }

    /// Ends a session; false if this principal has none of that id.
    pub(crate) fn close(&self, id: &str, principal: &Principal) -> bool {
        if self.find(id, principal).is_none() {
            return false;
        }
        let closed = lock(&self.by_id).remove(id);
        closed.inspect(|session| session.end()).is_some()
    }

    /// Ends what nobody has used for long and nobody holds.
    pub(crate) fn sweep(&self) {
        self.sweep_at(self.now_ms());
    }

    fn sweep_at(&self, now_ms: u64) {
        let oldest = now_ms.saturating_sub(SESSION_IDLE_MS_MAX);
        let mut ended = Vec::new();
        lock(&self.by_id).retain(|_, session| {
            let keep = session.used_ms.load(Ordering::Relaxed) >= oldest || Arc::strong_count(session) > 1;
            if !keep {
                ended.push(session.clone());
            }
            keep
        });
        for session in ended {
            session.end();
        }
    }

    /// The server stops.
    pub(crate) fn end(&self) {
        let all: Vec<_> = lock(&self.by_id).drain().map(|(_, session)| session).collect();
        for session in all {
            session.end();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use toolcrib_engine::SessionId;
    use toolcrib_protocol::{ClientCapabilities, Revision};

    use super::*;

    fn session(principal: Principal) -> Arc<Session> {
        let id = SessionId::random().unwrap();
        Session::new(Some(id), principal, Revision::V2025_11_25, ClientCapabilities::default(), None)
    }

    #[test]
    fn there_are_never_more_than_sessions_max_sessions() {
        let sessions = Sessions::default();
        for _ in 0..SESSIONS_MAX {
            sessions.open(session(Principal::Anonymous)).unwrap();
        }
        assert_eq!(sessions.open(session(Principal::Anonymous)).unwrap_err(), TooManySessions);
    }

    #[test]
    fn a_session_that_nobody_used_for_session_idle_ms_max_ends_unless_somebody_holds_it() {
        let sessions = Sessions::default();
        let principal = Principal::subject("me");
        let ids: Vec<String> = (0..2)
            .map(|_| {
                let mine = session(principal.clone());
                let id = mine.id().unwrap().as_str().to_owned();
                drop(sessions.open(mine).unwrap());
                id
            })
            .collect();
        let held = sessions.find(&ids[1], &principal).unwrap();
        let used = held.used_ms.load(Ordering::Relaxed);
        sessions.sweep_at(used + SESSION_IDLE_MS_MAX);
        assert!(lock(&sessions.by_id).contains_key(&*ids[1]));
        sessions.sweep_at(used + SESSION_IDLE_MS_MAX + 1);
        assert!(!lock(&sessions.by_id).contains_key(&*ids[0]), "nobody holds it");
        assert!(lock(&sessions.by_id).contains_key(&*ids[1]), "a stream of it is open");
        drop(held);
        sessions.sweep_at(used + SESSION_IDLE_MS_MAX + 1);
        assert!(lock(&sessions.by_id).is_empty());
    }

    #[test]
    fn a_session_keeps_session_streams_max_streams_and_drops_finished_ones_first() {
        let opened = HttpSession::new(session(Principal::Anonymous), 0);
        let first = opened.open_log();
        let second = opened.open_log();
        second.finish();
        for _ in 2..SESSION_STREAMS_MAX {
            opened.open_log();
        }
        opened.open_log();
        assert!(opened.log(1).is_some() && opened.log(2).is_none());
        drop(first);
    }

    #[test]
    fn another_principal_neither_finds_nor_ends_a_session() {
        let sessions = Sessions::default();
        let mine = session(Principal::subject("me"));
        let id = mine.id().unwrap().as_str().to_owned();
        sessions.open(mine).unwrap();
        assert!(sessions.find(&id, &Principal::subject("you")).is_none());
        assert!(sessions.find(&id, &Principal::Anonymous).is_none());
        assert!(!sessions.close(&id, &Principal::subject("you")));
        assert!(sessions.find(&id, &Principal::subject("me")).is_some());
    }
}
