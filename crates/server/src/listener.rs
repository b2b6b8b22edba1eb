//! Listener: accepts a bounded number of connections and stops gracefully.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use toolcrib_engine::quota::Quota;
use toolcrib_http1::server;

use crate::connection::Connections;
use crate::forwarded::TrustedProxies;
use crate::http::Endpoint;
use crate::limits::{HEAD_MS_MAX, REVOKED_LOOK_MS, SESSION_SWEEP_MS, SHUTDOWN_MS_MAX, TLS_LOOK_MS};
use crate::seats::Seats;
use crate::socket::{BoundSocket, UNIX_PREFIX};
use crate::tls::Tls;
use crate::workers::Workers;

/// A bound endpoint, ready to serve.
#[derive(Debug)]
pub struct Listener {
    endpoint: Arc<Endpoint>,
    socket: BoundSocket,
    tls: Option<Arc<Tls>>,
    http2_prior_knowledge: bool,
    proxies: Arc<TrustedProxies>,
    head_ms_max: u64,
    sweep_ms: u64,
    shutdown_ms_max: u64,
    workers: usize,
}

impl Listener {
    /// Binds `HOST:PORT`, or the unix socket `unix:PATH`.
    pub async fn bind(endpoint: Arc<Endpoint>, address: &str) -> io::Result<Self> {
        Ok(Self {
            endpoint,
            socket: BoundSocket::bind(address).await?,
            tls: None,
            http2_prior_knowledge: false,
            proxies: Arc::default(),
            head_ms_max: HEAD_MS_MAX,
            sweep_ms: SESSION_SWEEP_MS,
            shutdown_ms_max: SHUTDOWN_MS_MAX,
            workers: 0,
        })
    }

    /// Enables TLS, with HTTP/2 or HTTP/1 by ALPN. The certificate files are read again when they change.
    #[must_use]
    pub fn tls(mut self, tls: Arc<Tls>) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Serves HTTP/2 without TLS to clients with prior knowledge; others get HTTP/1.
    #[must_use]
    pub fn http2_prior_knowledge(mut self, is_served: bool) -> Self {
        self.http2_prior_knowledge = is_served;
        self
    }

    /// Trusts the forwarding headers of these proxies.
    #[must_use]
    pub fn trusted_proxies(mut self, proxies: TrustedProxies) -> Self {
        self.proxies = Arc::new(proxies);
        self
    }

    /// Sets the timeout for receiving a request's head, in milliseconds.
    #[must_use]
    pub fn head_ms_max(mut self, ms: u64) -> Self {
        self.head_ms_max = ms;
        self
    }

    /// Sets the interval of the search for idle sessions, in milliseconds.
    #[must_use]
    pub fn sweep_ms(mut self, ms: u64) -> Self {
        self.sweep_ms = ms.max(1);
        self
    }

    /// Sets the grace time for requests in flight when the server stops, in milliseconds.
    #[must_use]
    pub fn shutdown_ms_max(mut self, ms: u64) -> Self {
        self.shutdown_ms_max = ms;
        self
    }

    /// Sets the number of worker threads that serve connections; with 0, the calling runtime serves them.
    #[must_use]
    pub fn workers(mut self, count: usize) -> Self {
        self.workers = count;
        self
    }

    /// Returns the network address; an error for a unix socket, which has none.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.address()
    }

    /// Returns the path of the unix socket, if it is one.
    #[must_use]
    pub fn unix_path(&self) -> Option<&Path> {
        self.socket.path()
    }

    /// Returns the base URL, to which a path is appended: `http://ADDRESS`, `https://ADDRESS` or `unix:SOCKET:`.
    pub fn origin(&self) -> io::Result<String> {
        if let Some(path) = self.socket.path() {
            return Ok(format!("{UNIX_PREFIX}{}:", path.display()));
        }
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}", self.socket.address()?))
    }

    /// Serves until `stop` resolves, then lets requests in flight finish.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let (stopping, stopped) = watch::channel(false);
        let load = &self.endpoint.options().load;
        let seats =
            Seats::new(load.connections).with_proxies(self.proxies.clone()).silent(self.tls.is_some());
        let connections = Arc::new(Connections {
            endpoint: self.endpoint.clone(),
            tls: self.tls.clone(),
            http2_prior_knowledge: self.http2_prior_knowledge,
            proxies: self.proxies.clone(),
            requests: Quota::new(load.requests),
            stopped,
            head_within: Duration::from_millis(self.head_ms_max),
        });
        let serve = move |socket| connections.clone().serve(socket);
        let workers = (self.workers > 0).then(|| Workers::start(self.workers, serve.clone())).transpose()?;
        let mut sweep = tokio::time::interval(Duration::from_millis(self.sweep_ms));
        let mut look = tokio::time::interval(Duration::from_millis(REVOKED_LOOK_MS));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut certificates = tokio::time::interval(Duration::from_millis(TLS_LOOK_MS));
        certificates.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut revocations = self.endpoint.revocations();
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                _ = sweep.tick() => self.endpoint.sessions().sweep(),
                _ = look.tick() => self.endpoint.end_revoked(&mut revocations),
                _ = certificates.tick(), if self.tls.is_some() => {
                    if let Some(tls) = self.tls.clone() {
                        tokio::task::spawn_blocking(move || tls.look());
                    }
                }
                accepted = seats.accept(&self.socket) => {
                    let (stream, seat) = accepted?;
                    match &workers {
                        None => {
                            let served = serve(stream);
                            tokio::spawn(async move {
                                served.await;
                                drop(seat);
                            });
                        }
                        Some(workers) => {
                            if let Err(error) = workers.take(stream, seat) {
                                tracing::warn!(target: "toolcrib", "a connection was lost: {error}");
                            }
                        }
                    }
                }
            }
        }
        drop(self.socket);
        self.endpoint.engine().shut_down();
        let _ = stopping.send(true);
        let within = Duration::from_millis(self.shutdown_ms_max);
        if tokio::time::timeout(within, seats.all_free()).await.is_err() {
            tracing::warn!(target: "toolcrib", "stopped with requests under way");
        }
        self.endpoint.sessions().end();
        if let Some(workers) = workers {
            let _ = tokio::task::spawn_blocking(move || workers.stop()).await;
        }
        self.endpoint.engine().flush().await;
        Ok(())
    }
}

/// Serves one connection without a network address until it ends. After `stopped` turns true, a request in flight is
/// still answered.
pub async fn serve_connection<S>(
    stream: S,
    endpoint: Arc<Endpoint>,
    stopped: watch::Receiver<bool>,
    head_ms_max: u64,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    server::serve(stream, endpoint, None, stopped, Duration::from_millis(head_ms_max)).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;
    use toolcrib_engine::engine::{Engine, Options, ServerInfo};
    use toolcrib_engine::{Principal, Session, SessionId};
    use toolcrib_protocol::{ClientCapabilities, Revision};

    use super::*;
    use crate::http::HttpOptions;
    use crate::limits::SESSION_IDLE_MS_MAX;
    use crate::load::LoadLimits;

    async fn bound(load: LoadLimits) -> Listener {
        let engine = Engine::new(ServerInfo::new("s", "1"), Options::default(), None).unwrap();
        let options = HttpOptions { load, ..HttpOptions::default() };
        Listener::bind(Endpoint::new(Arc::new(engine), options), "127.0.0.1:0").await.unwrap()
    }

    #[tokio::test]
    async fn unused_sessions_are_looked_for_every_session_sweep_ms() {
        let load = LoadLimits { session_idle_ms_max: 30, ..LoadLimits::default() };
        assert_eq!(LoadLimits::default().session_idle_ms_max, SESSION_IDLE_MS_MAX);
        let listener = bound(load).await;
        assert_eq!(listener.sweep_ms, SESSION_SWEEP_MS);
        let endpoint = listener.endpoint.clone();
        let serving = tokio::spawn(listener.sweep_ms(10).serve(std::future::pending()));
        let capabilities = ClientCapabilities::default();
        let id = SessionId::random().unwrap();
        let session = Session::new(Some(id), Principal::Anonymous, Revision::V2025_11_25, capabilities, None);
        drop(endpoint.sessions().open(session, None).unwrap());
        assert_eq!(endpoint.sessions().len(), 1);
        let swept = async {
            while endpoint.sessions().len() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), swept).await.expect("nobody looked for it");
        serving.abort();
    }

    #[tokio::test]
    async fn requests_under_way_have_shutdown_ms_max_to_finish() {
        let listener = bound(LoadLimits::default()).await;
        assert_eq!(listener.shutdown_ms_max, SHUTDOWN_MS_MAX);
        let mut client = TcpStream::connect(listener.address().unwrap()).await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(listener.shutdown_ms_max(200).serve(async {
            let _ = stopped.await;
        }));
        let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n";
        client.write_all(head.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let begun = std::time::Instant::now();
        drop(stop);
        tokio::time::timeout(Duration::from_secs(5), serving).await.expect("it waits on").unwrap().unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(150), "it did not wait for the request");
    }
}
