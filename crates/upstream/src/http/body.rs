//! Body of an HTTP response, read piece by piece; returns its connection to the pool.
//!
//! Guarantees: a body that is read to its end returns its connection; one that is dropped before closes it, which
//! cancels the call at a modern server. A body never takes more memory than its limit. Large bodies of one server are
//! buffered one at a time, and reading them pauses so that other tasks get the thread.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use tokio::sync::OwnedSemaphorePermit;
use toolcrib_http1::ResponseHead;
use toolcrib_http1::client::BodyReader;

use super::conn::Conn;
use super::inflate::Inflater;
use super::media::Media;
use super::pool::Pool;
use crate::error::Cause;
use crate::limits::{
    UPSTREAM_LARGE_BYTES, UPSTREAM_REFUSAL_BYTES_MAX, UPSTREAM_STREAM_TURN_BYTES_MAX, UPSTREAM_TURN_BYTES_MAX,
};

/// Body of a response, decompressed while it is read.
pub(crate) struct Body {
    raw: Raw,
    /// Decompressor of a compressed body.
    inflater: Option<Box<Inflater>>,
    /// Share of the server's `UPSTREAM_WINDOWS_BYTES_MAX`, held as long as the decompressor.
    window: Option<OwnedSemaphorePermit>,
}

/// A body before decompression.
struct Raw {
    source: Source,
    pool: Arc<Pool>,
    turn: Turn,
}

/// Connection that a body comes from.
enum Source {
    Http1 { conn: Box<Conn>, reader: BodyReader, keeps_alive: bool },
    Http2 { incoming: Box<Incoming>, ahead: Bytes },
    Done,
}

/// Progress of reading, for pauses.
struct Turn {
    /// Bytes between two pauses.
    bytes_max: usize,
    total: usize,
    since_pause: usize,
    since_rest: usize,
    /// Held while more than `UPSTREAM_LARGE_BYTES` of the body are in memory.
    permit: Option<OwnedSemaphorePermit>,
}

/// Bytes of a long body that are read before the task yields; also the maximum size of a piece.
const REST_BYTES: usize = 32 * 1024;

/// Cost of handling one piece, in bytes that could be read in the same time: a flood of one-byte chunks pauses as
/// often as one of long chunks.
const PIECE_COST_BYTES: usize = 256;

impl Body {
    pub(crate) fn http1(
        conn: Box<Conn>,
        pool: Arc<Pool>,
        head: &ResponseHead,
        media: Media,
    ) -> Result<Self, Cause> {
        let (reader, keeps_alive) = (BodyReader::new(head.framing()), head.keeps_alive());
        let mut body = Self::new(Source::Http1 { conn, reader, keeps_alive }, pool, head, media)?;
        body.raw.finish_if_done();
        Ok(body)
    }

    pub(crate) fn http2(
        incoming: Incoming,
        pool: Arc<Pool>,
        head: &ResponseHead,
        media: Media,
    ) -> Result<Self, Cause> {
        let source = Source::Http2 { incoming: Box::new(incoming), ahead: Bytes::new() };
        Self::new(source, pool, head, media)
    }

    fn new(source: Source, pool: Arc<Pool>, head: &ResponseHead, media: Media) -> Result<Self, Cause> {
        let inflater = Inflater::of(head)?.map(Box::new);
        Ok(Self { raw: Raw { source, pool, turn: Turn::new(media) }, inflater, window: None })
    }

    /// Reads the whole body as text; refuses a body of more than `bytes_max` bytes by the name in `limit`.
    pub(crate) async fn text(&mut self, limit: &'static str, bytes_max: usize) -> Result<String, Cause> {
        let too_large = || Cause::TooLarge { limit, max: bytes_max };
        let whole = match self.announced_bytes().map(usize::try_from) {
            Some(Ok(bytes)) if bytes <= bytes_max => self.raw.announced(bytes).await?,
            Some(_) => return Err(too_large()),
            // Boxed, so that reading a body of known length has a smaller future.
            None => Box::pin(self.gathered(bytes_max, too_large)).await?,
        };
        String::from_utf8(whole).map_err(|_| Cause::Garbage("it is not UTF-8"))
    }

    /// Returns the missing bytes, if the length is known and the body is not compressed.
    fn announced_bytes(&self) -> Option<u64> {
        match &self.raw.source {
            _ if self.inflater.is_some() => None,
            Source::Http1 { reader, .. } => reader.announced(),
            Source::Http2 { .. } => None,
            Source::Done => Some(0),
        }
    }

    /// Reads the body of a refusal, if it is short.
    pub(crate) async fn refusal(&mut self) -> Option<String> {
        self.text("UPSTREAM_REFUSAL_BYTES_MAX", UPSTREAM_REFUSAL_BYTES_MAX).await.ok()
    }

    /// Reads a body of unknown length.
    async fn gathered(&mut self, bytes_max: usize, too_large: impl Fn() -> Cause) -> Result<Vec<u8>, Cause> {
        let mut whole = Gathered::default();
        while self
            .piece(|piece| {
                let fits = whole.bytes + piece.len() <= bytes_max;
                if fits {
                    whole.push(piece);
                }
                if fits { Ok(()) } else { Err(too_large()) }
            })
            .await?
        {
            self.keeps(whole.bytes).await;
        }
        Ok(whole.joined())
    }

    /// Passes the next piece, of at most `REST_BYTES`, to `take`; returns `false` at the end of the body.
    pub(crate) async fn piece(
        &mut self,
        take: impl FnOnce(&[u8]) -> Result<(), Cause>,
    ) -> Result<bool, Cause> {
        let Self { raw, inflater: Some(inflater), window } = self else { return self.raw.piece(take).await };
        loop {
            raw.rest().await;
            // Taken with the first input, so that a body of which nothing has come yet keeps no other waiting.
            if window.is_none()
                && let Some(kib) = inflater.window_kib()?
            {
                *window = Box::pin(raw.pool.windows.clone().acquire_many_owned(kib)).await.ok();
            }
            let decoded = inflater.next()?;
            if !decoded.is_empty() {
                raw.turn.count(decoded.len() + PIECE_COST_BYTES);
                return take(decoded).map(|()| true);
            }
            let goes_on = raw.piece(|piece| inflater.add(piece));
            if !goes_on.await? {
                return inflater.end().map(|()| false);
            }
        }
    }

    /// Reports how many bytes of the body are in memory; waits if another body of the server is large already.
    pub(crate) async fn keeps(&mut self, bytes: usize) {
        self.raw.keeps(bytes).await;
    }
}

impl Raw {
    /// Reads a body of known length into one buffer of that size.
    async fn announced(&mut self, bytes: usize) -> Result<Vec<u8>, Cause> {
        let Source::Http1 { conn, .. } = &mut self.source else { return Ok(Vec::new()) };
        let here = bytes.min(conn.ahead().len());
        // Room for one more byte: a read that does not fill it shows that no data follows the body.
        let mut whole = Vec::with_capacity(if here == bytes { bytes } else { bytes + 1 });
        whole.extend_from_slice(conn.ahead().get(..here).unwrap_or_default());
        conn.take(here);
        self.turn.count(here);
        while whole.len() < bytes {
            self.keeps(whole.len()).await;
            self.rest().await;
            let Source::Http1 { conn, .. } = &mut self.source else { return Err(Cause::Closed) };
            match conn.read_into(&mut whole).await {
                Ok(0) | Err(_) => return Err(Cause::Closed),
                Ok(read) => self.turn.count(read),
            }
        }
        if let Source::Http1 { reader, keeps_alive, .. } = &mut self.source {
            // More data than announced: it cannot be attributed to a request, so the connection is not reused.
            *keeps_alive &= whole.len() == bytes;
            reader.skip(bytes as u64);
        }
        whole.truncate(bytes);
        self.finish_if_done();
        Ok(whole)
    }

    /// Passes the next raw piece to `take`.
    async fn piece(&mut self, take: impl FnOnce(&[u8]) -> Result<(), Cause>) -> Result<bool, Cause> {
        self.rest().await;
        let turn = &mut self.turn;
        let counted = |piece: &[u8]| {
            turn.count(piece.len() + PIECE_COST_BYTES);
            take(piece)
        };
        let taken = match &mut self.source {
            Source::Done => return Ok(false),
            Source::Http1 { conn, reader, .. } => reader.piece(conn, REST_BYTES, counted).await?,
            Source::Http2 { incoming, ahead } => {
                while ahead.is_empty() {
                    match incoming.frame().await {
                        None => {
                            self.source = Source::Done;
                            return Ok(false);
                        }
                        Some(Err(_)) => return Err(Cause::Closed),
                        Some(Ok(frame)) => *ahead = frame.into_data().unwrap_or_default(),
                    }
                }
                let piece = ahead.split_to(ahead.len().min(REST_BYTES));
                Some(counted(&piece))
            }
        };
        self.finish_if_done();
        taken.transpose().map(|taken| taken.is_some())
    }

    /// Takes the permit for a large body once `bytes` exceeds `UPSTREAM_LARGE_BYTES`.
    async fn keeps(&mut self, bytes: usize) {
        if bytes <= UPSTREAM_LARGE_BYTES {
            self.turn.permit = None;
        } else if self.turn.permit.is_none() {
            self.turn.permit = Box::pin(self.pool.large.clone().acquire_owned()).await.ok();
        }
    }

    /// Lets other tasks run: yields in a long body, sleeps in a large one.
    async fn rest(&mut self) {
        if self.turn.total <= UPSTREAM_TURN_BYTES_MAX || self.turn.since_rest <= REST_BYTES {
            return;
        }
        self.turn.since_rest = 0;
        if self.turn.total > UPSTREAM_LARGE_BYTES && self.turn.since_pause > self.turn.bytes_max {
            self.turn.since_pause = 0;
            Box::pin(self.pool.pause()).await;
        } else {
            tokio::task::yield_now().await;
        }
    }

    /// Returns the connection to the pool once the body was read to its end.
    fn finish_if_done(&mut self) {
        let is_done = matches!(&self.source, Source::Http1 { reader, .. } if reader.is_done());
        if !is_done {
            return;
        }
        self.turn.permit = None;
        if let Source::Http1 { conn, keeps_alive: true, .. } =
            std::mem::replace(&mut self.source, Source::Done)
        {
            self.pool.put(conn);
        }
    }
}

/// Buffer of a body of unknown length. A large one consists of parts, because growing in place would take twice its
/// size.
#[derive(Default)]
struct Gathered {
    first: Vec<u8>,
    parts: Vec<Vec<u8>>,
    bytes: usize,
}

impl Gathered {
    fn push(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
        let has_room = |part: &Vec<u8>| part.capacity() - part.len() >= piece.len();
        let is_small = self.first.len() + piece.len() <= UPSTREAM_LARGE_BYTES;
        if self.parts.is_empty() && (is_small || has_room(&self.first)) {
            return self.first.extend_from_slice(piece);
        }
        match self.parts.last_mut().filter(|part| has_room(part)) {
            Some(part) => part.extend_from_slice(piece),
            None => {
                let mut part = Vec::with_capacity(UPSTREAM_LARGE_BYTES.max(piece.len()));
                part.extend_from_slice(piece);
                self.parts.push(part);
            }
        }
    }

    fn joined(mut self) -> Vec<u8> {
        if !self.parts.is_empty() {
            self.first.reserve_exact(self.bytes - self.first.len());
        }
        for part in self.parts {
            self.first.extend_from_slice(&part);
        }
        self.first
    }
}

impl Turn {
    fn new(media: Media) -> Self {
        let bytes_max = match media {
            Media::Events => UPSTREAM_STREAM_TURN_BYTES_MAX,
            Media::Json | Media::Other => UPSTREAM_TURN_BYTES_MAX,
        };
        Self { bytes_max, total: 0, since_pause: 0, since_rest: 0, permit: None }
    }

    fn count(&mut self, bytes: usize) {
        self.total += bytes;
        self.since_pause += bytes;
        self.since_rest += bytes;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt as _;

    use super::*;
    use crate::http::link::HttpLink;
    use crate::http::once;
    use crate::limits::{UPSTREAM_COMPRESSED_BYTES_MAX, UPSTREAM_WINDOWS_BYTES_MAX};
    use crate::spec::Endpoint;

    #[test]
    fn what_is_gathered_in_parts_is_whole_in_the_end() {
        let text: Vec<u8> = (0..5 * UPSTREAM_LARGE_BYTES).map(|at| (at % 251) as u8).collect();
        for size in [1_000, 65_537, UPSTREAM_LARGE_BYTES + 1] {
            let mut gathered = Gathered::default();
            text.chunks(size).for_each(|piece| gathered.push(piece));
            assert_eq!(gathered.bytes, text.len());
            assert!(gathered.joined() == text, "{size}");
        }
    }

    fn coded(coding: &str, body: &[u8]) -> Vec<u8> {
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {length}\r\n\r\n");
        [head.as_bytes(), body].concat()
    }

    /// A brotli body with a window of 2^`bits` bytes.
    fn brotli(text: &[u8], bits: i32) -> Vec<u8> {
        let params = brotli::enc::BrotliEncoderParams { lgwin: bits, quality: 1, ..Default::default() };
        let mut out = Vec::new();
        brotli::BrotliCompress(&mut &*text, &mut out, &params).unwrap();
        out
    }

    fn linked(url: String) -> HttpLink {
        HttpLink::new(&Endpoint { url, ..Endpoint::default() }).unwrap()
    }

    async fn read_text(link: &HttpLink) -> Result<usize, Cause> {
        let mut answer = link.plain("GET", "", b"").await.map_err(|error| *error.cause)?;
        answer.body.text("UPSTREAM_MESSAGE_BYTES_MAX", 16 * 1024 * 1024).await.map(|text| text.len())
    }

    /// R5.6: a brotli stream that is open and idle, as of events, keeps no other body waiting.
    #[tokio::test]
    async fn an_idle_brotli_stream_delays_no_answer() {
        let count = std::sync::atomic::AtomicUsize::new(0);
        let url = once::act(move |mut visitor| {
            let is_first = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
            async move {
                let body = brotli(b"hello", 22);
                let (head, whole) = (coded("br", &body[..0]), coded("br", &body));
                match is_first {
                    // The head, and a part of the body, and nothing more.
                    true => {
                        let head = String::from_utf8(head).unwrap().replace("Length: 0", "Length: 100");
                        let _ = visitor.write_all(&[head.as_bytes(), &body[..3]].concat()).await;
                        std::future::pending::<()>().await;
                    }
                    false => drop(visitor.write_all(&whole).await),
                }
            }
        })
        .await;
        let link = linked(url);
        let mut stream = link.plain("GET", "", b"").await.unwrap();
        let idle = tokio::time::timeout(Duration::from_millis(100), stream.body.piece(|_| Ok(())));
        assert!(idle.await.is_err());
        for _ in 0..3 {
            let read = tokio::time::timeout(Duration::from_secs(5), read_text(&link)).await;
            assert_eq!(read.expect("it waits for the idle stream"), Ok(5));
        }
    }

    /// R5.6: `UPSTREAM_WINDOWS_BYTES_MAX`: the windows of one server's bodies together; a further body waits until one
    /// of them ends. A window that is no part of `br` is refused.
    #[tokio::test]
    async fn brotli_windows_over_upstream_windows_bytes_max_wait() {
        let url = once::act(|mut visitor| async move {
            let body = brotli(&vec![b'x'; 1_000_000], 24);
            let whole = coded("br", &body);
            let _ = visitor.write_all(&whole[..whole.len() - 1]).await;
            std::future::pending::<()>().await;
            drop(visitor);
        })
        .await;
        let link = linked(url);
        let mut held = Vec::new();
        let begun = async |link: &HttpLink| {
            let mut answer = link.plain("GET", "", b"").await.unwrap();
            let piece = tokio::time::timeout(Duration::from_millis(300), answer.body.piece(|_| Ok(())));
            piece.await.is_ok().then_some(answer)
        };
        while let Some(answer) = begun(&link).await {
            held.push(answer);
        }
        assert_eq!(held.len(), UPSTREAM_WINDOWS_BYTES_MAX / (16 * 1024 * 1024));
        held.pop();
        assert!(begun(&link).await.is_some());
        let large_window = String::from_utf8(coded("br", &[0x11; 9])).unwrap();
        let refused = read_text(&linked(once::say(large_window).await)).await.unwrap_err();
        assert_eq!(refused, Cause::Garbage("its compression is broken"));
    }

    /// R5.6: `UPSTREAM_COMPRESSED_BYTES_MAX`: an endless header and empty blocks are refused by the limit's name.
    #[tokio::test]
    async fn compressed_bytes_without_content_are_refused() {
        let header = b"\x1f\x8b\x08\x08\0\0\0\0\0\xff";
        let name = [header.as_slice(), &vec![b'n'; 2 * UPSTREAM_COMPRESSED_BYTES_MAX]].concat();
        let empty = b"\0\0\0\xff\xff".repeat(UPSTREAM_COMPRESSED_BYTES_MAX / 2);
        for (coding, body) in [("gzip", name), ("deflate", empty)] {
            let url = once::act(move |mut visitor| {
                let whole = coded(coding, &body);
                async move {
                    let _ = visitor.write_all(&whole).await;
                }
            })
            .await;
            let refused = read_text(&linked(url)).await.unwrap_err().to_string();
            assert!(refused.starts_with("UPSTREAM_COMPRESSED_BYTES_MAX: "), "{coding}: {refused}");
        }
    }

    /// R5.6: one read of compressed input can become 16 MiB; other tasks run in between.
    #[tokio::test]
    async fn others_get_their_turn_while_a_body_is_decompressed() {
        const BYTES: usize = 8 * 1024 * 1024;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut gzip, &vec![b' '; BYTES]).unwrap();
        let whole = coded("gzip", &gzip.finish().unwrap());
        assert!(whole.len() < 16 * 1024, "one read");
        let url = once::act(move |mut visitor| {
            let whole = whole.clone();
            async move {
                let _ = visitor.write_all(&whole).await;
            }
        })
        .await;
        let link = linked(url);
        let mut answer = link.plain("GET", "", b"").await.unwrap();
        let turns = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = turns.clone();
        let other = tokio::spawn(async move {
            loop {
                counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        let text = answer.body.text("UPSTREAM_MESSAGE_BYTES_MAX", 2 * BYTES).await.unwrap();
        other.abort();
        assert_eq!(text.len(), BYTES);
        let turns = turns.load(std::sync::atomic::Ordering::Relaxed);
        assert!(turns >= BYTES / (2 * REST_BYTES), "{turns} turns");
    }

    /// R5.6: the body of a refusal is read only if it is short.
    #[tokio::test]
    async fn a_refusal_over_upstream_refusal_bytes_max_is_not_looked_at() {
        let refusal = async |bytes: usize| {
            let endpoint = Endpoint { url: once::serve(bytes).await, ..Endpoint::default() };
            let mut answer = HttpLink::new(&endpoint).unwrap().plain("GET", "", b"").await.unwrap();
            answer.body.refusal().await.map(|text| text.len())
        };
        assert_eq!(refusal(UPSTREAM_REFUSAL_BYTES_MAX).await, Some(UPSTREAM_REFUSAL_BYTES_MAX));
        assert_eq!(refusal(UPSTREAM_REFUSAL_BYTES_MAX + 1).await, None);
    }
}
