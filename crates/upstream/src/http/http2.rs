//! HTTP/2 towards a server, by hyper: selected by ALPN, or used by prior knowledge if configured.
//!
//! Requests are written as HTTP/1 and translated, so that both versions send the same fields.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use toolcrib_http1::ResponseHead;
use toolcrib_http1::limits::{HEAD_BYTES_MAX, HEADERS_MAX};

use super::conn::Stream;
use super::target::Target;
use crate::error::{Cause, UpstreamError};
use crate::limits::{UPSTREAM_HTTP2_STREAM_WINDOW_BYTES, UPSTREAM_HTTP2_WINDOW_BYTES};

/// A connection that is shared by many requests.
pub(super) type Sender = http2::SendRequest<Full<Bytes>>;

/// Fields that have a meaning only on an HTTP/1 connection.
const CONNECTION_FIELDS: [&str; 5] =
    ["connection", "host", "keep-alive", "proxy-authorization", "transfer-encoding"];

/// Starts HTTP/2 on a stream. The connection ends when its last sender is dropped.
pub(super) async fn handshake(stream: Stream) -> Result<Sender, Cause> {
    const NO_HTTP2: Cause = Cause::Garbage("it is no HTTP/2");
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .max_header_list_size(HEAD_BYTES_MAX as u32)
        .initial_stream_window_size(UPSTREAM_HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(UPSTREAM_HTTP2_WINDOW_BYTES);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(|_| NO_HTTP2)?;
    tokio::spawn(connection);
    Ok(sender)
}

/// Sends a request that was written for HTTP/1; returns the head and the body of the response.
pub(super) async fn exchange(
    sender: &mut Sender,
    target: &Target,
    text: &[u8],
) -> Result<(ResponseHead, Incoming), UpstreamError> {
    let request = translated(target, text).map_err(UpstreamError::unsent)?;
    sender.ready().await.map_err(|_| UpstreamError::unsent(Cause::Closed))?;
    let sent = sender.send_request(request).await;
    let (parts, body) = sent.map_err(|_| UpstreamError::sent(Cause::Closed))?.into_parts();
    // HTTP/2 frames the body itself; a `Content-Length` field would be taken for HTTP/1 framing.
    let fields = parts.headers.iter().filter(|(name, _)| *name != http::header::CONTENT_LENGTH);
    let fields = fields.map(|(name, value)| (name.as_str(), value.as_bytes()));
    let head = ResponseHead::assemble(parts.status.as_u16(), fields)
        .map_err(|error| UpstreamError::sent(toolcrib_http1::client::ReadError::Head(error).into()))?;
    Ok((head, body))
}

/// Translates an HTTP/1 request into an HTTP/2 request.
fn translated(target: &Target, text: &[u8]) -> Result<Request<Full<Bytes>>, Cause> {
    const UNSENDABLE: Cause = Cause::Url("one of its headers cannot be sent");
    let mut lines = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut lines);
    let Ok(httparse::Status::Complete(length)) = head.parse(text) else { return Err(UNSENDABLE) };
    let scheme = if target.secure { "https" } else { "http" };
    let path = head.path.unwrap_or("/");
    let uri: Uri =
        format!("{scheme}://{}{path}", target.authority).parse().map_err(|_| Cause::Url("it is no URL"))?;
    let mut headers = HeaderMap::new();
    for line in head.headers.iter() {
        if !CONNECTION_FIELDS.iter().any(|name| line.name.eq_ignore_ascii_case(name)) {
            let name = HeaderName::from_bytes(line.name.as_bytes()).map_err(|_| UNSENDABLE)?;
            headers.append(name, HeaderValue::from_bytes(line.value).map_err(|_| UNSENDABLE)?);
        }
    }
    let body = Bytes::copy_from_slice(text.get(length..).unwrap_or_default());
    let method = head.method.unwrap_or("POST");
    let mut request =
        Request::builder().method(method).uri(uri).body(Full::new(body)).map_err(|_| UNSENDABLE)?;
    *request.headers_mut() = headers;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R14.1: an HTTP/2 request has the fields of the HTTP/1 request, except those of the connection.
    #[test]
    fn a_request_is_translated_whole() {
        let target = Target::read("https://a.example/mcp?x").unwrap();
        let text =
            b"POST /mcp?x HTTP/1.1\r\nHost: a.example\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 2\r\n\r\n{}";
        let request = translated(&target, text).unwrap();
        assert_eq!(request.uri(), "https://a.example/mcp?x");
        let values: Vec<_> = request.headers().get_all("x-a").iter().collect();
        assert_eq!((values.len(), request.headers().contains_key("host")), (2, false));
        assert_eq!(request.method(), http::Method::POST);
    }
    /// R5.6: `UPSTREAM_HTTP2_STREAM_WINDOW_BYTES` and `UPSTREAM_HTTP2_WINDOW_BYTES` bound the unread bytes of a
    /// server.
    #[tokio::test]
    async fn windows_are_announced_to_the_server() {
        use tokio::io::AsyncReadExt as _;

        const PREFACE_BYTES: usize = 24;
        const FIRST_WINDOW_BYTES: u32 = 65_535;
        let (client, mut server) = tokio::io::duplex(1 << 16);
        let _sender = handshake(Stream::Scripted(Box::new(client))).await.unwrap();
        server.read_exact(&mut [0; PREFACE_BYTES]).await.unwrap();
        let (mut stream_window, mut window) = (0, FIRST_WINDOW_BYTES);
        while stream_window == 0 || window == FIRST_WINDOW_BYTES {
            let mut head = [0; 9];
            server.read_exact(&mut head).await.unwrap();
            let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
            server.read_exact(&mut payload).await.unwrap();
            let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
            match head[3] {
                // SETTINGS_INITIAL_WINDOW_SIZE
                4 => {
                    let pairs = payload.chunks(6).filter(|pair| pair[..2] == [0, 4]);
                    stream_window = pairs.map(|pair| number(&pair[2..])).next().unwrap_or(0);
                }
                8 => window += number(&payload),
                _ => {}
            }
        }
        assert_eq!(stream_window, UPSTREAM_HTTP2_STREAM_WINDOW_BYTES);
        assert_eq!(window, UPSTREAM_HTTP2_WINDOW_BYTES);
    }
}
