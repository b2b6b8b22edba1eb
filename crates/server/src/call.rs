//! One POST in flight: the engine's future and the messages that it sends before its answer.
//!
//! Guarantees: when a modern client disconnects, its request is cancelled; a legacy client's request continues as a
//! detached call. The number of detached calls is bounded in total and per caller; a call over the bound is cancelled.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use toolcrib_engine::quota::{Full, Held, Quota};
use toolcrib_engine::{Exchange, Outgoing, Payload, Reply, SessionId, Share};
use toolcrib_protocol::sse;

use crate::load::Account;
use crate::sessions::HttpSession;
use crate::shed::Shed;
use crate::stream_log::StreamLog;

/// Result of the engine for a POST.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) reply: Reply,
    /// Id of the session that was opened.
    pub(crate) opened: Option<SessionId>,
    /// Quota of a large answer until it is written.
    pub(crate) held: Option<Box<Held>>,
    /// Set if the request was refused because of load.
    pub(crate) shed: Option<Shed>,
}

impl From<Reply> for Answered {
    fn from(reply: Reply) -> Self {
        Self { reply, opened: None, held: None, shed: None }
    }
}

pub(crate) type CallFuture = Pin<Box<dyn Future<Output = Answered> + Send>>;

/// A request in flight.
pub(crate) struct Call {
    future: Option<CallFuture>,
    exchange: Arc<Exchange>,
    /// Session that the headers name.
    session: Option<Arc<HttpSession>>,
    detached: Detached,
}

/// Counts calls that continue without their connection.
#[derive(Debug)]
pub(crate) struct Detached {
    pub(crate) calls: Arc<Quota>,
    pub(crate) owner: Share,
}

impl Detached {
    fn take(&self) -> Result<Held, Full> {
        self.calls.take(&self.owner, 1)
    }
}

/// First event of a call.
#[derive(Debug)]
pub(crate) enum First {
    Answer(Answered),
    /// A message before the answer.
    Says(Outgoing),
}

impl Call {
    pub(crate) fn new(
        future: CallFuture,
        exchange: Arc<Exchange>,
        session: Option<Arc<HttpSession>>,
        detached: Detached,
    ) -> Self {
        Self { future: Some(future), exchange, session, detached }
    }

    /// Runs until the call answers or sends a message.
    pub(crate) async fn first(&mut self) -> First {
        std::future::poll_fn(|cx| {
            if let Some(future) = &mut self.future
                && let Poll::Ready(answered) = future.as_mut().poll(cx)
            {
                self.future = None;
                return Poll::Ready(First::Answer(answered));
            }
            match self.exchange.outbox().poll_next(cx) {
                Poll::Ready(Some(outgoing)) => Poll::Ready(First::Says(outgoing)),
                _ => Poll::Pending,
            }
        })
        .await
    }

    pub(crate) fn exchange(&self) -> &Arc<Exchange> {
        &self.exchange
    }

    /// Returns a message that was sent before the answer, if any.
    pub(crate) fn said(&self) -> Option<Outgoing> {
        self.exchange.outbox().try_next()
    }

    /// Returns the session that the call belongs to; a modern call belongs to none, whatever its headers say.
    pub(crate) fn session(&self) -> Option<&Arc<HttpSession>> {
        self.session.as_ref().filter(|_| self.exchange.survives_disconnect())
    }

    /// Continues as a stream that ends with the connection.
    pub(crate) fn into_stream(self, first: Outgoing, answered: Option<Answered>) -> CallStream {
        CallStream { call: self, first: Some(first), answered, done: false }
    }

    /// Reserves a place among the detached calls.
    pub(crate) fn detach(&self) -> Result<Held, Full> {
        self.detached.take()
    }

    /// Continues in a task of its own, which writes into a log that connections read.
    pub(crate) fn into_log(
        self,
        first: Outgoing,
        answered: Option<Answered>,
        log: Arc<StreamLog>,
        leave: Held,
    ) {
        let mut stream = self.into_stream(first, answered);
        tokio::spawn(async move {
            let _leave = leave;
            loop {
                match std::future::poll_fn(|cx| stream.poll_outgoing(cx)).await {
                    Some(Outgoing::Message(message)) => log.append(&message),
                    Some(Outgoing::CloseStream { retry_ms }) => log.cut(retry_ms),
                    None => break,
                }
            }
            log.finish();
        });
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let Some(future) = self.future.take() else { return };
        if self.exchange.survives_disconnect() && tokio::runtime::Handle::try_current().is_ok() {
            match self.detached.take() {
                Ok(leave) => {
                    tokio::spawn(async move {
                        future.await;
                        drop(leave);
                    });
                    return;
                }
                Err(full) => {
                    let owner = &self.detached.owner;
                    tracing::warn!(target: "toolcrib", "a call of {owner} was cancelled with its connection: {full}");
                }
            }
        }
        self.exchange.cancel();
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("running", &self.future.is_some()).finish_non_exhaustive()
    }
}

/// A request in flight whose messages are sent as they come.
#[derive(Debug)]
pub(crate) struct CallStream {
    call: Call,
    first: Option<Outgoing>,
    answered: Option<Answered>,
    done: bool,
}

impl CallStream {
    /// Counts the queued messages towards the caller's quota.
    pub(crate) fn count_in(&self, account: &Account) {
        self.call.exchange.outbox().count_in(account.waiting());
    }

    /// Returns the next encoded event.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            match self.poll_outgoing(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Outgoing::Message(message))) => {
                    let mut out = Vec::with_capacity(message.len() + 16);
                    sse::encode(&mut out, None, &message);
                    return Poll::Ready(Some(out.into()));
                }
                // Without a session the stream cannot be resumed, so it is not closed early.
                Poll::Ready(Some(Outgoing::CloseStream { .. })) => {}
            }
        }
    }

    /// Returns the queued messages in order, then the answer, then the end.
    fn poll_outgoing(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outgoing>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        if self.done {
            return Poll::Ready(None);
        }
        if let Some(future) = &mut self.call.future
            && let Poll::Ready(answered) = future.as_mut().poll(cx)
        {
            self.call.future = None;
            self.answered = Some(answered);
        }
        if let Some(said) = self.call.said() {
            return Poll::Ready(Some(said));
        }
        match self.answered.take() {
            Some(answered) => {
                self.done = true;
                match answered.reply.payload {
                    Payload::Nothing => Poll::Ready(None),
                    payload => Poll::Ready(Some(Outgoing::Message(payload.into_bytes()))),
                }
            }
            None => {
                // Registers the waker; a message may have arrived in the meantime.
                match self.call.exchange.outbox().poll_next(cx) {
                    Poll::Ready(Some(outgoing)) => Poll::Ready(Some(outgoing)),
                    _ => Poll::Pending,
                }
            }
        }
    }
}
