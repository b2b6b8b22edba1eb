//! HTTP/2 connections, implemented by hyper, in front of the same [`Service`] as HTTP/1.
//!
//! Guarantees: heads, bodies and answers are bounded in bytes, time and rate as on HTTP/1. A stream that the client
//! resets drops the future of its answer. A stream whose client stops taking the answer is reset. A connection without
//! streams is closed after the idle timeout of HTTP/1. Streams in flight are answered before the server stops.

mod body;
mod pace;
mod request;
mod streams;

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use toolcrib_http1::limits::LINGER_MS_MAX;
use toolcrib_http1::server::Service;

use self::body::SEND_BUFFER_BYTES;
use self::streams::Streams;
use crate::limits::{
    HTTP2_CONNECTION_WINDOW_BYTES, HTTP2_ERROR_RESETS_MAX, HTTP2_HEADER_LIST_BYTES_MAX,
    HTTP2_PENDING_RESETS_MAX, HTTP2_STREAM_WINDOW_BYTES, HTTP2_STREAMS_MAX,
};

/// Serves a connection until it ends. After `stopped` turns true, streams in flight are still answered. A connection
/// without streams is kept for `idle_within`.
pub(crate) async fn serve<S, V>(
    stream: S,
    service: Arc<V>,
    peer: Option<IpAddr>,
    mut stopped: watch::Receiver<bool>,
    idle_within: Duration,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    V: Service,
{
    let streams = Streams::default();
    let answers = service_fn(move |request| {
        let service = service.clone();
        async move { Ok::<_, Infallible>(request::answer(&service, peer, request).await) }
    });
    let connection = Builder::new(streams.clone())
        .max_concurrent_streams(HTTP2_STREAMS_MAX)
        .max_header_list_size(HTTP2_HEADER_LIST_BYTES_MAX)
        .max_pending_accept_reset_streams(HTTP2_PENDING_RESETS_MAX)
        .max_local_error_reset_streams(HTTP2_ERROR_RESETS_MAX)
        .initial_stream_window_size(HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(HTTP2_CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(SEND_BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), answers);
    let mut connection = pin!(connection);
    let linger = Duration::from_millis(LINGER_MS_MAX);
    let mut is_closing = false;
    let mut look = pin!(sleep(idle_within));
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(target: "toolcrib", "an HTTP/2 connection ended: {error}");
                }
                return;
            }
            _ = stopped.wait_for(|stopped| *stopped), if !is_closing => {}
            () = look.as_mut() => {
                let patience = if is_closing { linger } else { idle_within };
                let left = patience.saturating_sub(streams.idle_for());
                if !left.is_zero() {
                    look.as_mut().reset(Instant::now() + left);
                    continue;
                }
                // The client got GOAWAY and still keeps the connection open.
                if is_closing {
                    return;
                }
            }
        }
        is_closing = true;
        connection.as_mut().graceful_shutdown();
        look.as_mut().reset(Instant::now() + linger);
    }
}

#[cfg(test)]
mod tests;
