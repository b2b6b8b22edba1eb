//! Sockets that a listener binds and accepts: TCP or unix.

use std::io::{self, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::path::Path;

use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::unix::Unix;

/// Prefix of an address that is the path of a unix socket.
pub const UNIX_PREFIX: &str = "unix:";

/// Bound socket.
#[derive(Debug)]
pub(crate) enum BoundSocket {
    Tcp(TcpListener),
    Unix(Unix),
}

/// Accepted connection.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Accepted connection that is registered with no runtime, while it moves to another thread.
#[derive(Debug)]
pub(crate) enum StdSocket {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

impl BoundSocket {
    /// Binds `HOST:PORT` or `unix:PATH`.
    pub(crate) async fn bind(address: &str) -> io::Result<Self> {
        match address.strip_prefix(UNIX_PREFIX) {
            Some(path) => Unix::bind(Path::new(path)).await.map(Self::Unix),
            None => TcpListener::bind(address).await.map(Self::Tcp),
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(tcp) => {
                let (stream, _) = tcp.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
            Self::Unix(unix) => unix.accept().await.map(Socket::Unix),
        }
    }

    /// Returns the network address; a unix socket has none.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(tcp) => tcp.local_addr(),
            Self::Unix(_) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "a unix socket has no network address"))
            }
        }
    }

    /// Returns the path of a unix socket.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Tcp(_) => None,
            Self::Unix(unix) => Some(unix.path()),
        }
    }
}

impl Socket {
    /// Returns the peer's network address; peers over a unix socket have none.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().ok().map(|peer| peer.ip()),
            Self::Unix(_) => None,
        }
    }

    /// Deregisters the socket from this thread's runtime.
    pub(crate) fn into_std(self) -> io::Result<StdSocket> {
        match self {
            Self::Tcp(stream) => stream.into_std().map(StdSocket::Tcp),
            Self::Unix(stream) => stream.into_std().map(StdSocket::Unix),
        }
    }

    /// Writes a few bytes without waiting, then closes the socket.
    pub(crate) fn say_and_close(self, bytes: &[u8]) {
        match self.into_std() {
            Ok(StdSocket::Tcp(mut stream)) => {
                let _ = stream.write(bytes);
                let _ = stream.shutdown(Shutdown::Write);
            }
            Ok(StdSocket::Unix(mut stream)) => {
                let _ = stream.write(bytes);
                let _ = stream.shutdown(Shutdown::Write);
            }
            Err(_) => {}
        }
    }
}

impl StdSocket {
    /// Registers the socket with this thread's runtime.
    pub(crate) fn into_tokio(self) -> io::Result<Socket> {
        match self {
            Self::Tcp(stream) => TcpStream::from_std(stream).map(Socket::Tcp),
            Self::Unix(stream) => UnixStream::from_std(stream).map(Socket::Unix),
        }
    }
}
