//! Life of one accepted connection: TLS handshake, choice between HTTP/1 and HTTP/2, requests.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use toolcrib_engine::quota::Quota;
use toolcrib_http1::server;

use crate::forwarded::TrustedProxies;
use crate::http::Endpoint;
use crate::http2;
use crate::multiplexed::Multiplexed;
use crate::preface::Rewound;
use crate::socket::Socket;
use crate::tls::{self, Tls};

/// State that all connections of one listener share.
#[derive(Debug)]
pub(crate) struct Connections {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) http2_prior_knowledge: bool,
    pub(crate) proxies: Arc<TrustedProxies>,
    /// Quota of requests on connections that carry several at once.
    pub(crate) requests: Arc<Quota>,
    pub(crate) stopped: watch::Receiver<bool>,
    pub(crate) head_within: Duration,
}

impl Connections {
    /// Serves a connection until it ends.
    pub(crate) async fn serve(self: Arc<Self>, socket: Socket) {
        let peer = socket.peer();
        match socket {
            Socket::Tcp(stream) => self.serve_stream(stream, peer).await,
            Socket::Unix(stream) => self.serve_stream(stream, peer).await,
        }
    }

    async fn serve_stream<S>(&self, stream: S, peer: Option<IpAddr>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        if let Some(tls) = &self.tls {
            // Boxed, so that plain connections have a smaller future.
            return Box::pin(self.serve_tls(tls, stream, peer)).await;
        }
        if self.http2_prior_knowledge {
            return Box::pin(self.serve_either(stream, peer)).await;
        }
        self.http1(stream, peer).await;
    }

    async fn serve_tls<S>(&self, tls: &Tls, stream: S, peer: Option<IpAddr>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut stopped = self.stopped.clone();
        let accepted = tokio::select! {
            accepted = tls.accept(stream) => accepted,
            _ = stopped.wait_for(|stopped| *stopped) => return,
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                tracing::debug!(target: "toolcrib", "a TLS handshake failed: {error}");
                return;
            }
        };
        if tls::speaks_http2(&stream) {
            self.http2(stream, peer).await;
        } else {
            self.http1(stream, peer).await;
        }
    }

    /// Serves HTTP/2 to a client that sends its preface, and HTTP/1 to all others.
    async fn serve_either<S>(&self, stream: S, peer: Option<IpAddr>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut stopped = self.stopped.clone();
        let begun = tokio::select! {
            begun = tokio::time::timeout(self.head_within, Rewound::read(stream)) => begun,
            _ = stopped.wait_for(|stopped| *stopped) => return,
        };
        let Ok(Ok((stream, is_http2))) = begun else { return };
        if is_http2 {
            self.http2(stream, peer).await;
        } else {
            self.http1(stream, peer).await;
        }
    }

    async fn http1<S>(&self, stream: S, peer: Option<IpAddr>)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (stopped, within) = (self.stopped.clone(), self.head_within);
        if self.proxies.trusts(peer) {
            let service = Arc::new(self.multiplexed(peer));
            return Box::pin(server::serve(stream, service, peer, stopped, within)).await;
        }
        server::serve(stream, self.endpoint.clone(), peer, stopped, within).await;
    }

    async fn http2<S>(&self, stream: S, peer: Option<IpAddr>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = Arc::new(self.multiplexed(peer));
        http2::serve(stream, service, peer, self.stopped.clone(), self.head_within).await;
    }

    fn multiplexed(&self, peer: Option<IpAddr>) -> Multiplexed {
        let proxies = self.proxies.trusts(peer).then(|| self.proxies.clone());
        Multiplexed { endpoint: self.endpoint.clone(), requests: self.requests.clone(), proxies }
    }
}
