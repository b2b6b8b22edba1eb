//! Records of calls that change nothing, gathered and written off the call's way.
//!
//! Guarantees: none is left out while the process lives: a call waits rather than that more than
//! `AUDIT_WAITING_MAX` pile up. A crash loses at most those, and no more than `AUDIT_FLUSH_MS` of them.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use toolcrib_contract::Digest;
use toolcrib_contract::json::{Document, Limits};

use super::audit::{Event, Kind, digest_text};
use crate::entry::Entry;
use crate::limits::AUDIT_WAITING_MAX;
use crate::principal::Principal;

/// What a call leaves behind, with everything that costs something still to be done.
#[derive(Debug)]
pub(crate) enum Trace {
    Call {
        at_ms: u64,
        principal: Principal,
        session: Option<Box<str>>,
        entry: Arc<Entry>,
        arguments: Box<str>,
        outcome: &'static str,
        latency_us: u64,
    },
    Whole(Box<Event>),
}

#[derive(Debug, Default)]
pub(crate) struct Trail {
    waiting: Mutex<Vec<Trace>>,
    taken: Notify,
}

impl Trail {
    pub(crate) fn push(&self, trace: Trace) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(trace);
    }

    /// Returns when there is room for one more.
    pub(crate) async fn room(&self) {
        while !self.has_room() {
            let taken = self.taken.notified();
            tokio::pin!(taken);
            taken.as_mut().enable();
            if self.has_room() {
                return;
            }
            taken.await;
        }
    }

    fn has_room(&self) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).len() < AUDIT_WAITING_MAX
    }

    /// What waits, as records.
    pub(crate) fn take(&self) -> Vec<Event> {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        self.taken.notify_waiters();
        waiting.into_iter().map(Trace::event).collect()
    }
}

impl Trace {
    fn event(self) -> Event {
        match self {
            Self::Whole(event) => *event,
            Self::Call { at_ms, principal, session, entry, arguments, outcome, latency_us } => {
                let limits = Limits::message().with_bytes_max(usize::MAX);
                let document = Document::parse(arguments.as_bytes(), &limits);
                let digest = document.ok().map(|document| Digest::of_verbatim(document.root()));
                Event {
                    caller: Some(principal.key()),
                    session: session.map(Into::into),
                    tool: Some(entry.name().to_owned()),
                    contract: Some(digest_text(&entry.contract().digest())),
                    // It was read before, so it can be read again; the fallback only keeps this total.
                    arguments: Some(digest_text(
                        &digest.unwrap_or_else(|| Digest::of_bytes(arguments.as_bytes())),
                    )),
                    decision: Some("allowed"),
                    rule: Some(entry.judged().rule.to_string()),
                    outcome: Some(outcome),
                    latency_us: Some(latency_us),
                    ..Event::new(at_ms, Kind::Call)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `AUDIT_WAITING_MAX`: a call waits rather than that more records pile up, and goes on when they are taken.
    #[tokio::test]
    async fn a_call_waits_while_audit_waiting_max_records_wait() {
        let trail = Arc::new(Trail::default());
        for _ in 0..AUDIT_WAITING_MAX {
            trail.room().await;
            trail.push(Trace::Whole(Box::new(Event::new(0, Kind::Call))));
        }
        let waiting = tokio::spawn({
            let trail = trail.clone();
            async move { trail.room().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        assert_eq!(trail.take().len(), AUDIT_WAITING_MAX);
        waiting.await.unwrap();
    }
}
