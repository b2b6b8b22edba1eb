//! Events of one legacy stream, kept so that a client can resume after it lost its connection.
//!
//! Guarantees: the id of an event never changes. At most one reader gets it live. Kept events are bounded in number
//! and bytes, and by the caller's quota; the oldest are dropped first. The newest event is always kept, because it may
//! be the answer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use toolcrib_engine::quota::Held;
use toolcrib_protocol::sse;

use crate::limits::{STREAM_BYTES_MAX, STREAM_EVENTS_MAX};
use crate::load::Account;

/// Log of one stream's events; a connection reads it through a [`LogReader`].
#[derive(Debug)]
pub(crate) struct StreamLog {
    number: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Encoded events; `first` is the number of the first one.
    events: VecDeque<Bytes>,
    first: u64,
    bytes: usize,
    /// Bytes of events that no reader has taken.
    untaken: usize,
    /// `true` while a connection reads it.
    is_read: bool,
    /// Number of cuts so far. A reader that started before the last cut ends at `cut_at`.
    cuts: u64,
    cut_at: u64,
    /// Number of readers so far; only the newest continues.
    readers: u64,
    /// Number of events that a reader has taken.
    taken: u64,
    finished: bool,
    waker: Option<Waker>,
    /// Quota of bytes that a connected client has not taken.
    waiting: Option<Held>,
    /// Quota of bytes that are kept for resuming.
    kept: Option<Held>,
}

impl State {
    fn next(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    fn push(&mut self, event: Bytes) {
        self.bytes += event.len();
        self.untaken += event.len();
        self.events.push_back(event);
        self.settle();
        while self.events.len() > 1 && self.is_over() {
            self.drop_oldest();
            self.settle();
        }
    }

    fn is_over(&self) -> bool {
        self.events.len() > STREAM_EVENTS_MAX
            || self.bytes > STREAM_BYTES_MAX
            || self.waiting.as_ref().is_some_and(Held::is_over)
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.events.pop_front() else { return };
        self.bytes -= oldest.len();
        if self.first >= self.taken {
            self.untaken -= oldest.len();
        }
        self.first += 1;
        self.taken = self.taken.max(self.first);
    }

    /// Returns the event with this number and marks it as taken.
    fn take(&mut self, number: u64) -> Option<Bytes> {
        let index = |number: u64| usize::try_from(number - self.first).unwrap_or(usize::MAX);
        let event = self.events.get(index(number)).cloned()?;
        if number >= self.taken {
            let passed = self.events.range(index(self.taken)..=index(number));
            self.untaken -= passed.map(Bytes::len).sum::<usize>();
            self.taken = number + 1;
            self.settle();
        }
        Some(event)
    }

    /// Splits the bytes between the quota of untaken events and that of kept ones; drops events that exceed the
    /// latter.
    fn settle(&mut self) {
        loop {
            let (Some(waiting), Some(kept)) = (&mut self.waiting, &mut self.kept) else { return };
            let untaken = if self.is_read { self.untaken } else { 0 };
            waiting.charge(untaken.saturating_sub(waiting.amount()));
            waiting.shrink(waiting.amount().saturating_sub(untaken));
            let may_drop = if self.is_read { self.first < self.taken } else { !self.events.is_empty() };
            if kept.resize(self.bytes - untaken).is_ok() || !may_drop {
                return;
            }
            self.drop_oldest();
        }
    }
}

impl StreamLog {
    pub(crate) fn new(number: u64, account: Option<&Account>) -> Arc<Self> {
        let (waiting, kept) = (account.map(Account::waiting), account.map(Account::kept));
        Arc::new(Self { number, state: Mutex::new(State { waiting, kept, ..State::default() }) })
    }

    /// Appends a message.
    pub(crate) fn append(&self, message: &[u8]) {
        self.write(|out, id| {
            out.reserve_exact(message.len() + id.len() + 16);
            sse::encode(out, Some(id), message);
        });
    }

    /// Appends an event without data, whose id lets the client resume before the first message.
    pub(crate) fn prime(&self) {
        self.write(sse::encode_priming);
    }

    /// Ends the current reader and tells the client when to reconnect; the log continues.
    pub(crate) fn cut(&self, retry_ms: u64) {
        self.write(|out, id| sse::encode_retry(out, Some(id), retry_ms));
        let mut state = self.lock();
        state.cuts += 1;
        state.cut_at = state.next();
        wake(state);
    }

    /// Marks the log as complete.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        state.finished = true;
        wake(state);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.lock().finished
    }

    fn write(&self, encode: impl FnOnce(&mut Vec<u8>, &str)) {
        let mut state = self.lock();
        let id = format!("{}-{}", self.number, state.next());
        let mut out = Vec::new();
        encode(&mut out, &id);
        state.push(out.into());
        wake(state);
    }

    /// Returns a reader that starts at the first event that was not taken.
    pub(crate) fn read_on(self: &Arc<Self>) -> LogReader {
        let from = self.lock().taken;
        self.reader(from)
    }

    /// Returns a reader that starts after event `seen`.
    pub(crate) fn read_after(self: &Arc<Self>, seen: u64) -> LogReader {
        self.reader(seen.saturating_add(1))
    }

    fn reader(self: &Arc<Self>, from: u64) -> LogReader {
        let mut state = self.lock();
        state.readers += 1;
        state.is_read = true;
        state.settle();
        let reader = LogReader { log: self.clone(), next: from, me: state.readers, cuts: state.cuts };
        // Wakes the previous reader, which ends because it is no longer the newest.
        wake(state);
        reader
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Parses a `Last-Event-ID` of the form `<stream>-<event>`.
pub(crate) fn parse_event_id(text: &str) -> Option<(u64, u64)> {
    let (stream, event) = text.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}

/// Reader of a log, owned by one connection.
#[derive(Debug)]
pub(crate) struct LogReader {
    log: Arc<StreamLog>,
    next: u64,
    me: u64,
    cuts: u64,
}

impl LogReader {
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.log.lock();
        if state.readers != self.me {
            return Poll::Ready(None);
        }
        self.next = self.next.max(state.first);
        if state.cuts > self.cuts && self.next >= state.cut_at {
            return Poll::Ready(None);
        }
        if let Some(event) = state.take(self.next) {
            self.next += 1;
            return Poll::Ready(Some(event));
        }
        if state.finished {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    #[cfg(test)]
    async fn next(&mut self) -> Option<Bytes> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        let mut state = self.log.lock();
        if state.readers == self.me {
            state.is_read = false;
            state.settle();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(event: Option<Bytes>) -> String {
        String::from_utf8(event.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_client_that_comes_back_gets_what_it_missed_and_no_more() {
        let log = StreamLog::new(3, None);
        log.append(b"a");
        let mut lost = log.read_on();
        assert_eq!(text(lost.next().await), "id: 3-0\ndata: a\n\n");
        log.append(b"b");
        log.append(b"c");
        let mut back = log.read_after(0);
        assert_eq!(lost.next().await, None, "the older reader ends");
        log.finish();
        assert_eq!(text(back.next().await), "id: 3-1\ndata: b\n\n");
        assert_eq!(text(back.next().await), "id: 3-2\ndata: c\n\n");
        assert_eq!(back.next().await, None);
    }

    #[tokio::test]
    async fn a_cut_ends_the_reader_after_its_retry_and_not_the_next_one() {
        let log = StreamLog::new(1, None);
        let mut first = log.read_on();
        log.cut(500);
        log.append(b"after");
        assert!(text(first.next().await).contains("retry: 500"));
        assert_eq!(first.next().await, None);
        let mut second = log.read_after(0);
        assert_eq!(text(second.next().await), "id: 1-1\ndata: after\n\n");
    }

    #[tokio::test]
    async fn a_log_nobody_reads_stays_bounded() {
        let log = StreamLog::new(1, None);
        for _ in 0..STREAM_EVENTS_MAX + 10 {
            log.append(b"x");
        }
        let mut reader = log.read_after(0);
        assert!(text(reader.next().await).starts_with("id: 1-10\n"));
    }

    #[tokio::test]
    async fn a_log_keeps_no_more_than_stream_bytes_max() {
        let log = StreamLog::new(1, None);
        for _ in 0..3 {
            log.append(&vec![b'x'; STREAM_BYTES_MAX / 2]);
        }
        assert!(text(log.read_after(0).next().await).starts_with("id: 1-2\n"));
    }

    /// `STREAM_BYTES_MAX`: a larger answer still reaches its reader; all events before it are dropped.
    #[tokio::test]
    async fn the_newest_event_is_kept_however_large_it_is() {
        let log = StreamLog::new(1, None);
        log.append(b"before");
        log.append(&vec![b'x'; STREAM_BYTES_MAX + 1]);
        log.finish();
        let mut reader = log.read_on();
        assert!(text(reader.next().await).starts_with("id: 1-1\ndata: xxx"));
        assert_eq!(reader.next().await, None);
    }

    /// `ANSWERS_BYTES_PER_SHARE_MAX`: events that a connected client has not taken count towards its caller's quota.
    #[tokio::test]
    async fn logs_that_are_not_read_keep_no_more_than_their_caller_may_have() {
        let account = Account::of_bytes(300_000);
        let (answers, replays) = (&account.unread.answers, &account.unread.replays);
        let logs: Vec<_> = (0..3).map(|number| StreamLog::new(number, Some(&account))).collect();
        let mut readers: Vec<_> = logs.iter().map(StreamLog::read_on).collect();
        for _ in 0..5 {
            logs.iter().for_each(|log| log.append(&[b'x'; 40_000]));
        }
        assert!((200_000..=300_000).contains(&answers.total()), "{}", answers.total());
        assert_eq!(replays.total(), 0);
        for reader in &mut readers {
            reader.next().await.unwrap();
        }
        assert!(
            (120_000..=130_000).contains(&replays.total()),
            "what was taken is kept: {}",
            replays.total()
        );
        drop(readers);
        assert_eq!(answers.total(), 0, "nobody is connected");
        drop(logs);
        assert_eq!(replays.total(), 0);
    }

    /// `REPLAY_BYTES_MAX`: events over the quota are dropped, oldest first.
    #[tokio::test]
    async fn what_may_not_be_kept_for_a_client_that_comes_back_is_dropped() {
        let account = Account::of_bytes(100_000);
        let log = StreamLog::new(1, Some(&account));
        for _ in 0..4 {
            log.append(&[b'x'; 40_000]);
        }
        assert!(account.unread.replays.total() <= 100_000);
        assert!(text(log.read_after(0).next().await).starts_with("id: 1-2\n"));
    }

    #[test]
    fn event_ids_read_back_and_nonsense_does_not() {
        assert_eq!(parse_event_id("3-14"), Some((3, 14)));
        for bad in ["", "3", "3-", "-1", "a-b", "99999999999999999999-1"] {
            assert_eq!(parse_event_id(bad), None);
        }
    }
}
