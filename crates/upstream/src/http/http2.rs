//! HTTP/2 towards a server, by hyper: selected by ALPN, or used by prior knowledge if configured.
//!
//! Requests are written as HTTP/1 and translated, so that both versions send the same fields.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use toolcrib_http1::ResponseHead;
use toolcrib_http1::limits::{HEAD_BYTES_MAX, HEADERS_MAX};

use super::conn::Stream;
use super::target::Target;
use super::tls;
use crate::error::{Cause, UpstreamError};
use crate::limits::{
    UPSTREAM_HTTP2_PING_MS, UPSTREAM_HTTP2_PONG_MS_MAX, UPSTREAM_HTTP2_STREAM_WINDOW_BYTES,
    UPSTREAM_HTTP2_WINDOW_BYTES,
};

/// A connection that is shared by many requests.
#[derive(Clone)]
pub(super) struct Shared {
    sender: http2::SendRequest<Full<Bytes>>,
    /// `true` after a request failed or was given up without a response. Requests under way go on, further ones use
    /// another connection.
    is_doubtful: Arc<AtomicBool>,
}

impl Shared {
    /// Returns `true` if further requests may use the connection.
    pub(super) fn is_usable(&self) -> bool {
        !self.sender.is_closed() && !self.is_doubtful.load(Ordering::Relaxed)
    }
}

/// Makes a connection doubtful when dropped, unless its request got a response.
struct Doubt<'a> {
    of: &'a AtomicBool,
    is_answered: bool,
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.of.store(true, Ordering::Relaxed);
        }
    }
}

/// Fields that have a meaning only on an HTTP/1 connection.
const CONNECTION_FIELDS: [&str; 5] =
    ["connection", "host", "keep-alive", "proxy-authorization", "transfer-encoding"];

/// Starts HTTP/2 on a stream. The connection ends when its last sender is dropped.
pub(super) async fn handshake(stream: Stream) -> Result<Shared, Cause> {
    const NO_HTTP2: Cause = Cause::Garbage("it is no HTTP/2");
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_millis(UPSTREAM_HTTP2_PING_MS))
        .keep_alive_timeout(Duration::from_millis(UPSTREAM_HTTP2_PONG_MS_MAX))
        .max_header_list_size(HEAD_BYTES_MAX as u32)
        .initial_stream_window_size(UPSTREAM_HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(UPSTREAM_HTTP2_WINDOW_BYTES);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(|_| NO_HTTP2)?;
    tokio::spawn(connection);
    Ok(Shared { sender, is_doubtful: Arc::default() })
}

/// Sends a request that was written for HTTP/1; returns the head and the body of the response.
pub(super) async fn exchange(
    shared: &mut Shared,
    target: &Target,
    text: &[u8],
) -> Result<(ResponseHead, Incoming), UpstreamError> {
    let request = translated(target, text).map_err(UpstreamError::unsent)?;
    let Shared { sender, is_doubtful } = shared;
    let mut doubt = Doubt { of: is_doubtful, is_answered: false };
    sender.ready().await.map_err(|error| failed(target, &error, false))?;
    let sent = sender.send_request(request).await;
    let (parts, body) = sent.map_err(|error| failed(target, &error, true))?.into_parts();
    doubt.is_answered = true;
    // HTTP/2 frames the body itself; a `Content-Length` field would be taken for HTTP/1 framing.
    let fields = parts.headers.iter().filter(|(name, _)| *name != http::header::CONTENT_LENGTH);
    let fields = fields.map(|(name, value)| (name.as_str(), value.as_bytes()));
    let head = ResponseHead::assemble(parts.status.as_u16(), fields)
        .map_err(|error| UpstreamError::sent(toolcrib_http1::client::ReadError::Head(error).into()))?;
    Ok((head, body))
}

/// Error of a request without a response. The server has not processed it if it said so by REFUSED_STREAM or GOAWAY
/// (RFC 9113, 8.7), or if hyper did not send it.
fn failed(target: &Target, error: &hyper::Error, was_sent: bool) -> UpstreamError {
    let below = error.source().and_then(|error| error.downcast_ref::<h2::Error>());
    if below.and_then(h2::Error::get_io).is_some_and(tls::refuses_certificate) {
        return UpstreamError::unsent(Cause::ClientCertificate { address: target.address() });
    }
    let is_refused = below.is_some_and(|error| {
        let refuses = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        error.is_remote() && (refuses || error.is_go_away())
    });
    UpstreamError { cause: Box::new(Cause::Closed), sent: was_sent && !is_refused && !error.is_canceled() }
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
    use std::sync::atomic::AtomicUsize;

    use tokio::io::AsyncWriteExt as _;

    use super::*;
    use crate::http::HttpLink;
    use crate::limits::UPSTREAM_IDLE_MS_MAX;
    use crate::spec::Endpoint;

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

    /// Behaviour of a server on one connection.
    #[derive(Debug, Clone, Copy)]
    enum Act {
        Answer,
        /// Resets the first stream with REFUSED_STREAM.
        Refuse,
        /// Sends GOAWAY, by which the first stream was not processed.
        GoAway,
        /// Resets the first stream with INTERNAL_ERROR.
        Break,
        /// Reads nothing after the handshake, not even a PING.
        Die,
    }

    /// Starts a server that behaves like this on its connections, one after the other and the last for all further
    /// ones. Returns a client and the number of connections.
    async fn served(acts: &'static [Act]) -> (HttpLink, Arc<AtomicUsize>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let connections: Arc<AtomicUsize> = Arc::default();
        let count = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let act = acts[count.fetch_add(1, Ordering::Relaxed).min(acts.len() - 1)];
                tokio::spawn(serve(stream, act));
            }
        });
        let endpoint = Endpoint { url, http2: true, ..Endpoint::default() };
        (HttpLink::new(&endpoint).unwrap(), connections)
    }

    async fn serve(stream: tokio::net::TcpStream, act: Act) {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        if matches!(act, Act::Die) {
            return std::future::pending().await;
        }
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            match act {
                Act::Answer => {
                    let head = http::Response::new(());
                    respond.send_response(head, true).unwrap();
                }
                Act::Refuse => respond.send_reset(h2::Reason::REFUSED_STREAM),
                Act::Break => respond.send_reset(h2::Reason::INTERNAL_ERROR),
                Act::GoAway => connection.abrupt_shutdown(h2::Reason::NO_ERROR),
                Act::Die => {}
            }
        }
    }

    async fn ask(link: &HttpLink) -> Result<u16, UpstreamError> {
        link.plain("POST", "", b"{}").await.map(|answer| answer.status())
    }

    /// RFC 9113, 8.7: a request that the server says it has not processed is sent again, once; another one is not.
    #[tokio::test]
    async fn a_refused_stream_is_tried_again_on_a_new_connection() {
        for (acts, outcome, made) in [
            (&[Act::Refuse, Act::Answer][..], Ok(200), 2),
            (&[Act::Refuse], Err(UpstreamError::unsent(Cause::Closed)), 2),
            (&[Act::Break, Act::Answer], Err(UpstreamError::sent(Cause::Closed)), 1),
        ] {
            let (link, connections) = served(acts).await;
            assert_eq!(ask(&link).await, outcome, "{acts:?}");
            assert_eq!(connections.load(Ordering::Relaxed), made, "{acts:?}");
        }
    }

    /// RFC 9113, 8.7: a stream above the last one that a GOAWAY names was not processed.
    #[tokio::test]
    async fn a_stream_behind_a_goaway_is_tried_again_on_a_new_connection() {
        let (client, mut server) = tokio::io::duplex(1 << 16);
        let mut shared = handshake(Stream::Scripted(Box::new(client))).await.unwrap();
        // An empty SETTINGS frame, and a GOAWAY whose last stream is 0.
        server.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
        let goaway = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let target = Target::read("http://a.example/").unwrap();
        let text = b"POST / HTTP/1.1\r\nHost: a.example\r\n\r\n";
        let asked = exchange(&mut shared, &target, text);
        let answered = async {
            // Longer than the request needs to be written.
            tokio::time::sleep(Duration::from_millis(50)).await;
            server.write_all(&goaway).await.unwrap();
            std::future::pending::<()>().await;
        };
        let outcome = tokio::select! { outcome = asked => outcome, () = answered => panic!("no end") };
        assert_eq!(outcome.unwrap_err(), UpstreamError::unsent(Cause::Closed));
        assert!(!shared.is_usable());
        let (link, connections) = served(&[Act::GoAway, Act::Answer]).await;
        let _ = ask(&link).await;
        assert_eq!(ask(&link).await, Ok(200));
        assert_eq!(connections.load(Ordering::Relaxed), 2);
    }

    /// R5.6: a connection whose other end is gone is noticed by `UPSTREAM_HTTP2_PING_MS` of silence and
    /// `UPSTREAM_HTTP2_PONG_MS_MAX` without an answer to the PING.
    #[tokio::test]
    async fn a_dead_connection_fails_its_calls_and_serves_no_other() {
        let (link, connections) = served(&[Act::Die, Act::Answer]).await;
        // The connection is made in real time; a paused clock would run ahead of the sockets.
        let first = tokio::time::timeout(Duration::from_millis(200), link.plain("GET", "", b"{}"));
        assert!(first.await.is_err());
        assert_eq!(ask(&link).await, Ok(200), "the next call does not wait for the dead connection");
        assert_eq!(connections.load(Ordering::Relaxed), 2);
        let (client, mut server) = tokio::io::duplex(1 << 16);
        let mut shared = handshake(Stream::Scripted(Box::new(client))).await.unwrap();
        server.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
        tokio::time::pause();
        let begun = tokio::time::Instant::now();
        let target = Target::read("http://a.example/").unwrap();
        let asked = exchange(&mut shared, &target, b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").await;
        assert_eq!(asked.map(drop), Err(UpstreamError::sent(Cause::Closed)));
        let limit = Duration::from_millis(UPSTREAM_HTTP2_PING_MS + UPSTREAM_HTTP2_PONG_MS_MAX);
        assert!(begun.elapsed() >= limit && begun.elapsed() < limit * 2, "{:?}", begun.elapsed());
    }

    /// R5.6: `UPSTREAM_HTTP2_PING_MS`: a slow call is no dead connection if the server answers PINGs.
    #[tokio::test]
    async fn a_slow_call_goes_on_while_the_server_answers_pings() {
        let (client, server) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            let mut connection = h2::server::handshake(server).await.unwrap();
            let mut slow = Vec::new();
            while let Some(Ok((_, respond))) = connection.accept().await {
                slow.push(respond);
            }
        });
        let mut shared = handshake(Stream::Scripted(Box::new(client))).await.unwrap();
        tokio::time::pause();
        let target = Target::read("http://a.example/").unwrap();
        let asked = exchange(&mut shared, &target, b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
        let long = Duration::from_millis(10 * (UPSTREAM_HTTP2_PING_MS + UPSTREAM_HTTP2_PONG_MS_MAX));
        assert!(tokio::time::timeout(long, asked).await.is_err(), "it was given up");
    }

    /// R5.6: `UPSTREAM_IDLE_MS_MAX`: a connection that was not used for that long is replaced.
    #[tokio::test]
    async fn an_idle_connection_is_replaced() {
        let (link, connections) = served(&[Act::Answer]).await;
        let mut asked = Vec::new();
        for pause in [0, 0, UPSTREAM_IDLE_MS_MAX + 100] {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            asked.push((ask(&link).await.unwrap(), connections.load(Ordering::Relaxed)));
        }
        assert_eq!(asked, [(200, 1), (200, 1), (200, 2)]);
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
