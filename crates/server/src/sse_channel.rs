//! Stream of one session of the HTTP+SSE transport (2024-11-05), which carries all messages of the server.
//!
//! Guarantees: the first event names the address to which messages are posted; every other event is one JSON-RPC
//! message, in order. Queued messages count towards the caller's quota. The session ends with its stream: calls in
//! flight are cancelled, because their answers could not be delivered. An ended session sends nothing more. At
//! shutdown, calls in flight are answered before the stream ends.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use toolcrib_engine::hub::{Subscriber, Wanted};
use toolcrib_engine::quota::{Bound, Full, Held};
use toolcrib_engine::{Engine, Exchange, Outbox, Outgoing, Payload, Session, limits};
use toolcrib_http1::limits::UNCOUNTED_BYTES_MAX;
use toolcrib_protocol::sse;

use crate::call::Answered;
use crate::load::Account;
use crate::sessions::{HttpSession, Sessions};

/// Outgoing messages of a stream, and the session that `initialize` negotiated.
#[derive(Debug)]
pub(crate) struct SseChannel {
    outbox: Arc<Outbox>,
    account: Account,
    agreed: OnceLock<Arc<Session>>,
    /// Number of the client's messages in process.
    under_way: AtomicUsize,
    /// Set at shutdown: the stream ends with the last message in process.
    is_stopping: AtomicBool,
    is_ended: AtomicBool,
    /// Subscription that only serves to learn of the shutdown.
    lifetime: Arc<Subscriber>,
}

impl SseChannel {
    pub(crate) fn new(account: Account) -> Arc<Self> {
        let outbox = Arc::new(Outbox::default());
        outbox.count_in(account.waiting());
        Arc::new(Self {
            outbox,
            account,
            agreed: OnceLock::new(),
            under_way: AtomicUsize::new(0),
            is_stopping: AtomicBool::new(false),
            is_ended: AtomicBool::new(false),
            lifetime: Subscriber::new(Wanted::default()),
        })
    }

    /// Ends the channel when the engine shuts down.
    pub(crate) fn follow(self: &Arc<Self>, engine: &Engine) {
        engine.hub().join(&self.lifetime);
        let channel = self.clone();
        tokio::spawn(async move {
            while channel.lifetime.next().await.is_some() {}
            channel.stop();
        });
    }

    /// Returns the session that `initialize` negotiated; `None` before.
    pub(crate) fn agreed(&self) -> Option<&Arc<Session>> {
        self.agreed.get()
    }

    /// Stores the negotiated session, once, and forwards its unsolicited messages from then on. Returns `false` if the
    /// client has initialized before.
    pub(crate) fn agree(self: &Arc<Self>, engine: Arc<Engine>, session: &Arc<Session>) -> bool {
        if self.agreed.set(session.clone()).is_err() {
            return false;
        }
        // The stream may have ended in the meantime.
        if self.is_ended() {
            session.end();
        }
        let (session, outbox) = (session.clone(), self.outbox.clone());
        tokio::spawn(async move {
            let news = Exchange::alone(true);
            let told = async {
                engine.tell_news(&session, &news).await;
                news.outbox().close();
            };
            let passed_on = async {
                while let Some(message) = news.outbox().next().await {
                    outbox.room().await;
                    let _ = outbox.push(message);
                }
            };
            tokio::join!(told, passed_on);
        });
        true
    }

    /// Returns an exchange whose messages are sent on this stream.
    pub(crate) fn exchange(&self) -> Arc<Exchange> {
        Exchange::new(self.outbox.clone(), true)
    }

    /// Starts processing a message; returns `None` once the stream is ending.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<UnderWay> {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        let entered = UnderWay(self.clone());
        let is_over = self.is_ended() || self.is_stopping.load(Ordering::SeqCst);
        (!is_over).then_some(entered)
    }

    /// Refuses a request while the client leaves too many messages unread.
    pub(crate) fn check_room(&self) -> Result<(), Full> {
        let bound =
            Bound { name: "OUTBOX_FRAMES_MAX", max: limits::OUTBOX_FRAMES_MAX, counts: "messages not read" };
        if self.outbox.has_room() { Ok(()) } else { Err(Full::Share(bound)) }
    }

    /// Queues the answer to a message, if it has one.
    pub(crate) fn say(&self, answered: Answered) {
        let Answered { reply, held, .. } = answered;
        if reply.payload != Payload::Nothing {
            let _ = self.outbox.push_answer(Outgoing::Message(reply.payload.into_bytes()));
        }
        // The outbox counts the answer now.
        drop(held);
    }

    fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::SeqCst)
    }

    fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        if self.under_way.load(Ordering::SeqCst) == 0 {
            self.outbox.close();
        }
    }

    /// Ends the stream immediately.
    pub(crate) fn end(&self) {
        self.is_ended.store(true, Ordering::SeqCst);
        if let Some(session) = self.agreed.get() {
            session.end();
        }
        self.outbox.close();
        self.lifetime.end();
    }
}

/// A message in process.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<SseChannel>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let is_last = self.0.under_way.fetch_sub(1, Ordering::SeqCst) == 1;
        if is_last && self.0.is_stopping.load(Ordering::SeqCst) {
            self.0.outbox.close();
        }
    }
}

/// Reader of a channel, owned by the connection. Dropping it ends the session.
#[derive(Debug)]
pub(crate) struct ChannelReader {
    /// The event that names the address for messages.
    first: Option<Bytes>,
    channel: Arc<SseChannel>,
    session: Arc<HttpSession>,
    sessions: Arc<Sessions>,
    /// Quota of a large event while it is written.
    held: Option<Held>,
}

impl ChannelReader {
    pub(crate) fn new(
        messages: &str,
        channel: Arc<SseChannel>,
        session: Arc<HttpSession>,
        sessions: Arc<Sessions>,
    ) -> Self {
        let mut first = Vec::new();
        sse::encode_named(&mut first, "endpoint", messages.as_bytes());
        Self { first: Some(first.into()), channel, session, sessions, held: None }
    }

    /// Returns the next encoded event.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.held = None;
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        loop {
            match self.channel.outbox.poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(_)) if self.channel.is_ended() => return Poll::Ready(None),
                // The transport has only one stream, which cannot be resumed.
                Poll::Ready(Some(Outgoing::CloseStream { .. })) => {}
                Poll::Ready(Some(Outgoing::Message(message))) => {
                    let mut event = Vec::with_capacity(message.len() + 32);
                    sse::encode_named(&mut event, "message", &message);
                    if event.len() > UNCOUNTED_BYTES_MAX {
                        let Account { unread, owner } = &self.channel.account;
                        self.held = Some(unread.answers.charge(owner, event.len()));
                    }
                    return Poll::Ready(Some(event.into()));
                }
            }
        }
    }
}

impl Drop for ChannelReader {
    fn drop(&mut self) {
        self.sessions.end_sse(&self.session);
    }
}
