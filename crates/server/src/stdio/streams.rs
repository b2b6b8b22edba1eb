//! The process's own stdin and stdout, without an extra thread if they are pipes or sockets.
//!
//! Guarantees: pipes and sockets are read and written by readiness, in the thread that serves. A terminal or a file,
//! which has no readiness, goes through a thread of its own. Pipes get their original flags back when the streams are
//! dropped, so other processes that share them never see the non-blocking mode.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// A stream and the original flags of its descriptor.
pub(super) struct Own<S: ?Sized> {
    _flags: Option<Flags>,
    pub(super) stream: Box<S>,
}

pub(super) fn input() -> Own<dyn AsyncRead + Unpin + Send> {
    let stdin = io::stdin();
    match ready(stdin.as_fd()) {
        Some((flags, Ready::Pipe(file))) => match pipe::Receiver::from_file(file) {
            Ok(pipe) => Own { _flags: Some(flags), stream: Box::new(pipe) },
            Err(_) => Own { _flags: Some(flags), stream: Box::new(tokio::io::stdin()) },
        },
        Some((flags, Ready::Socket(socket))) => Own { _flags: Some(flags), stream: Box::new(socket) },
        None => Own { _flags: None, stream: Box::new(tokio::io::stdin()) },
    }
}

pub(super) fn output() -> Own<dyn AsyncWrite + Unpin + Send> {
    let stdout = io::stdout();
    match ready(stdout.as_fd()) {
        Some((flags, Ready::Pipe(file))) => match pipe::Sender::from_file(file) {
            Ok(pipe) => Own { _flags: Some(flags), stream: Box::new(pipe) },
            Err(_) => Own { _flags: Some(flags), stream: Box::new(tokio::io::stdout()) },
        },
        Some((flags, Ready::Socket(socket))) => Own { _flags: Some(flags), stream: Box::new(socket) },
        None => Own { _flags: None, stream: Box::new(tokio::io::stdout()) },
    }
}

enum Ready {
    Pipe(File),
    Socket(UnixStream),
}

/// Returns a non-blocking copy of the descriptor, if its kind supports that.
fn ready(fd: impl AsFd) -> Option<(Flags, Ready)> {
    let kind = FileType::from_raw_mode(fstat(&fd).ok()?.st_mode);
    let flags = Flags::of(fd.as_fd().try_clone_to_owned().ok()?)?;
    let copy = fd.as_fd().try_clone_to_owned().ok()?;
    match kind {
        // If stderr is the same pipe, non-blocking mode would make our log lines fail.
        _ if is_shared_with_stderr(&fd) => None,
        FileType::Fifo => Some((flags, Ready::Pipe(File::from(copy)))),
        FileType::Socket => {
            let socket = StdUnixStream::from(copy);
            socket.local_addr().ok()?;
            socket.set_nonblocking(true).ok()?;
            Some((flags, Ready::Socket(UnixStream::from_std(socket).ok()?)))
        }
        _ => None,
    }
}

fn is_shared_with_stderr(fd: impl AsFd) -> bool {
    let (Ok(own), Ok(stderr)) = (fstat(&fd), fstat(io::stderr())) else { return true };
    (own.st_dev, own.st_ino) == (stderr.st_dev, stderr.st_ino)
}

/// Restores the flags of a descriptor when dropped.
struct Flags {
    fd: OwnedFd,
    found: OFlags,
}

impl Flags {
    fn of(fd: OwnedFd) -> Option<Self> {
        let found = fcntl_getfl(&fd).ok()?;
        Some(Self { fd, found })
    }
}

impl Drop for Flags {
    fn drop(&mut self) {
        let _ = fcntl_setfl(&self.fd, self.found);
    }
}
