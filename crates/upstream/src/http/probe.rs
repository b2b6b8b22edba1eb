//! Runs the HTTP client on scripted responses, for fuzz targets.

use tokio::io::{AsyncRead, AsyncWrite};

use super::conn::{Conn, Stream};
use super::link::HttpLink;
use super::media::Media;
use crate::error::Cause;
use crate::limits::UPSTREAM_REFUSAL_BYTES_MAX;
use crate::spec::Endpoint;

/// One response as the client read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub status: u16,
    pub session: Option<String>,
    pub challenge: Option<String>,
    /// The body, or the reason why there is none.
    pub body: Result<Vec<u8>, Cause>,
    /// Bytes of the script after this response; `None` if the connection was not kept.
    pub left: Option<usize>,
}

/// Sends up to `requests` requests over one kept connection. Returns their responses, and the cause if the sequence
/// ended early. `unread` returns the bytes of the script that were not read yet.
pub async fn answers<S>(
    stream: S,
    requests: usize,
    unread: impl Fn() -> usize,
) -> (Vec<Answered>, Option<Cause>)
where
    S: AsyncRead + AsyncWrite + Send + Sync + Unpin + 'static,
{
    let endpoint = Endpoint { url: "http://127.0.0.1:1/".to_owned(), ..Endpoint::default() };
    let link = match HttpLink::new(&endpoint) {
        Ok(link) => link,
        Err(cause) => return (Vec::new(), Some(cause)),
    };
    link.pool.put(Box::new(Conn::new(Stream::Scripted(Box::new(stream)))));
    let mut answered = Vec::new();
    for _ in 0..requests {
        let mut answer = match link.plain("GET", "", b"").await {
            Ok(answer) => answer,
            Err(error) => return (answered, Some(*error.cause)),
        };
        let body = match answer.media {
            Media::Events => pieces(&mut answer.body).await,
            Media::Json | Media::Other => {
                let text = answer.body.text("UPSTREAM_REFUSAL_BYTES_MAX", UPSTREAM_REFUSAL_BYTES_MAX).await;
                text.map(String::into_bytes)
            }
        };
        let text = |value: Option<&str>| value.map(str::to_owned);
        let (status, session) = (answer.status(), text(answer.session()));
        let challenge = text(answer.challenge());
        drop(answer.body);
        // Without a kept connection the next request would open a real one.
        let kept = link.pool.take();
        let left = kept.as_ref().map(|conn| conn.ahead().len() + unread());
        answered.push(Answered { status, session, challenge, body, left });
        match kept {
            Some(conn) => link.pool.put(conn),
            None => break,
        }
    }
    (answered, None)
}

async fn pieces(body: &mut super::body::Body) -> Result<Vec<u8>, Cause> {
    let mut whole = Vec::new();
    let push = |whole: &mut Vec<u8>, piece: &[u8]| {
        whole.extend_from_slice(piece);
        Ok(())
    };
    while body.piece(|piece| push(&mut whole, piece)).await? {}
    Ok(whole)
}
