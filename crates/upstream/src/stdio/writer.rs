//! A server's stdin: lines go out in the order they were given, from the thread that gives them.
//!
//! Guarantees: a line is written where it stands as long as the pipe has room, so that nobody has to be woken for it;
//! what does not fit waits, in order and bounded, for a task that writes it as the server reads.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf as _, Bytes};
use tokio::net::unix::pipe::Sender;
use tokio::sync::Notify;

use crate::limits::UPSTREAM_WRITES_MAX;

/// Lines that are given to the pipe at once.
const SLICES_MAX: usize = 64;

/// The server's stdin is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed;

pub(super) struct Writer {
    waiting: Mutex<Waiting>,
    /// Something waits to be written.
    filled: Notify,
    /// There is room again, or nobody will make any.
    drained: Notify,
}

struct Waiting {
    /// Absent once it is closed.
    pipe: Option<Arc<Sender>>,
    lines: VecDeque<Bytes>,
}

impl Writer {
    pub(super) fn new(pipe: Sender) -> Arc<Self> {
        let waiting = Waiting { pipe: Some(Arc::new(pipe)), lines: VecDeque::new() };
        Arc::new(Self { waiting: Mutex::new(waiting), filled: Notify::new(), drained: Notify::new() })
    }

    /// Puts a line behind those before it; waits where too many wait already.
    pub(super) async fn send(&self, line: &[u8]) -> Result<(), Closed> {
        if self.try_send(line)? {
            return Ok(());
        }
        loop {
            let drained = self.drained.notified();
            tokio::pin!(drained);
            // Registered before it is looked for, so that no room is missed.
            drained.as_mut().enable();
            if self.try_send(line)? {
                return Ok(());
            }
            drained.await;
        }
    }

    /// The same without waiting; false where there is no room.
    pub(super) fn try_send(&self, line: &[u8]) -> Result<bool, Closed> {
        let mut waiting = self.lock();
        if waiting.lines.len() >= UPSTREAM_WRITES_MAX {
            return Ok(false);
        }
        let pipe = waiting.pipe.as_ref().ok_or(Closed)?;
        let mut rest = line;
        if waiting.lines.is_empty() {
            match pipe.try_write(rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => {
                    waiting.pipe = None;
                    return Err(Closed);
                }
            }
        }
        if !rest.is_empty() {
            waiting.lines.push_back(Bytes::copy_from_slice(rest));
            self.filled.notify_one();
        }
        Ok(true)
    }

    /// Writes what waits, until the server's stdin is closed by either side.
    pub(super) async fn drain(&self) {
        loop {
            self.filled.notified().await;
            while let Some(pipe) = self.behind() {
                let open = pipe.writable().await.is_ok() && self.write_some(&pipe).is_ok();
                if !open {
                    self.close();
                    return;
                }
            }
        }
    }

    /// Where to write, if something waits.
    fn behind(&self) -> Option<Arc<Sender>> {
        let waiting = self.lock();
        waiting.pipe.clone().filter(|_| !waiting.lines.is_empty())
    }

    fn write_some(&self, pipe: &Sender) -> io::Result<()> {
        let mut waiting = self.lock();
        let slices: Vec<IoSlice<'_>> =
            waiting.lines.iter().take(SLICES_MAX).map(|line| IoSlice::new(line)).collect();
        let mut written = match pipe.try_write_vectored(&slices) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        while let Some(first) = waiting.lines.front_mut() {
            let part = written.min(first.len());
            first.advance(part);
            written -= part;
            if !first.is_empty() {
                break;
            }
            waiting.lines.pop_front();
        }
        drop(waiting);
        self.drained.notify_waiters();
        Ok(())
    }

    /// Nothing more is written. The pipe is closed when whoever drains has let go of it.
    pub(super) fn close(&self) {
        let mut waiting = self.lock();
        waiting.pipe = None;
        waiting.lines.clear();
        drop(waiting);
        self.drained.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::unix::pipe;

    use super::*;

    fn line(number: usize) -> Bytes {
        format!("{number}{}\n", "x".repeat(number % 5_000)).into()
    }

    /// R5.6: what is given to a server that reads slowly arrives whole and in order.
    #[tokio::test]
    async fn lines_arrive_whole_and_in_order_whatever_the_pipe_takes() {
        const LINES: usize = 3_000;
        let (sender, mut receiver) = pipe::pipe().unwrap();
        let writer = Writer::new(sender);
        let draining = tokio::spawn({
            let writer = writer.clone();
            async move { writer.drain().await }
        });
        let giving = tokio::spawn({
            let writer = writer.clone();
            async move {
                for number in 0..LINES {
                    writer.send(&line(number)).await.unwrap();
                }
            }
        });
        let wanted: Vec<u8> = (0..LINES).flat_map(|number| line(number).to_vec()).collect();
        let mut found = vec![0; wanted.len()];
        receiver.read_exact(&mut found).await.unwrap();
        assert!(found == wanted, "lines were mixed up");
        giving.await.unwrap();
        draining.abort();
    }

    /// R5.6: a server that does not read costs a bounded number of lines, and its end frees whoever waits.
    #[tokio::test]
    async fn a_full_line_waits_and_hears_of_the_end() {
        let (sender, receiver) = pipe::pipe().unwrap();
        let writer = Writer::new(sender);
        let big = Bytes::from(vec![b'x'; 128 * 1024]);
        while writer.try_send(&big).unwrap() {}
        assert_eq!(writer.lock().lines.len(), UPSTREAM_WRITES_MAX);
        let waiting = tokio::spawn({
            let writer = writer.clone();
            async move { writer.send(&line(1)).await }
        });
        tokio::task::yield_now().await;
        drop(receiver);
        writer.drain().await;
        assert_eq!(waiting.await.unwrap(), Err(Closed));
        assert_eq!(writer.try_send(&line(2)), Err(Closed));
    }
}
