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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;
    use tokio_rustls::rustls::pki_types::ServerName;
    use toolcrib_engine::engine::{Engine, Options, ServerInfo};
    use toolcrib_http1::limits::WRITE_MS_MAX;

    use super::*;
    use crate::http::HttpOptions;
    use crate::load::LoadLimits;
    use crate::tls::tests::Files;

    const GET: &[u8] = b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n";

    /// R14.2, `WRITE_MS_MAX`: a TLS client that stops reading, or reads a few bytes every ten seconds, is disconnected,
    /// although rustls has buffered the whole answer.
    #[tokio::test(start_paused = true)]
    async fn a_tls_client_that_does_not_read_does_not_hold_its_connection() {
        let files = Files::new();
        for is_slow in [false, true] {
            let engine = Engine::new(ServerInfo::new("s", "1"), Options::default(), None).unwrap();
            let (_stop, stopped) = watch::channel(false);
            let connections = Connections {
                endpoint: Endpoint::new(Arc::new(engine), HttpOptions::default()),
                tls: Some(Tls::load(&files.cert, &files.key).unwrap()),
                http2_prior_knowledge: false,
                proxies: Arc::default(),
                requests: Quota::new(LoadLimits::default().requests),
                stopped,
                head_within: Duration::from_secs(3_600),
            };
            let (near, far) = duplex(4_096);
            let served = tokio::spawn(async move { connections.serve_stream(far, None).await });
            let name = ServerName::try_from("localhost").unwrap();
            let mut client = files.connector(&[b"http/1.1"]).connect(name, near).await.unwrap();
            // The answers to these requests are several times longer.
            client.write_all(&GET.repeat(60)).await.unwrap();
            client.flush().await.unwrap();
            // The client reads below TLS.
            let (mut near, _) = client.into_inner();
            let begun = Instant::now();
            let reading = tokio::spawn(async move {
                while is_slow && near.read(&mut [0; 8]).await.is_ok_and(|read| read > 0) {
                    tokio::time::sleep(Duration::from_secs(10)).await;
                }
                (near, std::future::pending::<()>().await)
            });
            tokio::time::timeout(Duration::from_secs(1_800), served).await.unwrap().unwrap();
            assert_eq!(begun.elapsed().as_millis(), u128::from(WRITE_MS_MAX), "slow: {is_slow}");
            reading.abort();
        }
    }
}
