//! Parses requests and responses with hyper, to compare the product's own parsers with it.
//!
//! Both functions read a connection until it ends or hyper refuses something.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// Request whose head and body hyper read completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRequest {
    pub method: String,
    pub path: String,
    pub query: Option<String>,
    pub fields: HeaderMap,
    pub body: Vec<u8>,
}

/// Response whose head and body hyper read completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadResponse {
    pub status: u16,
    pub fields: HeaderMap,
    pub body: Vec<u8>,
}

/// Serves the connection with hyper, answers every request with an empty 200, and returns the requests that were read
/// completely.
pub async fn requests<S>(stream: S) -> Vec<ReadRequest>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let seen: Arc<Mutex<Vec<ReadRequest>>> = Arc::default();
    let service = service_fn(|request: Request<Incoming>| {
        let seen = seen.clone();
        async move {
            let (head, body) = request.into_parts();
            if let Ok(body) = body.collect().await {
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(ReadRequest {
                    method: head.method.to_string(),
                    path: head.uri.path().to_owned(),
                    query: head.uri.query().map(str::to_owned),
                    fields: head.headers,
                    body: body.to_bytes().to_vec(),
                });
            }
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *seen)
}

/// Sends one GET with hyper and reads its response. Also returns the bytes that hyper had read after the response, and
/// the stream with the unread bytes. Returns an error text if hyper refuses the response.
pub async fn response<S>(stream: S) -> Result<(ReadResponse, Bytes, S), String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let builder = hyper::client::conn::http1::Builder::new();
    let (mut sender, mut connection) =
        builder.handshake(TokioIo::new(stream)).await.map_err(|error| format!("{error:?}"))?;
    let read = {
        let mut exchange = pin!(async {
            let response = sender.send_request(Request::new(Empty::<Bytes>::new())).await?;
            let (head, body) = response.into_parts();
            let body = body.collect().await?.to_bytes().to_vec();
            Ok::<_, hyper::Error>(ReadResponse { status: head.status.as_u16(), fields: head.headers, body })
        });
        let mut is_open = true;
        poll_fn(|cx| {
            if let Poll::Ready(read) = exchange.as_mut().poll(cx) {
                return Poll::Ready(read);
            }
            if is_open && connection.poll_without_shutdown(cx).is_ready() {
                is_open = false;
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        })
        .await
    };
    let parts = connection.into_parts();
    read.map(|response| (response, parts.read_buf, parts.io.into_inner()))
        .map_err(|error| format!("{error:?}"))
}
