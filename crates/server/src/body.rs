//! Response bodies: a message in one piece, a message spliced from prepared bytes, or a stream of events.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};
use toolcrib_engine::Payload;
use toolcrib_engine::reply::SPLICE_TAIL;
use toolcrib_protocol::sse;

use crate::call::CallStream;
use crate::limits::KEEP_ALIVE_MS;
use crate::sessions::HttpSession;
use crate::stream_log::LogReader;

/// What hyper writes to the client.
#[derive(Debug)]
pub(crate) enum ReplyBody {
    Chunks(VecDeque<Bytes>),
    Events(Events),
}

impl ReplyBody {
    pub(crate) fn empty() -> Self {
        Self::Chunks(VecDeque::new())
    }

    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Chunks(VecDeque::from([bytes.into()]))
    }

    pub(crate) fn payload(payload: Payload) -> Self {
        match payload {
            Payload::Nothing => Self::empty(),
            Payload::Whole(bytes) => Self::whole(bytes),
            Payload::Spliced { head, prepared } => {
                Self::Chunks(VecDeque::from([head, prepared, Bytes::from_static(SPLICE_TAIL)]))
            }
        }
    }

    pub(crate) fn call(call: CallStream) -> Self {
        Self::Events(Events::new(Source::Call(Box::new(call))))
    }

    /// The session lives at least as long as somebody reads one of its streams.
    pub(crate) fn log(reader: LogReader, session: Arc<HttpSession>) -> Self {
        Self::Events(Events::new(Source::Log { reader, _session: session }))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Chunks(chunks) => Poll::Ready(chunks.pop_front().map(|chunk| Ok(Frame::data(chunk)))),
            Self::Events(events) => {
                let event = ready!(events.poll_next(cx));
                Poll::Ready(event.map(|event| Ok(Frame::data(event))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Chunks(chunks) if chunks.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Chunks(chunks) => SizeHint::with_exact(chunks.iter().map(|chunk| chunk.len() as u64).sum()),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// A stream of encoded events that says it is alive when nothing else is said.
#[derive(Debug)]
pub(crate) struct Events {
    source: Source,
    alarm: Pin<Box<Sleep>>,
}

#[derive(Debug)]
enum Source {
    Call(Box<CallStream>),
    Log { reader: LogReader, _session: Arc<HttpSession> },
}

impl Events {
    fn new(source: Source) -> Self {
        Self { source, alarm: Box::pin(sleep(Duration::from_millis(KEEP_ALIVE_MS))) }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let event = match &mut self.source {
            Source::Call(call) => call.poll_next(cx),
            Source::Log { reader, .. } => reader.poll_next(cx),
        };
        if let Poll::Ready(event) = event {
            self.alarm.as_mut().reset(Instant::now() + Duration::from_millis(KEEP_ALIVE_MS));
            return Poll::Ready(event);
        }
        ready!(std::future::Future::poll(self.alarm.as_mut(), cx));
        self.alarm.as_mut().reset(Instant::now() + Duration::from_millis(KEEP_ALIVE_MS));
        Poll::Ready(Some(Bytes::from_static(sse::KEEP_ALIVE)))
    }
}
