//! A request that is under way, over whichever transport. Dropping it gives the request up and tells the server.

use std::sync::Arc;

use toolcrib_protocol::write;

use crate::error::UpstreamError;
use crate::http::HttpPending;
use crate::link::Seat;
use crate::message::{Kind, Message};
use crate::sse::SsePending;
use crate::stdio::{LineNumber, StdioLink};

/// Each behind a pointer: it is handed on from whoever sends to whoever waits.
pub(crate) enum Pending {
    Http(Box<HttpPending>),
    Stdio(Box<StdioPending>),
    Sse(Box<SsePending>),
}

pub(crate) struct StdioPending {
    pub(crate) stdio: Arc<StdioLink>,
    pub(crate) seat: Seat,
    /// Of the request.
    pub(crate) line: LineNumber,
    pub(crate) done: bool,
    /// `initialize` may not be cancelled.
    pub(crate) cancels: bool,
}

impl Pending {
    /// Next message of this request; its answer is the last one.
    pub(crate) async fn next(&mut self) -> Result<Message, UpstreamError> {
        match self {
            Self::Http(pending) => pending.next().await,
            Self::Stdio(pending) => pending.next().await,
            Self::Sse(pending) => pending.next().await,
        }
    }

    /// The answer, whatever else comes before it; questions are refused by whoever is asked.
    pub(crate) async fn answer(&mut self) -> Result<Message, UpstreamError> {
        loop {
            let message = self.next().await?;
            match message.kind().clone() {
                Kind::Response(_) => return Ok(message),
                Kind::Notification => {}
                Kind::Request(id) => {
                    let text = match message.method().as_str() {
                        "ping" => write::result(&id, b"{}"),
                        other => {
                            write::error(Some(&id), &toolcrib_protocol::RpcError::method_not_found(other))
                        }
                    };
                    self.reply(text).await?;
                }
            }
        }
    }

    /// Answers a question that the server asked in this call.
    pub(crate) async fn reply(&self, text: Vec<u8>) -> Result<(), UpstreamError> {
        match self {
            Self::Http(pending) => pending.reply(text).await,
            Self::Stdio(pending) => pending.stdio.send(text).await.map(drop),
            Self::Sse(pending) => pending.sse.send(&text).await,
        }
    }
}

impl StdioPending {
    async fn next(&mut self) -> Result<Message, UpstreamError> {
        let next = self.seat.next().await;
        self.done |= next.as_ref().map_or(true, Message::is_response);
        next.map_err(|error| UpstreamError { sent: self.stdio.has_begun(self.line), ..error })
    }
}

impl Drop for StdioPending {
    fn drop(&mut self) {
        if !self.done && self.cancels {
            self.stdio.try_send(cancelled(self.seat.id));
        }
    }
}

/// Tells a server that nobody waits for an answer any more.
pub(crate) fn cancelled(id: u64) -> Vec<u8> {
    let params = format!("{{\"requestId\":{id},\"reason\":\"the caller gave up\"}}");
    write::notification("notifications/cancelled", Some(&params))
}
