//! A request in flight over any transport. Dropping it cancels the request at the server.

use std::sync::Arc;

use toolcrib_protocol::write;

use crate::error::UpstreamError;
use crate::http::HttpPending;
use crate::link::Seat;
use crate::message::{Kind, Message};
use crate::sse::SsePending;
use crate::stdio::{LineNumber, StdioLink};

/// Variants are boxed because the value is moved from the sender to the task that waits.
pub(crate) enum Pending {
    Http(Box<HttpPending>),
    Stdio(Box<StdioPending>),
    Sse(Box<SsePending>),
}

/// A request in flight over stdio.
pub(crate) struct StdioPending {
    pub(crate) stdio: Arc<StdioLink>,
    pub(crate) seat: Seat,
    /// Line number of the request in the server's stdin.
    pub(crate) line: LineNumber,
    pub(crate) done: bool,
    /// `false` for `initialize`, which may not be cancelled.
    pub(crate) cancels: bool,
}

impl Pending {
    /// Returns the next message of this request; the response is the last one.
    pub(crate) async fn next(&mut self) -> Result<Message, UpstreamError> {
        match self {
            Self::Http(pending) => pending.next().await,
            Self::Stdio(pending) => pending.next().await,
            Self::Sse(pending) => pending.next().await,
        }
    }

    /// Returns the response and skips other messages; requests of the server other than pings are refused.
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

    /// Answers a request that the server sent during this call.
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

/// Returns the notification that cancels a request.
pub(crate) fn cancelled(id: u64) -> Vec<u8> {
    let params = format!("{{\"requestId\":{id},\"reason\":\"the caller gave up\"}}");
    write::notification("notifications/cancelled", Some(&params))
}
