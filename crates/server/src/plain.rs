//! Plain HTTP: a function from a whole request to a whole response, behind the same limits as everything else.
//!
//! Guarantees: the function sees only requests whose head, body and time are within their limits and whose Host and
//! Origin are expected; a panic in it ends that connection alone.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::accept::JSON;
use crate::body::ReplyBody;
use crate::http::{Unreadable, collect, head_bytes};
use crate::limits::{
    ACCEPT_PAUSE_MS, BODY_BYTES_MAX, BODY_MS_MAX, CONNECTIONS_MAX, HEAD_BYTES_MAX, HEAD_MS_MAX, HEADERS_MAX,
    SHUTDOWN_MS_MAX,
};
use crate::rebinding::Expected;

/// A request that was read whole.
#[derive(Debug)]
pub struct PlainRequest {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// What becomes of it: status, headers, body. The content type is JSON unless a header says otherwise.
#[derive(Debug)]
pub struct PlainResponse {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// Answers requests.
pub trait Answers: Send + Sync + 'static {
    fn answer(&self, request: PlainRequest) -> Pin<Box<dyn Future<Output = PlainResponse> + Send + '_>>;
}

/// A bound address, ready to serve.
pub struct PlainListener {
    answers: Arc<dyn Answers>,
    expected: Arc<Expected>,
    tcp: TcpListener,
}

impl std::fmt::Debug for PlainListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlainListener").field("tcp", &self.tcp).finish_non_exhaustive()
    }
}

impl PlainListener {
    pub async fn bind(answers: Arc<dyn Answers>, expected: Expected, address: &str) -> io::Result<Self> {
        Ok(Self { answers, expected: Arc::new(expected), tcp: TcpListener::bind(address).await? })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Serves until `stop` is done, then lets what is under way finish.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let (stopping, stopped) = watch::channel(false);
        let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        tokio::pin!(stop);
        loop {
            let permit = connections.clone().acquire_owned().await.map_err(io::Error::other)?;
            tokio::select! {
                () = &mut stop => break,
                accepted = self.tcp.accept() => match accepted {
                    Ok((stream, _)) => {
                        let (answers, expected) = (self.answers.clone(), self.expected.clone());
                        let stopped = stopped.clone();
                        tokio::spawn(async move {
                            connection(stream, answers, expected, stopped).await;
                            drop(permit);
                        });
                    }
                    // Out of descriptors, or a client that left before it was accepted: neither ends the server.
                    Err(error) => {
                        tracing::warn!(target: "toolcrib", "accepting a connection failed: {error}");
                        tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                    }
                },
            }
        }
        let _ = stopping.send(true);
        let all = u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX);
        let _ =
            tokio::time::timeout(Duration::from_millis(SHUTDOWN_MS_MAX), connections.acquire_many(all)).await;
        Ok(())
    }
}

async fn connection(
    stream: tokio::net::TcpStream,
    answers: Arc<dyn Answers>,
    expected: Arc<Expected>,
    mut stopped: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let (answers, expected) = (answers.clone(), expected.clone());
        async move { Ok::<_, Infallible>(answer(&*answers, &expected, request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(HEAD_MS_MAX))
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(served);
    tokio::select! {
        _ = served.as_mut() => return,
        _ = stopped.changed() => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}

/// Answers one request of whatever body, within the limits.
pub(crate) async fn answer<B>(
    answers: &dyn Answers,
    expected: &Expected,
    request: Request<B>,
) -> Response<ReplyBody>
where
    B: Body<Data = Bytes> + Unpin + Send,
{
    let (parts, body) = request.into_parts();
    if head_bytes(&parts.headers) > HEAD_BYTES_MAX {
        return refused(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the headers are too large");
    }
    if let Err(rebinding) = expected.check(&parts.headers) {
        return refused(StatusCode::FORBIDDEN, &rebinding.to_string());
    }
    let read = collect(body, BODY_BYTES_MAX);
    let body = match tokio::time::timeout(Duration::from_millis(BODY_MS_MAX), read).await {
        Ok(Ok(body)) => body,
        Ok(Err(Unreadable::TooLong(_))) => {
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large");
        }
        Ok(Err(Unreadable::Broken)) => return refused(StatusCode::BAD_REQUEST, "the body could not be read"),
        Err(_) => return refused(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive"),
    };
    let request = PlainRequest { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    written(answers.answer(request).await)
}

fn written(answer: PlainResponse) -> Response<ReplyBody> {
    let is_empty = answer.body.is_empty();
    let mut response =
        Response::new(if is_empty { ReplyBody::empty() } else { ReplyBody::whole(answer.body) });
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if !is_empty {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    }
    for (name, value) in answer.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    response
}

fn refused(status: StatusCode, message: &str) -> Response<ReplyBody> {
    let body = format!("{{\"error\":\"{message}\"}}").into_bytes();
    written(PlainResponse { status: status.as_u16(), headers: Vec::new(), body })
}
