//! Client of the HTTP+SSE transport of 2024-11-05: one stream for everything received, and an address named by the
//! server to which everything is posted.
//!
//! Guarantees: nothing is posted to another origin than the one that the operator configured. One event has at most
//! `UPSTREAM_MESSAGE_BYTES_MAX` bytes. When the stream ends, every call in flight fails.

use std::sync::Arc;

use tokio::task::JoinHandle;
use toolcrib_protocol::sse;

use crate::brake::Brake;
use crate::error::{Cause, UpstreamError};
use crate::http::{HttpLink, Stream, Target};
use crate::limits::UPSTREAM_MESSAGE_BYTES_MAX;
use crate::link::{Delivery, Link, Seat};
use crate::message::Message;
use crate::pending::cancelled;
use crate::spec::Endpoint;

/// A connection over HTTP+SSE.
pub(crate) struct SseLink {
    pub(crate) link: Arc<Link>,
    /// Client that posts messages.
    post: Arc<HttpLink>,
    reading: JoinHandle<()>,
}

impl SseLink {
    /// Opens the stream and waits for the address with which it begins.
    pub(crate) async fn open(name: &str, endpoint: &Endpoint) -> Result<Self, UpstreamError> {
        let get = HttpLink::for_server(name, endpoint).map_err(UpstreamError::unsent)?;
        let mut events = Events::new(get.open_stream().await?);
        let address = loop {
            let event = events.next().await.map_err(UpstreamError::sent)?;
            if event.event.as_deref() == Some("endpoint") {
                break event.data;
            }
        };
        let url = resolve(&endpoint.url, address.trim()).map_err(UpstreamError::sent)?;
        let post = HttpLink::for_server(name, &Endpoint { url, ..endpoint.clone() });
        let post = Arc::new(post.map_err(UpstreamError::sent)?);
        let link = Arc::new(Link::default());
        let reading = tokio::spawn(read(events, link.clone(), post.clone()));
        Ok(Self { link, post, reading })
    }

    pub(crate) async fn send(&self, message: &[u8]) -> Result<(), UpstreamError> {
        self.post.tell(message).await.map_err(|error| match *error.cause {
            // The session is gone, and with it the stream that would carry the response.
            Cause::Status { status: 404 } => UpstreamError::sent(Cause::SessionGone),
            _ => error,
        })
    }

    /// Ends the stream and with it the session.
    pub(crate) fn shut(&self) {
        self.reading.abort();
    }
}

impl Drop for SseLink {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// Reads until the stream ends or violates the protocol.
async fn read(mut events: Events, link: Arc<Link>, post: Arc<HttpLink>) {
    let mut brake = Brake::default();
    let cause = loop {
        let event = match events.next().await {
            Ok(event) => event,
            Err(cause) => break cause,
        };
        if event.data.is_empty() || event.event.as_deref().is_some_and(|kind| kind != "message") {
            continue;
        }
        let bytes = event.data.len();
        let Ok(message) = Message::receive(event.data).await else {
            brake.hold(bytes).await;
            continue;
        };
        let delivery = link.deliver(message);
        brake.after(&delivery, bytes).await;
        if let Delivery::Answer(answer) = delivery {
            aside(post.clone(), answer);
        }
    };
    link.close(cause);
}

/// Posts a message in the background, so that reading continues.
fn aside(post: Arc<HttpLink>, text: Vec<u8>) {
    tokio::spawn(async move { post.tell_aside(&text).await });
}

/// Events of an open stream.
struct Events {
    stream: Stream,
    decoder: sse::Decoder,
    ready: std::collections::VecDeque<sse::Event>,
}

impl Events {
    fn new(stream: Stream) -> Self {
        let decoder = sse::Decoder::with_limit(UPSTREAM_MESSAGE_BYTES_MAX);
        Self { stream, decoder, ready: std::collections::VecDeque::new() }
    }

    async fn next(&mut self) -> Result<sse::Event, Cause> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            let mut arrived = Vec::new();
            let decoder = &mut self.decoder;
            let take =
                |piece: &[u8]| decoder.feed(piece, &mut arrived).map_err(|_| crate::message::too_large());
            if !self.stream.body.piece(take).await? {
                return Err(Cause::Closed);
            }
            self.ready.extend(arrived);
        }
    }
}

/// A request whose response arrives on the stream. Dropping it cancels the request at the server.
pub(crate) struct SsePending {
    pub(crate) sse: Arc<SseLink>,
    pub(crate) seat: Seat,
    pub(crate) done: bool,
    /// `false` for `initialize`, which may not be cancelled.
    pub(crate) cancels: bool,
}

impl SsePending {
    pub(crate) async fn next(&mut self) -> Result<Message, UpstreamError> {
        let next = self.seat.next().await;
        self.done |= next.as_ref().map_or(true, Message::is_response);
        next
    }
}

impl Drop for SsePending {
    fn drop(&mut self) {
        if !self.done && self.cancels && tokio::runtime::Handle::try_current().is_ok() {
            aside(self.sse.post.clone(), cancelled(self.seat.id));
        }
    }
}

/// Resolves the address for messages: a path, or a URL of the server's own origin.
pub(crate) fn resolve(base: &str, named: &str) -> Result<String, Cause> {
    let refused = || Cause::Garbage("it wants messages to be sent elsewhere");
    let own = Target::read(base)?;
    let scheme = if own.secure { "https" } else { "http" };
    let origin = format!("{scheme}://{}", own.authority);
    let url = if named.contains("://") {
        named.to_owned()
    } else if named.starts_with("//") || named.is_empty() {
        return Err(refused());
    } else if named.starts_with('/') {
        format!("{origin}{named}")
    } else {
        let path = own.path.split('?').next().unwrap_or("/");
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{origin}{folder}/{named}")
    };
    let target = Target::read(&url).map_err(|_| refused())?;
    let is_own =
        target.secure == own.secure && target.host.eq_ignore_ascii_case(&own.host) && target.port == own.port;
    if is_own { Ok(url) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.1: messages, and the credentials in their headers, are sent only to the operator's server.
    #[test]
    fn messages_go_to_the_origin_that_the_operator_named() {
        let base = "https://example.org/v1/sse?x=1";
        for (named, url) in [
            ("/messages?sessionId=7", "https://example.org/messages?sessionId=7"),
            ("messages/7", "https://example.org/v1/messages/7"),
            ("https://example.org/m", "https://example.org/m"),
            ("https://EXAMPLE.org:443/m", "https://EXAMPLE.org:443/m"),
        ] {
            assert_eq!(resolve(base, named).as_deref(), Ok(url));
        }
        for elsewhere in [
            "",
            "//evil.example/m",
            "https://evil.example/m",
            "http://example.org/m",
            "https://example.org:8443/m",
            "https://user@example.org/m",
            "/m\r\nX: y",
        ] {
            assert!(matches!(resolve(base, elsewhere), Err(Cause::Garbage(_))), "{elsewhere:?}");
        }
    }
}
