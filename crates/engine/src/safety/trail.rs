//! [`Trail`]: queue of audit records that are written off the request path.
//!
//! Guarantees: while the process lives and records can be written, none is lost: a call waits rather than let more
//! than `AUDIT_WAITING_MAX` records pile up. A crash loses at most those records, of at most `AUDIT_FLUSH_MS`. While
//! records cannot be written (a full disk), up to `AUDIT_WAITING_MAX` are kept and retried; further ones are counted
//! as lost and logged, and no call waits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use toolcrib_contract::Digest;
use toolcrib_contract::json::{Document, Limits};

use super::audit::{Event, Kind, digest_text};
use super::keep::{SafetyStore, Unkept};
use crate::entry::Entry;
use crate::limits::AUDIT_WAITING_MAX;
use crate::principal::Principal;

/// Record in the queue. The costly parts of a call's record are computed when it is written.
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

/// Queue of audit records that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    waiting: Mutex<Waiting>,
    taken: Notify,
    lost: AtomicU64,
    /// Held while records are being written: a flush at the end of a process waits for records that the housekeeper
    /// has taken and not yet written.
    flushing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Waiting {
    traces: Vec<Trace>,
    /// Records that could not be written, older than `traces`.
    unwritten: Vec<Event>,
    /// Reason why the last write failed; `None` if it succeeded.
    failure: Option<String>,
}

impl Waiting {
    fn count(&self) -> usize {
        self.traces.len() + self.unwritten.len()
    }
}

impl Trail {
    pub(crate) fn push(&self, trace: Trace) {
        let mut waiting = self.lock();
        if waiting.failure.is_some() && waiting.count() >= AUDIT_WAITING_MAX {
            drop(waiting);
            self.lose(1);
            return;
        }
        waiting.traces.push(trace);
    }

    /// Waits for room for one more record and returns true; returns false at once while records cannot be written.
    pub(crate) async fn room(&self) -> bool {
        loop {
            let taken = self.taken.notified();
            {
                let waiting = self.lock();
                if waiting.failure.is_some() {
                    return false;
                }
                if waiting.count() < AUDIT_WAITING_MAX {
                    return true;
                }
            }
            taken.await;
        }
    }

    /// Takes the queued records, oldest first.
    pub(crate) fn take(&self) -> Vec<Event> {
        let (mut events, traces) = {
            let mut waiting = self.lock();
            (std::mem::take(&mut waiting.unwritten), std::mem::take(&mut waiting.traces))
        };
        self.taken.notify_waiters();
        events.extend(traces.into_iter().map(Trace::event));
        events
    }

    /// Writes the queued records. Those that cannot be written stay queued.
    pub(crate) async fn flush(&self, store: &dyn SafetyStore) -> Result<(), Unkept> {
        let _one_at_a_time = self.flushing.lock().await;
        let events = Arc::new(self.take());
        if !events.is_empty() {
            match store.append_shared(events.clone()).await {
                Ok(()) => self.is_written(events.len()),
                Err(error) => {
                    self.put_back(Arc::try_unwrap(events).unwrap_or_else(|events| events.to_vec()), &error);
                    return Err(error);
                }
            }
        }
        store.retry().await.map(|_| ())
    }

    fn is_written(&self, count: usize) {
        if self.lock().failure.take().is_some() {
            let lost = self.lost();
            tracing::warn!(target: "toolcrib", "the audit is written again: {count} records had waited, {lost} are lost");
        }
    }

    /// Puts back records that could not be written, as many as there is room for.
    fn put_back(&self, mut events: Vec<Event>, error: &Unkept) {
        let dropped = {
            let mut waiting = self.lock();
            let room = AUDIT_WAITING_MAX.saturating_sub(waiting.count());
            let dropped = events.len().saturating_sub(room);
            events.truncate(room);
            events.append(&mut waiting.unwritten);
            waiting.unwritten = events;
            if waiting.failure.is_none() {
                tracing::error!(
                    target: "toolcrib",
                    "the audit cannot be written: {error}; calls that are not read-only are refused until it can be"
                );
            }
            waiting.failure = Some(error.to_string());
            dropped
        };
        // Wakes calls that wait for room; they see the failure.
        self.taken.notify_waiters();
        if dropped > 0 {
            self.lose(dropped);
        }
    }

    /// Counts records that will never be written; logs at powers of two, so that a flood of records is no flood of
    /// log lines.
    fn lose(&self, count: usize) {
        let count = count as u64;
        let before = self.lost.fetch_add(count, Ordering::Relaxed);
        let lost = before.saturating_add(count);
        if before == 0 || before.ilog2() != lost.ilog2() {
            tracing::error!(target: "toolcrib", "{lost} records of the audit are lost: they could not be written");
        }
    }

    /// Returns the number of records that will never be written.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns the reason why records cannot be written, if so.
    pub(crate) fn failing(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
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
                    // The arguments were parsed before; the fallback only makes this infallible.
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

    /// `AUDIT_WAITING_MAX`: a call waits rather than let more records pile up, and goes on when they are taken.
    #[tokio::test]
    async fn a_call_waits_while_audit_waiting_max_records_wait() {
        let trail = Arc::new(Trail::default());
        for _ in 0..AUDIT_WAITING_MAX {
            assert!(trail.room().await);
            trail.push(Trace::Whole(Box::new(Event::new(0, Kind::Call))));
        }
        let waiting = tokio::spawn({
            let trail = trail.clone();
            async move { trail.room().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        assert_eq!(trail.take().len(), AUDIT_WAITING_MAX);
        assert!(waiting.await.unwrap());
    }

    fn failure() -> Unkept {
        Unkept(Arc::new(std::io::Error::other("disk full")))
    }

    fn record(at_ms: u64) -> Trace {
        Trace::Whole(Box::new(Event::new(at_ms, Kind::Call)))
    }

    /// R4.8, `AUDIT_WAITING_MAX`: records that cannot be written are kept in order up to the limit and counted beyond
    /// it; no call waits meanwhile, and a successful write ends the failure.
    #[tokio::test]
    async fn records_that_cannot_be_written_are_kept_then_counted() {
        let trail = Trail::default();
        for at_ms in 0..4 {
            trail.push(record(at_ms));
        }
        let events = trail.take();
        trail.push(record(4));
        trail.put_back(events, &failure());
        assert!(!trail.room().await && trail.failing().is_some_and(|why| why.contains("disk full")));
        for at_ms in 5..AUDIT_WAITING_MAX as u64 + 3 {
            trail.push(record(at_ms));
        }
        assert_eq!(trail.lost(), 3, "those over the limit are counted");
        let events = trail.take();
        let times: Vec<u64> = events.iter().map(|event| event.at_ms).collect();
        assert_eq!(times, (0..AUDIT_WAITING_MAX as u64).collect::<Vec<_>>());
        trail.push(record(0));
        trail.put_back(events, &failure());
        assert_eq!(trail.lost(), 4, "one had no room any more");
        trail.is_written(1);
        assert_eq!(trail.failing(), None);
        assert_eq!(trail.take().len(), AUDIT_WAITING_MAX);
        assert!(trail.room().await);
    }

    /// R4.8: a call that waits for room goes on when the records before it turn out to be unwritable.
    #[tokio::test]
    async fn a_call_that_waits_for_room_goes_on_when_nothing_can_be_written() {
        let trail = Arc::new(Trail::default());
        for at_ms in 0..AUDIT_WAITING_MAX as u64 {
            trail.push(record(at_ms));
        }
        let waiting = tokio::spawn({
            let trail = trail.clone();
            async move { trail.room().await }
        });
        tokio::task::yield_now().await;
        trail.lock().failure = Some("disk full".to_owned());
        trail.taken.notify_waiters();
        assert!(!waiting.await.unwrap());
    }
}
