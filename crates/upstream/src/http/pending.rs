//! One request to an HTTP server that is waiting for its answer.
//!
//! Guarantees: the response is bounded in bytes; a response with another id is refused as garbage. Dropping the
//! request closes the stream and sends a cancellation to a legacy server.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_protocol::{Era, sse};

use super::body::Body;
use super::link::HttpLink;
use super::media::Media;
use crate::error::{Cause, UpstreamError};
use crate::limits::{
    UPSTREAM_EVENT_ID_BYTES_MAX, UPSTREAM_MESSAGE_BYTES_MAX, UPSTREAM_RESUMES_MAX, UPSTREAM_STREAM_BYTES_MAX,
};
use crate::link::Seat;
use crate::message::{Kind, Message};

/// A request in flight over HTTP.
pub(crate) struct HttpPending {
    http: Arc<HttpLink>,
    id: u64,
    era: Era,
    body: Option<Body>,
    ready: VecDeque<Message>,
    /// State of a stream of events; `None` for a plain JSON response.
    stream: Option<Box<Stream>>,
    seat: Option<Seat>,
    done: bool,
}

/// Progress of reading a stream of events.
struct Stream {
    decoder: sse::Decoder,
    events: Vec<sse::Event>,
    bytes: usize,
    last_event: Option<String>,
    retry_ms: u64,
    resumes: usize,
}

impl HttpPending {
    pub(super) fn new(
        http: Arc<HttpLink>,
        id: u64,
        body: Body,
        media: Media,
        seat: Option<Seat>,
        era: Era,
    ) -> Self {
        let stream = (media == Media::Events).then(|| Box::new(Stream::new()));
        Self { http, id, era, body: Some(body), ready: VecDeque::new(), stream, seat, done: false }
    }

    /// A JSON-RPC error that came with an unsuccessful HTTP status.
    pub(super) fn refused(http: Arc<HttpLink>, id: u64, message: Message) -> Self {
        let ready = VecDeque::from([message]);
        Self { http, id, era: Era::Modern, body: None, ready, stream: None, seat: None, done: true }
    }

    /// Returns the next message of this request; the response is the last one.
    pub(crate) async fn next(&mut self) -> Result<Message, UpstreamError> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                self.done |= matches!(message.kind(), Kind::Response(_));
                return Ok(message);
            }
            if self.stream.is_some() {
                // Boxed, so that a plain response has a smaller future.
                Box::pin(self.read_events()).await.map_err(UpstreamError::sent)?;
                continue;
            }
            let Some(body) = &mut self.body else { return Err(UpstreamError::sent(Cause::Closed)) };
            let text = body.text("UPSTREAM_MESSAGE_BYTES_MAX", UPSTREAM_MESSAGE_BYTES_MAX).await;
            self.body = None;
            let text = text.map_err(UpstreamError::sent)?;
            let message = Message::receive(text).await.map_err(UpstreamError::sent)?;
            answers(&message, self.id).map_err(UpstreamError::sent)?;
            self.done |= message.is_response();
            return Ok(message);
        }
    }

    async fn read_events(&mut self) -> Result<(), Cause> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let Some(body) = &mut self.body else { return Box::pin(self.resume()).await };
        let Stream { decoder, events, bytes, .. } = &mut **stream;
        let piece = body.piece(|piece| {
            *bytes += piece.len();
            if *bytes > UPSTREAM_STREAM_BYTES_MAX {
                let (limit, max) = ("UPSTREAM_STREAM_BYTES_MAX", UPSTREAM_STREAM_BYTES_MAX);
                return Err(Cause::TooLarge { limit, max });
            }
            decoder.feed(piece, events).map_err(|_| crate::message::too_large())
        });
        let goes_on = match &mut self.seat {
            None => piece.await,
            Some(seat) => tokio::select! {
                biased;
                Some(message) = seat.event() => {
                    self.ready.push_back(message);
                    return Ok(());
                }
                goes_on = piece => goes_on,
            },
        };
        body.keeps(stream.decoder.held()).await;
        let arrived = std::mem::take(&mut stream.events);
        for event in arrived {
            stream.last_event = resumable(event.id).or(stream.last_event.take());
            stream.retry_ms = event.retry_ms.unwrap_or(stream.retry_ms).min(10_000);
            if !event.data.is_empty() {
                let message = Message::receive(event.data).await?;
                answers(&message, self.id)?;
                self.ready.push_back(message);
            }
        }
        match goes_on {
            Ok(true) => Ok(()),
            Ok(false) | Err(Cause::Closed) => {
                self.body = None;
                Ok(())
            }
            Err(cause) => Err(cause),
        }
    }

    /// Resumes a stream that ended without a response; only legacy servers support this.
    async fn resume(&mut self) -> Result<(), Cause> {
        let Some(stream) = &mut self.stream else { return Err(Cause::Closed) };
        let (Era::Legacy, Some(last)) = (self.era, stream.last_event.as_deref()) else {
            return Err(Cause::Closed);
        };
        stream.resumes += 1;
        if stream.resumes > UPSTREAM_RESUMES_MAX {
            return Err(Cause::Closed);
        }
        tokio::time::sleep(Duration::from_millis(stream.retry_ms)).await;
        let answer = self.http.resume(last).await.map_err(|error| *error.cause)?;
        stream.decoder = sse::Decoder::with_limit(UPSTREAM_MESSAGE_BYTES_MAX);
        self.body = Some(answer.body);
        Ok(())
    }

    /// Answers a request that the server sent during this call.
    pub(crate) async fn reply(&self, text: Vec<u8>) -> Result<(), UpstreamError> {
        self.http.tell(&text).await
    }
}

/// Returns the id of an event if it is short enough to be stored and sent back.
pub(super) fn resumable(id: Option<String>) -> Option<String> {
    id.filter(|id| id.len() <= UPSTREAM_EVENT_ID_BYTES_MAX)
}

/// Refuses a response to another request.
fn answers(message: &Message, asked: u64) -> Result<(), Cause> {
    match message.kind() {
        Kind::Response(id) if *id != Some(asked) => {
            Err(Cause::Garbage("it answers to an id that was not asked"))
        }
        _ => Ok(()),
    }
}

impl Stream {
    fn new() -> Self {
        Self {
            decoder: sse::Decoder::with_limit(UPSTREAM_MESSAGE_BYTES_MAX),
            events: Vec::new(),
            bytes: 0,
            last_event: None,
            retry_ms: 100,
            resumes: 0,
        }
    }
}

impl Drop for HttpPending {
    fn drop(&mut self) {
        if self.done || self.era == Era::Modern || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (http, text) = (self.http.clone(), crate::pending::cancelled(self.id));
        tokio::spawn(async move { http.tell_aside(&text).await });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::connection::Connection;
    use crate::fake;
    use crate::request::Request;
    use crate::spec::Spec;

    /// R5.6: a stream that breaks after each event is resumed a limited number of times.
    #[tokio::test(start_paused = true)]
    async fn a_broken_stream_is_taken_up_upstream_resumes_max_times() {
        let resumed = Arc::new(AtomicUsize::new(0));
        let url = fake::serve({
            let resumed = resumed.clone();
            move |asked| {
                let broken = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 7\ndata:\n\n";
                match (asked.verb.as_str(), asked.method.as_str()) {
                    ("POST", "tools/list") => Some(broken.to_owned()),
                    ("GET", _) => {
                        resumed.fetch_add(1, Ordering::Relaxed);
                        Some(broken.to_owned())
                    }
                    _ => Some(asked.usual()),
                }
            }
        })
        .await;
        let connection = Connection::open(&Spec::url("broken", &url)).await.unwrap();
        let error = connection.ask(&Request::new("tools/list"), 60_000).await.unwrap_err();
        assert_eq!(*error.cause, Cause::Closed);
        assert_eq!(resumed.load(Ordering::Relaxed), UPSTREAM_RESUMES_MAX);
    }

    /// R5.6: an event id is stored and sent back only up to the limit.
    #[test]
    fn an_event_id_over_upstream_event_id_bytes_max_is_not_kept() {
        let id = |bytes: usize| Some("x".repeat(bytes));
        assert_eq!(resumable(id(UPSTREAM_EVENT_ID_BYTES_MAX)), id(UPSTREAM_EVENT_ID_BYTES_MAX));
        assert_eq!(resumable(id(UPSTREAM_EVENT_ID_BYTES_MAX + 1)), None);
    }
}
