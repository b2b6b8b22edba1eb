//! Accepting connections, bounded, and stopping gracefully.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::http::Endpoint;
use crate::http1;
use crate::limits::{ACCEPT_PAUSE_MS, CONNECTIONS_MAX, HEAD_MS_MAX, SESSION_SWEEP_MS, SHUTDOWN_MS_MAX};
use crate::workers::{Stay, Workers};

/// A bound endpoint, ready to serve.
#[derive(Debug)]
pub struct Listener {
    endpoint: Arc<Endpoint>,
    tcp: TcpListener,
    head_ms_max: u64,
    workers: usize,
}

impl Listener {
    pub async fn bind(endpoint: Arc<Endpoint>, address: &str) -> io::Result<Self> {
        let tcp = TcpListener::bind(address).await?;
        Ok(Self { endpoint, tcp, head_ms_max: HEAD_MS_MAX, workers: 0 })
    }

    /// How long a request's head may take to arrive, in milliseconds.
    #[must_use]
    pub fn head_ms_max(mut self, ms: u64) -> Self {
        self.head_ms_max = ms;
        self
    }

    /// So many threads that serve connections, each its own; with none, the runtime that serves does it.
    #[must_use]
    pub fn workers(mut self, count: usize) -> Self {
        self.workers = count;
        self
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Serves until `stop` is done, then lets what is under way finish.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let (stopping, stopped) = watch::channel(false);
        let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let (endpoint, head_ms_max) = (self.endpoint.clone(), self.head_ms_max);
        let serve =
            move |stream, stay| connection(stream, endpoint.clone(), stopped.clone(), head_ms_max, stay);
        let workers = (self.workers > 0).then(|| Workers::start(self.workers, serve.clone())).transpose()?;
        let mut sweep = tokio::time::interval(Duration::from_millis(SESSION_SWEEP_MS));
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                _ = sweep.tick() => self.endpoint.sessions().sweep(),
                accepted = accept(&self.tcp, &connections) => match accepted {
                    Ok((stream, permit)) => match &workers {
                        None => {
                            let served = serve(stream, Stay::for_good());
                            tokio::spawn(async move {
                                served.await;
                                drop(permit);
                            });
                        }
                        Some(workers) => {
                            if let Err(error) = workers.take(stream, permit) {
                                tracing::warn!(target: "toolcrib", "a connection was lost: {error}");
                            }
                        }
                    },
                    // Out of descriptors, or a client that left before it was accepted: neither ends the server.
                    Err(error) => {
                        tracing::warn!(target: "toolcrib", "accepting a connection failed: {error}");
                        tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                    }
                },
            }
        }
        drop(self.tcp);
        self.endpoint.engine().shut_down();
        let _ = stopping.send(true);
        let all = u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX);
        let finished = connections.acquire_many(all);
        if tokio::time::timeout(Duration::from_millis(SHUTDOWN_MS_MAX), finished).await.is_err() {
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

async fn accept(
    tcp: &TcpListener,
    connections: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = connections.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = tcp.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, permit))
}

async fn connection(
    stream: TcpStream,
    endpoint: Arc<Endpoint>,
    stopped: watch::Receiver<bool>,
    head_ms_max: u64,
    mut stay: Stay,
) -> Option<TcpStream> {
    let address = stream.peer_addr().ok().map(|peer| peer.ip());
    let within = Duration::from_millis(head_ms_max);
    http1::serve(stream, endpoint, address, stopped, within, || stay.is_over()).await
}

/// Serves one connection without a network address until it ends, or gracefully until `stopped` says so.
pub async fn serve_connection<S>(
    stream: S,
    endpoint: Arc<Endpoint>,
    stopped: watch::Receiver<bool>,
    head_ms_max: u64,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    http1::serve(stream, endpoint, None, stopped, Duration::from_millis(head_ms_max), || false).await;
}
