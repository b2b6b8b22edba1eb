//! Response bodies: a message in pieces, or a stream of events.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};
use toolcrib_engine::Payload;
use toolcrib_engine::quota::Held;
use toolcrib_engine::reply::{SPLICE_TAIL, Spliced};
use toolcrib_http1::limits::UNCOUNTED_BYTES_MAX;
use toolcrib_http1::{ByteStream, ReplyBody};
use toolcrib_protocol::sse;

use crate::call::CallStream;
use crate::limits::KEEP_ALIVE_MS;
use crate::load::Account;
use crate::sessions::HttpSession;
use crate::sse_channel::ChannelReader;
use crate::stream_log::LogReader;

/// Body of a message, in its pieces.
pub(crate) fn payload(payload: Payload) -> ReplyBody {
    match payload {
        Payload::Nothing => ReplyBody::Empty,
        Payload::Whole(whole) => ReplyBody::Whole(whole),
        Payload::Joined(pieces) => ReplyBody::Pieces(pieces),
        Payload::Spliced(spliced) => {
            let Spliced { head, prepared } = *spliced;
            ReplyBody::Pieces(Box::new([head, prepared, Bytes::from_static(SPLICE_TAIL)]))
        }
    }
}

/// Body of a call's event stream; its bytes count towards its caller's quota until the client takes them.
pub(crate) fn call(call: CallStream, account: Account) -> ReplyBody {
    call.count_in(&account);
    let events = Events { account: Some(account), ..Events::new(Source::Call(Box::new(call))) };
    ReplyBody::Stream(Box::new(events))
}

/// Body of a session's stream. The session lives at least as long as one of its streams is read.
pub(crate) fn log(reader: LogReader, session: Arc<HttpSession>) -> ReplyBody {
    ReplyBody::Stream(Box::new(Events::new(Source::Log { reader, _session: session })))
}

/// Body of a stream of the HTTP+SSE transport.
pub(crate) fn channel(reader: ChannelReader) -> ReplyBody {
    ReplyBody::Stream(Box::new(Events::new(Source::Channel(Box::new(reader)))))
}

/// Stream of encoded events; sends a keep-alive comment when nothing else is sent.
#[derive(Debug)]
pub(crate) struct Events {
    source: Source,
    alarm: Pin<Box<Sleep>>,
    /// Quota for large events; a log and a channel count their own.
    account: Option<Account>,
    /// Quota of the event that is being written.
    held: Option<Held>,
}

#[derive(Debug)]
enum Source {
    Call(Box<CallStream>),
    Log { reader: LogReader, _session: Arc<HttpSession> },
    Channel(Box<ChannelReader>),
}

impl Events {
    fn new(source: Source) -> Self {
        let alarm = Box::pin(sleep(Duration::from_millis(KEEP_ALIVE_MS)));
        Self { source, alarm, account: None, held: None }
    }

    /// Counts a large event while it is written; ends the stream if there is no room for it.
    fn counted(&mut self, event: Option<Bytes>) -> Option<Bytes> {
        if let (Some(event), Some(account)) = (&event, &self.account)
            && event.len() > UNCOUNTED_BYTES_MAX
        {
            match account.unread.answers.take(&account.owner, event.len()) {
                Ok(held) => self.held = Some(held),
                Err(full) => {
                    tracing::warn!(target: "toolcrib", "a stream to {} was cut: {full}", account.owner);
                    return None;
                }
            }
        }
        event
    }
}

impl ByteStream for Events {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.held = None;
        let event = match &mut self.source {
            Source::Call(call) => call.poll_next(cx),
            Source::Log { reader, .. } => reader.poll_next(cx),
            Source::Channel(reader) => reader.poll_next(cx),
        };
        if let Poll::Ready(event) = event {
            self.alarm.as_mut().reset(Instant::now() + Duration::from_millis(KEEP_ALIVE_MS));
            return Poll::Ready(self.counted(event));
        }
        ready!(std::future::Future::poll(self.alarm.as_mut(), cx));
        self.alarm.as_mut().reset(Instant::now() + Duration::from_millis(KEEP_ALIVE_MS));
        Poll::Ready(Some(Bytes::from_static(sse::KEEP_ALIVE)))
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_engine::{Principal, Session};
    use toolcrib_protocol::{ClientCapabilities, Revision};

    use super::*;
    use crate::sessions::Sessions;
    use crate::stream_log::StreamLog;

    /// `KEEP_ALIVE_MS`: proxies close a connection that is silent for too long.
    #[tokio::test(start_paused = true)]
    async fn a_stream_that_is_open_says_so_every_keep_alive_ms() {
        let id = toolcrib_engine::SessionId::random().unwrap();
        let session = Session::new(
            Some(id),
            Principal::Anonymous,
            Revision::V2025_11_25,
            ClientCapabilities::default(),
            None,
        );
        let session = Sessions::default().open(session, None).unwrap();
        let log = StreamLog::new(1, None);
        let mut events = Events::new(Source::Log { reader: log.read_on(), _session: session });
        let begun = Instant::now();
        for times in 1..=3_u32 {
            let event = std::future::poll_fn(|cx| events.poll_next(cx)).await.unwrap();
            assert_eq!(&*event, sse::KEEP_ALIVE);
            assert_eq!(begun.elapsed(), Duration::from_millis(KEEP_ALIVE_MS) * times);
        }
        log.append(b"{}");
        let event = std::future::poll_fn(|cx| events.poll_next(cx)).await.unwrap();
        assert!(event.ends_with(b"data: {}\n\n"), "{event:?}");
    }
}
