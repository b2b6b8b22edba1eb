//! Connections to one server: made when needed, kept while warm.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use toolcrib_engine::by_thread::ByThread;

use super::conn::{Conn, Stream};
use super::target::Target;
use super::tls::Tls;
use crate::error::Cause;
use crate::limits::{
    UPSTREAM_CONNECT_MS_MAX, UPSTREAM_IDLE_CONNECTIONS_MAX, UPSTREAM_IDLE_MS_MAX, UPSTREAM_TURN_PAUSE_MS,
};

pub(crate) struct Pool {
    pub(crate) target: Target,
    tls: Option<Tls>,
    /// Whose large answer is being read.
    pub(super) large: Arc<Semaphore>,
    /// Whose turn it is to read more of one.
    turn: Semaphore,
    #[expect(clippy::vec_box, reason = "a connection changes hands often, and as a pointer")]
    idle: ByThread<Vec<Box<Conn>>>,
}

impl Pool {
    pub(crate) fn new(target: Target, tls: Option<Tls>) -> Arc<Self> {
        let (large, turn) = (Arc::new(Semaphore::new(1)), Semaphore::new(1));
        Arc::new(Self { target, tls, large, turn, idle: ByThread::default() })
    }

    /// The connection used last, if it still stands.
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

    /// All that one server sends at once together is read no faster than one large answer.
    pub(super) async fn pause(&self) {
        let _turn = self.turn.acquire().await;
        tokio::time::sleep(Duration::from_millis(UPSTREAM_TURN_PAUSE_MS)).await;
    }

    pub(crate) async fn connect(&self) -> Result<Box<Conn>, Cause> {
        let within = Duration::from_millis(UPSTREAM_CONNECT_MS_MAX);
        let failed = |kind| Cause::Connect { address: self.target.address(), kind };
        match tokio::time::timeout(within, self.open()).await {
            Ok(opened) => opened,
            Err(_) => Err(failed(std::io::ErrorKind::TimedOut)),
        }
    }

    async fn open(&self) -> Result<Box<Conn>, Cause> {
        let failed =
            |error: std::io::Error| Cause::Connect { address: self.target.address(), kind: error.kind() };
        let tcp = TcpStream::connect((&*self.target.host, self.target.port)).await.map_err(failed)?;
        tcp.set_nodelay(true).map_err(failed)?;
        let stream = match &self.tls {
            None => Stream::Plain(tcp),
            Some(tls) => Stream::Secure(Box::new(tls.connect(&self.target, tcp).await?)),
        };
        Ok(Box::new(Conn::new(stream)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.6: connections are kept while they may still stand, and no more than so many.
    #[tokio::test]
    async fn no_more_than_upstream_idle_connections_max_are_kept_and_none_longer_than_upstream_idle_ms_max() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let pool = Pool::new(Target::read(&url).unwrap(), None);
        let mut peers = Vec::new();
        for _ in 0..=UPSTREAM_IDLE_CONNECTIONS_MAX {
            let (conn, accepted) = tokio::join!(pool.connect(), listener.accept());
            peers.push(accepted.unwrap());
            pool.put(conn.unwrap());
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

    /// R5.6: a server that takes the connection and leaves the handshake unanswered.
    #[tokio::test(start_paused = true)]
    async fn a_connection_has_upstream_connect_ms_max_to_be_made() {
        let url = crate::http::once::silent().await.replace("http://", "https://");
        let target = Target::read(&url).unwrap();
        let tls = Tls::new(&target, None).unwrap();
        let begun = tokio::time::Instant::now();
        let cause = Pool::new(target, Some(tls)).connect().await.err().unwrap();
        assert!(matches!(cause, Cause::Connect { kind: std::io::ErrorKind::TimedOut, .. }), "{cause}");
        assert_eq!(begun.elapsed(), Duration::from_millis(UPSTREAM_CONNECT_MS_MAX));
    }
}
