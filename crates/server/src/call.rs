//! One POST under way: the engine's future and what it says before it is done.
//!
//! Guarantees: a modern client that goes away cancels its request; a legacy one does not, its request runs on by
//! itself. The number of those that run on is bounded, for everybody together and for each caller; one over the bound
//! is cancelled.

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

/// What the engine's side of a POST ends with.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) reply: Reply,
    /// A session was opened.
    pub(crate) opened: Option<SessionId>,
    /// Counts a large answer until it is written.
    pub(crate) held: Option<Box<Held>>,
    /// It was refused because of load.
    pub(crate) shed: Option<Shed>,
}

impl From<Reply> for Answered {
    fn from(reply: Reply) -> Self {
        Self { reply, opened: None, held: None, shed: None }
    }
}

pub(crate) type CallFuture = Pin<Box<dyn Future<Output = Answered> + Send>>;

/// A request under way.
pub(crate) struct Call {
    future: Option<CallFuture>,
    exchange: Arc<Exchange>,
    /// The one that its headers name.
    session: Option<Arc<HttpSession>>,
    detached: Detached,
}

/// Counts the calls that go on without their connection.
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

/// What happens first.
#[derive(Debug)]
pub(crate) enum First {
    Answer(Answered),
    /// It says something before it answers.
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

    /// Runs until it answers or says something.
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

    /// What was said before the answer came, if anything.
    pub(crate) fn said(&self) -> Option<Outgoing> {
        self.exchange.outbox().try_next()
    }

    /// The session it belongs to; a modern call belongs to none, whatever its headers name.
    pub(crate) fn session(&self) -> Option<&Arc<HttpSession>> {
        self.session.as_ref().filter(|_| self.exchange.survives_disconnect())
    }

    /// Goes on as a stream that lives and dies with the connection.
    pub(crate) fn into_stream(self, first: Outgoing, answered: Option<Answered>) -> CallStream {
        CallStream { call: self, first: Some(first), answered, done: false }
    }

    /// Leave to go on without the connection.
    pub(crate) fn detach(&self) -> Result<Held, Full> {
        self.detached.take()
    }

    /// Goes on by itself, into a log that connections read.
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

/// A request under way whose messages go out as they come.
#[derive(Debug)]
pub(crate) struct CallStream {
    call: Call,
    first: Option<Outgoing>,
    answered: Option<Answered>,
    done: bool,
}

impl CallStream {
    /// Counts what waits to be said, for as long as it waits.
    pub(crate) fn count_in(&self, account: &Account) {
        self.call.exchange.outbox().count_in(account.waiting());
    }

    /// The next encoded event.
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
                // Without a session there is nothing to come back to.
                Poll::Ready(Some(Outgoing::CloseStream { .. })) => {}
            }
        }
    }

    /// Everything that was said, in order, then the answer, then the end.
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
                // Registers for what comes next; something may have come since.
                match self.call.exchange.outbox().poll_next(cx) {
                    Poll::Ready(Some(outgoing)) => Poll::Ready(Some(outgoing)),
                    _ => Poll::Pending,
                }
            }
        }
    }
}
