//! Server side of a connection: reads a request, writes its response, reads the next one.
//!
//! Guarantees: head and body are bounded in bytes and time. Pipelined requests wait for their turn. A client that
//! disconnects is noticed while its answer is computed. An admitted request is answered before the server stops.

#[doc(hidden)]
pub mod observed;
mod receive;

use std::cell::RefCell;
use std::future::Future;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

pub use self::receive::Unreadable;
use self::receive::{Incoming, Unread};
use crate::deadline::{Deadline, Over};
use crate::limits::{
    AHEAD_BYTES_MAX, HEAD_BYTES_MAX, LINGER_BYTES_MAX, LINGER_MS_MAX, LINGERING_MAX, UNCOUNTED_BYTES_MAX,
    WRITE_BYTES_PER_S_MIN, WRITE_MS_MAX,
};
use crate::request::{RequestHead, Shape};
use crate::response::{After, ByteStream, ReplyBody, Response};

/// Maximum bytes of one read from the socket.
const READ_BYTES: usize = 64 * 1024;

thread_local! {
    /// Read buffer shared by all connections of a thread: an idle connection holds no buffer, and this one stays in
    /// the CPU cache.
    static PLACE: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
}

/// Bodies up to this size are copied into the buffer of the head: one buffer is cheaper to send than two.
const COPIED_BYTES_MAX: usize = 16 * 1024;

/// Handler of requests. Sees the head before the body is read, and gets the body with it afterwards.
pub trait Service: Send + Sync + 'static {
    /// Result of judging a head.
    type Admitted: Send;
    /// Quota that a large head occupies; released when dropped.
    type HeadRoom: Send;

    /// Reserves room for a head of more than [`UNCOUNTED_BYTES_MAX`] from this network address: without the head before
    /// all of it is received, and again, in place of the first room, when the head can be seen.
    fn head_room(
        &self,
        head: Option<&RequestHead>,
        address: Option<IpAddr>,
    ) -> Result<Self::HeadRoom, Response>;

    /// Judges a request by its head and the network address of the client.
    fn admit(&self, head: &RequestHead, address: Option<IpAddr>) -> Result<Self::Admitted, Response>;

    /// Returns the maximum bytes of a body and how long it may take to arrive.
    fn body_limits(&self) -> (usize, Duration);

    /// Reserves the total bytes that the body of an admitted request occupies or will occupy.
    fn reserve(&self, admitted: &mut Self::Admitted, bytes: usize) -> Result<(), Response>;

    /// Returns the response to an admitted request whose body could not be received.
    fn unread(&self, admitted: Self::Admitted, why: Unreadable) -> Response;

    fn answer(
        self: &Arc<Self>,
        head: RequestHead,
        admitted: Self::Admitted,
    ) -> impl Future<Output = Response> + Send;
}

/// Serves a connection until it ends. After `stopped` turns true, a request under way is still answered.
pub async fn serve<S, V>(
    stream: S,
    service: Arc<V>,
    address: Option<IpAddr>,
    stopped: watch::Receiver<bool>,
    head_within: Duration,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    V: Service,
{
    let deadline = Deadline::new(stopped, head_within);
    let mut connection =
        Connection { stream, address, input: Vec::new(), before: None, out: Vec::new(), deadline };
    loop {
        // An idle connection holds no buffer.
        connection.out = Vec::new();
        // The room of a large head is held until its request is answered.
        let ended = match connection.head(&*service, head_within).await {
            Ok((head, _room)) => connection.answer(&service, head).await,
            Err(ended) => Err(ended),
        };
        if let Err(ended) = ended {
            return connection.end(ended).await;
        }
    }
}

/// Reason why a connection ends.
#[derive(Debug)]
enum Ended {
    /// The client has disconnected or timed out.
    Gone,
    /// The input is not a request that can be answered; it gets this status.
    Refused(StatusCode),
    /// There is no room for the head.
    Shed(Box<Response>),
    /// The last response was written. `all_read` is `true` if no input is left unread.
    Closed { all_read: bool },
}

impl From<io::Error> for Ended {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// Properties of a request that shape its response.
#[derive(Debug, Clone, Copy)]
struct Reply {
    is_head: bool,
    is_http_1_0: bool,
    after: After,
}

struct Connection<S> {
    stream: S,
    /// Network address of the client, if the transport has addresses.
    address: Option<IpAddr>,
    /// Bytes that were read and not consumed yet.
    input: Vec<u8>,
    /// Shape of the previous head.
    before: Option<Arc<Shape>>,
    /// Output buffer of one response.
    out: Vec<u8>,
    deadline: Deadline,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Reads the head of the next request. A head over [`UNCOUNTED_BYTES_MAX`] reserves room before more of it is
    /// read.
    async fn head<V: Service>(
        &mut self,
        service: &V,
        within: Duration,
    ) -> Result<(RequestHead, Option<V::HeadRoom>), Ended> {
        self.deadline.expect_within(within);
        let mut looked_at = 0;
        let mut room = None;
        loop {
            // After the first attempt, a head can only be complete once another line end has arrived.
            let news = self.input.get(looked_at..).unwrap_or_default();
            let may_be_whole = if looked_at == 0 { !news.is_empty() } else { news.contains(&b'\n') };
            let received = self.input.len();
            let head = match may_be_whole || received > HEAD_BYTES_MAX {
                true => RequestHead::take(&mut self.input, &mut self.before).map_err(Ended::Refused)?,
                false => None,
            };
            let head_bytes = if head.is_some() { received - self.input.len() } else { received };
            if head_bytes > UNCOUNTED_BYTES_MAX && (room.is_none() || head.is_some()) {
                // Freed first, so that the head is never counted twice.
                drop(room.take());
                let taken = service.head_room(head.as_ref(), self.address);
                room = Some(taken.map_err(|shed| Ended::Shed(Box::new(shed)))?);
            }
            if let Some(head) = head {
                return Ok((head, room));
            }
            looked_at = self.input.len();
            match self.more().await? {
                Some(Over::Stopped) if self.input.is_empty() => return Err(Ended::Closed { all_read: true }),
                // A request that has begun may finish.
                Some(Over::Stopped) => self.more_in_time().await?,
                Some(Over::TooLate) if self.input.is_empty() => return Err(Ended::Gone),
                Some(Over::TooLate) => return Err(Ended::Refused(StatusCode::REQUEST_TIMEOUT)),
                None => {}
            }
        }
    }

    /// Reads more input, or returns why it stopped waiting.
    async fn more(&mut self) -> Result<Option<Over>, Ended> {
        std::future::poll_fn(|cx| match self.poll_read(cx, READ_BYTES) {
            Poll::Ready(read) => Poll::Ready(read.map(|()| None)),
            Poll::Pending => self.deadline.poll_over(cx).map(|over| Ok(Some(over))),
        })
        .await
    }

    /// Reads more input; the shutdown signal does not interrupt it.
    async fn more_in_time(&mut self) -> Result<(), Ended> {
        std::future::poll_fn(|cx| match self.poll_read(cx, READ_BYTES) {
            Poll::Ready(read) => Poll::Ready(read),
            Poll::Pending => {
                self.deadline.poll_late(cx).map(|()| Err(Ended::Refused(StatusCode::REQUEST_TIMEOUT)))
            }
        })
        .await
    }

    /// Reads at most `most` bytes.
    fn poll_read(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<Result<(), Ended>> {
        PLACE.with_borrow_mut(|place| {
            let most = most.min(place.len());
            let mut read = ReadBuf::new(place.get_mut(..most).unwrap_or_default());
            match Pin::new(&mut self.stream).poll_read(cx, &mut read) {
                Poll::Ready(Ok(())) if !read.filled().is_empty() => {
                    self.input.extend_from_slice(read.filled());
                    Poll::Ready(Ok(()))
                }
                Poll::Ready(_) => Poll::Ready(Err(Ended::Gone)),
                Poll::Pending => Poll::Pending,
            }
        })
    }

    /// Ready once the client has disconnected. Input that it sends ahead is buffered, up to `AHEAD_BYTES_MAX`.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        while self.input.len() < AHEAD_BYTES_MAX {
            match self.poll_read(cx, AHEAD_BYTES_MAX - self.input.len()) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(ended)) => return Poll::Ready(ended),
                Poll::Pending => break,
            }
        }
        Poll::Pending
    }

    async fn answer<V: Service>(&mut self, service: &Arc<V>, mut head: RequestHead) -> Result<(), Ended> {
        let framing = head.framing().map_err(|ambiguous| Ended::Refused(ambiguous.status()))?;
        let mut incoming = Incoming::new(framing);
        let keeps = head.keeps_alive();
        let is_http_1_0 = head.is_http_1_0();
        let is_head = head.method() == Method::HEAD;
        let reply = |after| Reply { is_head, is_http_1_0, after };
        let (bytes_max, within) = service.body_limits();
        let admitted = service.admit(&head, self.address).and_then(|mut admitted| match incoming {
            Incoming::Length(bytes) if bytes > UNCOUNTED_BYTES_MAX && bytes <= bytes_max => {
                service.reserve(&mut admitted, bytes).map(|()| admitted)
            }
            _ => Ok(admitted),
        });
        let mut admitted = match admitted {
            Ok(admitted) => admitted,
            Err(response) => {
                // The connection can be reused if the whole body has already arrived and can be skipped.
                let is_passed = self.body_here(&mut incoming, &mut head, bytes_max) == Ok(true);
                let after = self.after(keeps && is_passed, is_http_1_0);
                return self.write(response, reply(after)).await?.then(after, is_passed);
            }
        };
        let reserve = |bytes| service.reserve(&mut admitted, bytes);
        match self.body(&mut incoming, &mut head, bytes_max, within, reserve).await {
            Ok(()) => {}
            Err(Unread::Ended(ended)) => return Err(ended),
            Err(Unread::Refused(why)) => {
                self.write(service.unread(admitted, why), reply(After::Closed)).await?;
                return Err(Ended::Closed { all_read: false });
            }
            Err(Unread::Shed(response)) => {
                self.write(*response, reply(After::Closed)).await?;
                return Err(Ended::Closed { all_read: false });
            }
        }
        // Boxed, so that an idle connection does not hold the memory of a call: 10,000 of them are kept.
        let mut answer = Box::pin(service.answer(head, admitted));
        let response = std::future::poll_fn(|cx| match answer.as_mut().poll(cx) {
            Poll::Ready(response) => Poll::Ready(Ok(response)),
            Poll::Pending => self.poll_gone(cx).map(Err),
        })
        .await?;
        let after = self.after(keeps, is_http_1_0);
        self.write(response, reply(after)).await?.then(after, true)
    }

    fn after(&self, keeps: bool, is_http_1_0: bool) -> After {
        match (keeps && !self.deadline.is_stopping(), is_http_1_0) {
            (false, _) => After::Closed,
            (true, false) => After::Kept,
            (true, true) => After::KeptAndSaid,
        }
    }

    /// Writes a response.
    async fn write(&mut self, mut response: Response, reply: Reply) -> Result<Written, Ended> {
        self.out.clear();
        let body = std::mem::replace(&mut response.body, ReplyBody::Empty);
        let length = body.length();
        if let ReplyBody::Stream(stream) = body {
            let is_chunked = !reply.is_http_1_0;
            // A stream without chunks ends with the connection.
            let after = if is_chunked { reply.after } else { After::Closed };
            response.write_head(&mut self.out, None, is_chunked, after);
            self.flush(&[]).await?;
            if !reply.is_head {
                self.write_stream(stream, is_chunked).await?;
            }
            return Ok(if is_chunked { Written::Whole } else { Written::UntilClose });
        }
        response.write_head(&mut self.out, length, false, reply.after);
        let is_copied = length.is_some_and(|length| length <= COPIED_BYTES_MAX);
        match &body {
            _ if reply.is_head => self.flush(&[]).await?,
            ReplyBody::Empty | ReplyBody::Stream(_) => self.flush(&[]).await?,
            ReplyBody::Whole(bytes) if is_copied => {
                self.out.extend_from_slice(bytes);
                self.flush(&[]).await?;
            }
            ReplyBody::Whole(bytes) => self.flush(&[bytes]).await?,
            ReplyBody::Pieces(pieces) if is_copied => {
                pieces.iter().for_each(|piece| self.out.extend_from_slice(piece));
                self.flush(&[]).await?;
            }
            ReplyBody::Pieces(pieces) => self.write_pieces(pieces).await?,
        }
        Ok(Written::Whole)
    }

    /// Sends the head and then a body of several pieces.
    async fn write_pieces(&mut self, pieces: &[bytes::Bytes]) -> Result<(), Ended> {
        for group in pieces.chunks(3) {
            let mut parts: [&[u8]; 3] = [&[]; 3];
            for (part, piece) in parts.iter_mut().zip(group) {
                *part = piece;
            }
            self.flush(&parts).await?;
            self.out.clear();
        }
        Ok(())
    }

    async fn write_stream(&mut self, mut stream: Box<dyn ByteStream>, is_chunked: bool) -> Result<(), Ended> {
        loop {
            let piece = std::future::poll_fn(|cx| match stream.poll_next(cx) {
                Poll::Ready(piece) => Poll::Ready(Ok(piece)),
                Poll::Pending => self.poll_gone(cx).map(Err),
            })
            .await?;
            self.out.clear();
            match piece {
                Some(piece) if is_chunked => {
                    self.out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                    self.flush(&[&piece, b"\r\n"]).await?;
                }
                Some(piece) => self.flush(&[&piece]).await?,
                None if is_chunked => {
                    self.out.extend_from_slice(b"0\r\n\r\n");
                    return self.flush(&[]).await;
                }
                None => return Ok(()),
            }
        }
    }

    /// Sends the output buffer, then `parts`. Fails if the client accepts nothing for too long, or too little on
    /// average.
    async fn flush(&mut self, parts: &[&[u8]]) -> Result<(), Ended> {
        let mut slices = [IoSlice::new(&self.out), IoSlice::new(&[]), IoSlice::new(&[]), IoSlice::new(&[])];
        for (slice, part) in slices.iter_mut().skip(1).zip(parts) {
            *slice = IoSlice::new(part);
        }
        let bytes = slices.iter().map(|slice| slice.len()).sum();
        let mut left = slices.get_mut(..=parts.len()).unwrap_or_default();
        // Removes empty slices.
        IoSlice::advance_slices(&mut left, 0);
        let mut is_patient = true;
        // Deadline of the whole write, set when the client first does not accept everything at once.
        let mut last = None;
        while !left.is_empty() {
            let sent = std::future::poll_fn(|cx| {
                let sent = match &*left {
                    [only] => Pin::new(&mut self.stream).poll_write(cx, only),
                    several => Pin::new(&mut self.stream).poll_write_vectored(cx, several),
                };
                if sent.is_pending() {
                    if std::mem::take(&mut is_patient) {
                        let last = *last.get_or_insert_with(|| Instant::now() + write_time_max(bytes));
                        let within = last.saturating_duration_since(Instant::now());
                        self.deadline.expect_within(within.min(Duration::from_millis(WRITE_MS_MAX)));
                    }
                    return self.deadline.poll_late(cx).map(|()| Err(io::ErrorKind::TimedOut.into()));
                }
                sent
            })
            .await?;
            if sent == 0 {
                return Err(Ended::Gone);
            }
            is_patient = true;
            IoSlice::advance_slices(&mut left, sent);
        }
        self.settle(last, S::poll_flush).await
    }

    /// Flushes or shuts down the stream. A stream that buffers writes, such as TLS, waits for the client here and shows
    /// no progress, so the wait is at most [`WRITE_MS_MAX`] and ends at `last`. In that time a client that reads
    /// [`WRITE_BYTES_PER_S_MIN`] has taken the 64 KiB that rustls buffers.
    async fn settle(
        &mut self,
        last: Option<Instant>,
        poll: fn(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<()>>,
    ) -> Result<(), Ended> {
        let mut is_waiting = false;
        let settled = std::future::poll_fn(|cx| {
            let settled = poll(Pin::new(&mut self.stream), cx);
            if settled.is_ready() {
                return settled;
            }
            if !std::mem::replace(&mut is_waiting, true) {
                let within = Duration::from_millis(WRITE_MS_MAX);
                let left = last.map(|last| last.saturating_duration_since(Instant::now()));
                self.deadline.expect_within(left.map_or(within, |left| left.min(within)));
            }
            self.deadline.poll_late(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
        });
        settled.await.map_err(Ended::from)
    }

    async fn end(mut self, ended: Ended) {
        let response = match ended {
            Ended::Gone => return,
            Ended::Refused(status) => Some(Response::empty(status)),
            Ended::Shed(response) => Some(*response),
            Ended::Closed { all_read: true } => {
                let _ = self.settle(None, S::poll_shutdown).await;
                return;
            }
            Ended::Closed { all_read: false } => None,
        };
        if let Some(response) = response {
            let refused = Reply { is_head: false, is_http_1_0: false, after: After::Closed };
            if self.write(response, refused).await.is_err() {
                return;
            }
        }
        self.linger().await;
    }

    /// Keeps reading from a client that is still sending, so that it can read the last response: closing a socket with
    /// unread bytes resets the connection. The number of lingering connections and the bytes of each are bounded.
    async fn linger(mut self) {
        if self.settle(None, S::poll_shutdown).await.is_err() {
            return;
        }
        let Ok(_place) = LINGERING.try_acquire() else { return };
        let drained = async {
            let mut bytes = 0;
            while bytes < LINGER_BYTES_MAX {
                self.input.clear();
                if std::future::poll_fn(|cx| self.poll_read(cx, READ_BYTES)).await.is_err() {
                    return;
                }
                bytes += self.input.len();
                tokio::task::yield_now().await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_millis(LINGER_MS_MAX), drained).await;
    }
}

/// Permits for lingering connections.
static LINGERING: Semaphore = Semaphore::const_new(LINGERING_MAX);

/// Returns the time in which a client must accept `bytes` bytes, however steadily it reads.
fn write_time_max(bytes: usize) -> Duration {
    let ms = bytes as u64 * 1_000 / WRITE_BYTES_PER_S_MIN;
    Duration::from_millis(WRITE_MS_MAX + ms)
}

/// Tells if the client can see the end of the body without the end of the connection.
enum Written {
    Whole,
    UntilClose,
}

impl Written {
    fn then(self, after: After, all_read: bool) -> Result<(), Ended> {
        match (self, after) {
            (Self::Whole, After::Kept | After::KeptAndSaid) => Ok(()),
            _ => Err(Ended::Closed { all_read }),
        }
    }
}

#[cfg(test)]
mod tests;
