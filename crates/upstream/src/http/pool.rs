//! Connections to one server: made when needed, kept while warm.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::conn::{Conn, Stream};
use super::target::Target;
use super::tls::Tls;
use crate::error::Cause;
use crate::limits::{UPSTREAM_CONNECT_MS_MAX, UPSTREAM_IDLE_CONNECTIONS_MAX, UPSTREAM_IDLE_MS_MAX};

pub(crate) struct Pool {
    pub(crate) target: Target,
    tls: Option<Tls>,
    /// Whose large answer is being read.
    pub(super) large: Arc<Semaphore>,
    /// By thread: a connection is driven by the thread that opened it, and best used by it.
    idle: [Mutex<Vec<Conn>>; SHARDS],
}

const SHARDS: usize = 16;
static THREAD_LAST: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD: usize = THREAD_LAST.fetch_add(1, Ordering::Relaxed) % SHARDS;
}

impl Pool {
    pub(crate) fn new(target: Target, tls: Option<Tls>) -> Arc<Self> {
        Arc::new(Self { target, tls, large: Arc::new(Semaphore::new(1)), idle: Default::default() })
    }

    /// Those of this thread.
    fn idle(&self) -> Option<MutexGuard<'_, Vec<Conn>>> {
        let shard = self.idle.get(SHARD.with(|shard| *shard))?;
        Some(shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The connection used last, if it still stands.
    pub(crate) fn take(&self) -> Option<Conn> {
        let oldest = Duration::from_millis(UPSTREAM_IDLE_MS_MAX);
        loop {
            let conn = self.idle()?.pop()?;
            if conn.idle_since.elapsed() < oldest && conn.is_quiet() {
                return Some(conn);
            }
        }
    }

    pub(crate) fn put(&self, mut conn: Conn) {
        conn.idle_since = Instant::now();
        conn.is_used = true;
        if let Some(mut idle) = self.idle()
            && idle.len() < UPSTREAM_IDLE_CONNECTIONS_MAX
        {
            idle.push(conn);
        }
    }

    pub(crate) async fn connect(&self) -> Result<Conn, Cause> {
        let within = Duration::from_millis(UPSTREAM_CONNECT_MS_MAX);
        let failed = |kind| Cause::Connect { address: self.target.address(), kind };
        match tokio::time::timeout(within, self.open()).await {
            Ok(opened) => opened,
            Err(_) => Err(failed(std::io::ErrorKind::TimedOut)),
        }
    }

    async fn open(&self) -> Result<Conn, Cause> {
        let failed =
            |error: std::io::Error| Cause::Connect { address: self.target.address(), kind: error.kind() };
        let tcp = TcpStream::connect((&*self.target.host, self.target.port)).await.map_err(failed)?;
        tcp.set_nodelay(true).map_err(failed)?;
        let stream = match &self.tls {
            None => Stream::Plain(tcp),
            Some(tls) => Stream::Secure(Box::new(tls.connect(&self.target, tcp).await?)),
        };
        Ok(Conn::new(stream))
    }
}
