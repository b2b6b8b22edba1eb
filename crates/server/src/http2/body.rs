//! Body of an answer, given to hyper in pieces.
//!
//! A piece is given when the client has room for it, so that the bytes of a large answer stay here, where they are
//! counted, until the client takes them. The last piece is short, because hyper treats an answer as done once it has
//! that piece.

use std::any::Any;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Instant;
use toolcrib_http1::{ByteStream, ReplyBody, Response};

use super::pace::{Pace, whole_by};

/// Maximum bytes of one piece: the largest DATA frame that every client accepts.
const PIECE_BYTES_MAX: usize = 16 * 1024;

/// Bytes of the last piece of a longer answer.
const LAST_BYTES_MAX: usize = 1024;

/// Bytes of a stream that hyper buffers before it asks for another piece.
pub(super) const SEND_BUFFER_BYTES: usize = 1024;

/// Body of an answer that is being sent.
pub(super) struct Outgoing {
    /// Remaining part of the current piece.
    piece: Bytes,
    rest: Rest,
    /// Remaining bytes, if known.
    left: Option<usize>,
    pace: Arc<Pace>,
    /// Deadline for taking an answer of known length.
    last: Option<Instant>,
    /// Quotas that are released when the body is dropped.
    _held: [Option<Box<dyn Any + Send>>; 2],
}

/// Source of the next pieces.
enum Rest {
    Nothing,
    Pieces(std::vec::IntoIter<Bytes>),
    Stream(Box<dyn ByteStream>),
}

/// Converts a response into hyper's. `room` is held until the body is written.
pub(super) fn response(
    mut response: Response,
    is_head: bool,
    room: Option<Box<dyn Any + Send>>,
) -> http::Response<Outgoing> {
    let body = std::mem::replace(&mut response.body, ReplyBody::Empty);
    let length = body.length();
    let (piece, rest) = match body {
        _ if is_head => (Bytes::new(), Rest::Nothing),
        ReplyBody::Empty => (Bytes::new(), Rest::Nothing),
        ReplyBody::Whole(bytes) => (bytes, Rest::Nothing),
        ReplyBody::Pieces(pieces) => (Bytes::new(), Rest::Pieces(pieces.into_vec().into_iter())),
        ReplyBody::Stream(stream) => (Bytes::new(), Rest::Stream(stream)),
    };
    let left = if is_head { Some(0) } else { length };
    let (pace, last) = (Pace::of_task(), left.map(whole_by));
    pace.expect(last);
    let held = [response.held.take(), room];
    let mut out = http::Response::new(Outgoing { piece, rest, left, pace, last, _held: held });
    *out.status_mut() = response.status;
    for (name, value) in response.headers() {
        // `Response` contains visible text only.
        if let Ok(value) = HeaderValue::from_str(value) {
            out.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
    // RFC 9110 section 8.6: a 204 has no `Content-Length`, and a 304 none but that of the 200 it stands for.
    let is_silent = matches!(response.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if let Some(length) = length.filter(|_| !is_silent) {
        out.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    out
}

impl Outgoing {
    /// Loads the next piece if the current one is empty; returns `false` at the end.
    fn poll_filled(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        while self.piece.is_empty() {
            let next = match &mut self.rest {
                Rest::Nothing => None,
                Rest::Pieces(pieces) => pieces.next(),
                Rest::Stream(stream) => match stream.poll_next(cx) {
                    Poll::Ready(next) => next,
                    Poll::Pending => {
                        self.pace.rest();
                        return Poll::Pending;
                    }
                },
            };
            let Some(next) = next else {
                self.rest = Rest::Nothing;
                return Poll::Ready(false);
            };
            self.piece = next;
        }
        Poll::Ready(true)
    }
}

/// Returns how many bytes of `piece` are sent next, if `left` bytes of the body remain.
fn piece_length(piece: usize, left: Option<usize>) -> usize {
    match left {
        Some(left) if left > LAST_BYTES_MAX => piece.min(PIECE_BYTES_MAX).min(left - LAST_BYTES_MAX),
        _ => piece.min(PIECE_BYTES_MAX),
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.poll_filled(cx).map(|is_filled| {
            let length = piece_length(self.piece.len(), self.left);
            self.pace.expect(self.last);
            self.left = self.left.map(|left| left.saturating_sub(length));
            is_filled.then(|| Ok(Frame::data(self.piece.split_to(length))))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, |left| SizeHint::with_exact(left as u64))
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    /// R14.2: a large answer is sent piece by piece and ends with a short one.
    #[tokio::test]
    async fn an_answer_is_handed_over_in_pieces() {
        let whole = |length| ReplyBody::Whole(vec![7; length].into());
        let pieces = |lengths: &[usize]| {
            ReplyBody::Pieces(lengths.iter().map(|length| Bytes::from(vec![7; *length])).collect())
        };
        for (body, expected) in [
            (whole(0), vec![]),
            (whole(1024), vec![1024]),
            (whole(1025), vec![1, 1024]),
            (whole(40_000), vec![16_384, 16_384, 6_208, 1_024]),
            (pieces(&[10, 0, 17_000, 20]), vec![10, 15_996, 1_004, 20]),
        ] {
            let total: usize = expected.iter().sum();
            let out = response(Response::new(StatusCode::OK, "a/b", body), false, None);
            assert_eq!(out.headers()[CONTENT_LENGTH], total.to_string());
            let (mut body, mut lengths) = (out.into_body(), Vec::new());
            while !body.is_end_stream() {
                assert_eq!(body.size_hint().exact(), Some((total - lengths.iter().sum::<usize>()) as u64));
                lengths.push(body.frame().await.unwrap().unwrap().into_data().unwrap().len());
            }
            assert_eq!(lengths, expected);
            assert!(body.frame().await.is_none());
        }
    }

    #[test]
    fn a_response_to_head_and_one_without_content_have_no_body() {
        let out = response(Response::json(StatusCode::OK, "{}").with("x", "1"), true, None);
        assert!(out.body().is_end_stream());
        assert_eq!(
            (&out.headers()[CONTENT_LENGTH], &out.headers()["x"]),
            (&"2".parse().unwrap(), &"1".parse().unwrap())
        );
        let none = response(Response::empty(StatusCode::NO_CONTENT), false, None);
        assert!(none.headers().is_empty() && none.body().is_end_stream());
    }
}
