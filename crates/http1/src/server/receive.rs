//! Receiving the body of a request, bounded in size, time and rate.

use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::{Connection, Ended, READ_BYTES};
use crate::chunks::{ChunkDecoder, ChunkError, Decoded};
use crate::framing::Framing;
use crate::limits::{BODY_GRACE_MS, BODY_RATE_BYTES_MIN, BODY_TURN_BYTES_MAX, UNCOUNTED_BYTES_MAX};
use crate::request::RequestHead;
use crate::response::Response;

/// Reason why a body could not be received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    TooLong(usize),
    TooSlow,
    /// The framing of its chunks exceeds this limit.
    Framing {
        limit: &'static str,
        max: usize,
    },
    Broken,
}

/// Body of a request that is being received.
#[derive(Debug)]
pub(super) enum Incoming {
    Length(usize),
    Chunks { decoder: ChunkDecoder, whole: Vec<u8> },
}

impl Incoming {
    pub(super) fn new(framing: Framing) -> Self {
        match framing {
            // A length over `usize::MAX` is over every limit.
            Framing::Length(length) => Self::Length(usize::try_from(length).unwrap_or(usize::MAX)),
            Framing::Chunked => Self::Chunks { decoder: ChunkDecoder::default(), whole: Vec::new() },
            // `Framing::of_request` never returns this.
            Framing::UntilClose => Self::Length(0),
        }
    }

    /// Returns the bytes of memory that a chunked body occupies so far.
    fn capacity(&self) -> usize {
        match self {
            Self::Length(_) => 0,
            Self::Chunks { whole, .. } => whole.capacity(),
        }
    }

    /// Consumes `input`; returns the body once it is complete.
    fn take(&mut self, input: &mut Vec<u8>, bytes_max: usize) -> Result<Option<Vec<u8>>, Unreadable> {
        match self {
            Self::Length(length) if *length > bytes_max => Err(Unreadable::TooLong(bytes_max)),
            Self::Length(length) if *length > input.len() => Ok(None),
            Self::Length(length) => {
                let rest = input.split_off(*length);
                Ok(Some(std::mem::replace(input, rest)))
            }
            Self::Chunks { decoder, whole } => {
                let mut left = input.as_slice();
                let is_done = loop {
                    let room = bytes_max.saturating_sub(whole.len()) as u64;
                    match decoder.next(&mut left, usize::MAX, room) {
                        Ok(Decoded::Short) => break false,
                        Ok(Decoded::Data(data)) => whole.extend_from_slice(data),
                        Ok(Decoded::End) => break true,
                        Err(ChunkError::NoRoom) => return Err(Unreadable::TooLong(bytes_max)),
                        Err(ChunkError::TooLarge { limit, max }) => {
                            return Err(Unreadable::Framing { limit, max });
                        }
                        Err(ChunkError::Malformed(_) | ChunkError::TooManyTrailers { .. }) => {
                            return Err(Unreadable::Broken);
                        }
                    }
                };
                let used = input.len() - left.len();
                input.drain(..used);
                Ok(is_done.then(|| std::mem::take(whole)))
            }
        }
    }
}

/// Progress of a body.
struct Pace {
    begun: Instant,
    /// Total time that the body may take.
    within: Duration,
    /// Bytes received since other connections of the thread had a turn.
    since_yield: usize,
}

/// Reason why there is no body.
pub(super) enum Unread {
    Refused(Unreadable),
    /// There is no room for the body.
    Shed(Box<Response>),
    Ended(Ended),
}

impl From<Unreadable> for Unread {
    fn from(why: Unreadable) -> Self {
        Self::Refused(why)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Attaches the body to the head if it has already arrived completely. Bytes after it go back to the input.
    pub(super) fn body_here(
        &mut self,
        incoming: &mut Incoming,
        head: &mut RequestHead,
        bytes_max: usize,
    ) -> Result<bool, Unreadable> {
        if let Incoming::Length(length) = *incoming
            && length <= bytes_max
            && let Some(rest) = head.keep(length)
        {
            self.input = rest;
            return Ok(true);
        }
        self.input = head.cut();
        self.body_read(incoming, head, bytes_max)
    }

    /// Like `body_here`, for a body whose bytes are in the input and not behind the head.
    fn body_read(
        &mut self,
        incoming: &mut Incoming,
        head: &mut RequestHead,
        bytes_max: usize,
    ) -> Result<bool, Unreadable> {
        let body = incoming.take(&mut self.input, bytes_max)?;
        body.as_deref().inspect(|body| head.set_body(body));
        Ok(body.is_some())
    }

    /// Receives the body and attaches it to the head; bounded in time, rate and size. `reserve` is called with the
    /// bytes that a chunked body occupies.
    pub(super) async fn body(
        &mut self,
        incoming: &mut Incoming,
        head: &mut RequestHead,
        bytes_max: usize,
        within: Duration,
        mut reserve: impl FnMut(usize) -> Result<(), Response>,
    ) -> Result<(), Unread> {
        // Checked before the body, so that the answer does not depend on how the bytes were split into packets. RFC
        // 9110 section 10.1.1: an HTTP/1.0 client gets no interim response.
        let expects = head.has("expect") && !head.is_http_1_0();
        if head.values("expect").any(|expected| !expected.eq_ignore_ascii_case(b"100-continue")) {
            return Err(Unread::Ended(Ended::Refused(StatusCode::EXPECTATION_FAILED)));
        }
        if self.body_here(incoming, head, bytes_max)? {
            return Ok(());
        }
        if expects {
            self.out.clear();
            self.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
            self.flush(&[]).await.map_err(|_| Unread::Ended(Ended::Gone))?;
        }
        let mut pace = Pace { begun: Instant::now(), within, since_yield: 0 };
        if let Incoming::Length(length) = *incoming {
            // One read may go past the end of the body, by less than `READ_BYTES`.
            let end = head.length() + length;
            self.input = head.lend(&self.input, length + READ_BYTES);
            while self.input.len() < end {
                let received = self.input.len() + length - end;
                self.more_of_body(&mut pace, received, length).await?;
            }
            let rest = self.input.split_off(end);
            head.restore(std::mem::replace(&mut self.input, rest));
            return Ok(());
        }
        let mut reserved = UNCOUNTED_BYTES_MAX;
        let mut received = self.input.len();
        loop {
            let before = self.input.len();
            self.more_of_body(&mut pace, received, received).await?;
            received += self.input.len() - before;
            if self.body_read(incoming, head, bytes_max)? {
                return Ok(());
            }
            let taken = incoming.capacity() + self.input.capacity();
            if taken > reserved {
                reserve(taken).map_err(|response| Unread::Shed(Box::new(response)))?;
                reserved = taken;
            }
        }
    }

    /// Reads more of a body. A body over [`UNCOUNTED_BYTES_MAX`] that is slower than the minimum rate is abandoned,
    /// which frees the memory reserved for it.
    async fn more_of_body(&mut self, pace: &mut Pace, received: usize, length: usize) -> Result<(), Unread> {
        if pace.since_yield >= BODY_TURN_BYTES_MAX {
            pace.since_yield = 0;
            tokio::task::yield_now().await;
        }
        let mut patience = pace.within;
        if length > UNCOUNTED_BYTES_MAX {
            let earned = Duration::from_secs_f64(received as f64 / BODY_RATE_BYTES_MIN as f64);
            patience = patience.min(Duration::from_millis(BODY_GRACE_MS) + earned);
        }
        self.deadline.expect_within(patience.saturating_sub(pace.begun.elapsed()));
        let before = self.input.len();
        match self.more_in_time().await {
            Ok(()) => {
                pace.since_yield += self.input.len() - before;
                Ok(())
            }
            Err(Ended::Refused(_)) => Err(Unread::Refused(Unreadable::TooSlow)),
            Err(ended) => Err(Unread::Ended(ended)),
        }
    }
}
