//! Connection pool for one server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use toolcrib_engine::by_thread::ByThread;

use super::conn::Conn;
use super::connector::Connector;
use super::http2::{self, Shared};
use crate::error::Cause;
use crate::limits::{
    UPSTREAM_CONNECT_MS_MAX, UPSTREAM_IDLE_CONNECTIONS_MAX, UPSTREAM_IDLE_MS_MAX, UPSTREAM_TURN_PAUSE_MS,
    UPSTREAM_WINDOWS_BYTES_MAX,
};

/// Connection pool for one server, partitioned by thread.
pub(crate) struct Pool {
    pub(super) connector: Connector,
    /// `true` to use HTTP/2 by prior knowledge where there is no TLS.
    knows_http2: bool,
    /// Permit to buffer a large body; one per server.
    pub(super) large: Arc<Semaphore>,
    /// Budget of the decompression windows of this server's bodies, in KiB.
    pub(super) windows: Arc<Semaphore>,
    /// Permit to pause; serialises the pauses of concurrent bodies.
    turn: Semaphore,
    #[expect(clippy::vec_box, reason = "a connection changes hands often, and as a pointer")]
    idle: ByThread<Vec<Box<Conn>>>,
    /// Shared HTTP/2 connections, one per thread, each with the time of its last use.
    shared: ByThread<Option<(Shared, Instant)>>,
}

/// A new connection.
pub(super) enum Made {
    Http1(Box<Conn>),
    Http2(Shared),
}

impl Pool {
    pub(crate) fn new(connector: Connector, knows_http2: bool) -> Arc<Self> {
        let (large, turn) = (Arc::new(Semaphore::new(1)), Semaphore::new(1));
        let windows = Arc::new(Semaphore::new(UPSTREAM_WINDOWS_BYTES_MAX / 1024));
        let (idle, shared) = (ByThread::default(), ByThread::default());
        Arc::new(Self { connector, knows_http2, large, windows, turn, idle, shared })
    }

    /// Returns this thread's open HTTP/2 connection, if there is one.
    pub(super) fn shared(&self) -> Option<Shared> {
        let mut kept = self.shared.lock()?;
        let (shared, used) = kept.as_mut()?;
        if shared.is_usable() && used.elapsed() < Duration::from_millis(UPSTREAM_IDLE_MS_MAX) {
            *used = Instant::now();
            return Some(shared.clone());
        }
        *kept = None;
        None
    }

    /// Returns the most recently used idle connection that is still open.
    pub(crate) fn take(&self) -> Option<Box<Conn>> {
        let oldest = Duration::from_millis(UPSTREAM_IDLE_MS_MAX);
        loop {
            let conn = self.idle.lock()?.pop()?;
            if conn.idle_since.elapsed() < oldest && conn.is_quiet() {
                return Some(conn);
            }
        }
    }

    pub(crate) fn put(&self, mut conn: Box<Conn>) {
        conn.idle_since = Instant::now();
        if let Some(mut idle) = self.idle.lock()
            && idle.len() < UPSTREAM_IDLE_CONNECTIONS_MAX
        {
            idle.push(conn);
        }
    }

    /// Pauses a large body. Pauses of one server are serialised, so its concurrent bodies together are read no faster
    /// than one.
    pub(super) async fn pause(&self) {
        let _turn = self.turn.acquire().await;
        tokio::time::sleep(Duration::from_millis(UPSTREAM_TURN_PAUSE_MS)).await;
    }

    pub(super) async fn connect(&self) -> Result<Made, Cause> {
        let within = Duration::from_millis(UPSTREAM_CONNECT_MS_MAX);
        match tokio::time::timeout(within, self.open()).await {
            Ok(opened) => opened,
            Err(_) => {
                let (address, kind) = (self.connector.target.address(), std::io::ErrorKind::TimedOut);
                Err(Cause::Connect { address, kind })
            }
        }
    }

    async fn open(&self) -> Result<Made, Cause> {
        let stream = self.connector.open().await?;
        if !self.connector.is_http2(&stream, self.knows_http2) {
            return Ok(Made::Http1(Box::new(Conn::new(stream))));
        }
        let shared = http2::handshake(stream).await?;
        if let Some(mut kept) = self.shared.lock() {
            *kept = Some((shared.clone(), Instant::now()));
        }
        Ok(Made::Http2(shared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Endpoint;

    /// R5.6: idle connections are kept up to a maximum number and age.
    #[tokio::test]
    async fn no_more_than_upstream_idle_connections_max_are_kept_and_none_longer_than_upstream_idle_ms_max() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let endpoint = Endpoint { url, ..Endpoint::default() };
        let pool = Pool::new(Connector::new(&endpoint, None).unwrap(), false);
        let mut peers = Vec::new();
        for _ in 0..=UPSTREAM_IDLE_CONNECTIONS_MAX {
            let (conn, accepted) = tokio::join!(pool.connect(), listener.accept());
            peers.push(accepted.unwrap());
            let Ok(Made::Http1(conn)) = conn else { panic!("no connection of HTTP/1") };
            pool.put(conn);
        }
        let mut kept: Vec<Box<Conn>> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(kept.len(), UPSTREAM_IDLE_CONNECTIONS_MAX);
        let long_ago = Instant::now().checked_sub(Duration::from_millis(UPSTREAM_IDLE_MS_MAX)).unwrap();
        let mut old = kept.pop().unwrap();
        old.idle_since = long_ago;
        pool.idle.lock().unwrap().push(old);
        assert!(pool.take().is_none(), "it is closed, not used");
        pool.put(kept.pop().unwrap());
        assert!(pool.take().is_some());
    }

    /// R5.6: a server that accepts the connection and does not answer the TLS handshake.
    #[tokio::test(start_paused = true)]
    async fn a_connection_has_upstream_connect_ms_max_to_be_made() {
        let url = crate::http::once::silent().await.replace("http://", "https://");
        let endpoint = Endpoint { url, ..Endpoint::default() };
        let pool = Pool::new(Connector::new(&endpoint, None).unwrap(), false);
        let begun = tokio::time::Instant::now();
        let cause = pool.connect().await.err().unwrap();
        assert!(matches!(cause, Cause::Connect { kind: std::io::ErrorKind::TimedOut, .. }), "{cause}");
        assert_eq!(begun.elapsed(), Duration::from_millis(UPSTREAM_CONNECT_MS_MAX));
    }
}
