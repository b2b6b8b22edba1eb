//! A server's stdin: lines go out in the order they were given.
//!
//! Guarantees: what waits is bounded; a line that no byte of was given to the pipe is known to be unsent. Of the lines that
//! are given on the thread that drains, the first goes out at once, so that the server begins, then a few, so that it
//! does not wait, and the rest together, once everything that is ready has run: a server is not woken for every line.
//! On another thread a line is written where it stands as long as the pipe has room, because to wake that thread costs
//! more.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::unix::pipe::Sender;
use tokio::sync::Notify;
use toolcrib_engine::by_thread::thread;

use crate::limits::UPSTREAM_WRITES_MAX;

/// Lines that go out at once, first and then.
const FIRST: usize = 1;
const FEW: usize = 4;

/// Lines that are given to the pipe at once.
const SLICES_MAX: usize = 64;

/// The server's stdin is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed;

/// Which line of a server's something is.
pub(crate) type LineNumber = u64;

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
    lines: VecDeque<Vec<u8>>,
    /// Bytes of the first line that are written.
    written: usize,
    /// Lines that were written, in part at least.
    begun: LineNumber,
    /// Where lines are drained.
    drains_on: Option<usize>,
    /// So many lines do not wait for whoever drains; more of them the more went out since it had its turn.
    at_once: usize,
}

impl Writer {
    pub(super) fn new(pipe: Sender) -> Arc<Self> {
        let pipe = Some(Arc::new(pipe));
        let waiting =
            Waiting { pipe, lines: VecDeque::new(), written: 0, begun: 0, drains_on: None, at_once: FIRST };
        Arc::new(Self { waiting: Mutex::new(waiting), filled: Notify::new(), drained: Notify::new() })
    }

    /// Puts a line behind those before it; waits where too many wait already.
    pub(super) async fn send(&self, line: Vec<u8>) -> Result<LineNumber, Closed> {
        let mut line = match self.try_send(line)? {
            Ok(number) => return Ok(number),
            Err(line) => line,
        };
        loop {
            let drained = self.drained.notified();
            tokio::pin!(drained);
            // Registered before it is looked for, so that no room is missed.
            drained.as_mut().enable();
            line = match self.try_send(line)? {
                Ok(number) => return Ok(number),
                Err(line) => line,
            };
            drained.await;
        }
    }

    /// The same without waiting; gives the line back where there is no room.
    pub(super) fn try_send(&self, line: Vec<u8>) -> Result<Result<LineNumber, Vec<u8>>, Closed> {
        let mut waiting = self.lock();
        if waiting.lines.len() >= UPSTREAM_WRITES_MAX {
            return Ok(Err(line));
        }
        if waiting.pipe.is_none() {
            return Err(Closed);
        }
        let was_empty = waiting.lines.is_empty();
        waiting.lines.push_back(line);
        let number = waiting.last();
        let is_here = waiting.drains_on == Some(thread());
        let goes_out = if is_here { waiting.lines.len() >= waiting.at_once } else { was_empty };
        if goes_out {
            waiting.at_once = if waiting.at_once == FIRST { FEW } else { usize::MAX };
            if waiting.write_some().is_err() {
                waiting.close();
                return Err(Closed);
            }
        }
        if was_empty && (is_here || !waiting.lines.is_empty()) {
            self.filled.notify_one();
        }
        Ok(Ok(number))
    }

    /// Whether the server may have seen something of this line.
    pub(super) fn has_begun(&self, line: LineNumber) -> bool {
        line <= self.lock().begun
    }

    /// Writes what waits, until the server's stdin is closed by either side.
    pub(super) async fn drain(&self) {
        loop {
            {
                let mut waiting = self.lock();
                waiting.drains_on = Some(thread());
                waiting.at_once = FIRST;
            }
            self.filled.notified().await;
            while let Some(pipe) = self.behind() {
                let open = pipe.writable().await.is_ok() && self.lock().write_some().is_ok();
                if !open {
                    self.close();
                    return;
                }
                self.drained.notify_waiters();
            }
        }
    }

    /// Where to write, if something waits.
    fn behind(&self) -> Option<Arc<Sender>> {
        let waiting = self.lock();
        waiting.pipe.clone().filter(|_| !waiting.lines.is_empty())
    }

    /// Nothing more is written. The pipe is closed when whoever drains has let go of it.
    pub(super) fn close(&self) {
        self.lock().close();
        self.drained.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// The number of the line given last.
    fn last(&self) -> LineNumber {
        let whole = self.lines.len() - usize::from(self.written > 0);
        self.begun + whole as LineNumber
    }

    fn close(&mut self) {
        self.pipe = None;
        self.lines.clear();
    }

    /// Gives the pipe what it takes now.
    fn write_some(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let mut lines = self.lines.iter();
        let first = lines.next().and_then(|line| line.get(self.written..)).unwrap_or_default();
        let outcome = if self.lines.len() == 1 {
            pipe.try_write(first)
        } else {
            let rest = lines.take(SLICES_MAX - 1).map(|line| IoSlice::new(line));
            let slices: Vec<IoSlice<'_>> = std::iter::once(IoSlice::new(first)).chain(rest).collect();
            pipe.try_write_vectored(&slices)
        };
        let mut bytes = match outcome {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        while let Some(first) = self.lines.front().filter(|_| bytes > 0) {
            self.begun += LineNumber::from(self.written == 0);
            let part = bytes.min(first.len() - self.written);
            bytes -= part;
            self.written += part;
            if self.written == first.len() {
                self.lines.pop_front();
                self.written = 0;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::unix::pipe;

    use super::*;

    fn line(number: usize) -> Vec<u8> {
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
                    writer.send(line(number)).await.unwrap();
                }
            }
        });
        let wanted: Vec<u8> = (0..LINES).flat_map(line).collect();
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
        let pipe = writer.lock().pipe.clone().unwrap();
        pipe.writable().await.unwrap();
        drop(pipe);
        let big = || vec![b'x'; 128 * 1024];
        let mut last = 0;
        while let Ok(number) = writer.try_send(big()).unwrap() {
            assert_eq!(number, last + 1);
            last = number;
        }
        assert_eq!(writer.lock().lines.len(), UPSTREAM_WRITES_MAX);
        assert!(writer.has_begun(1) && !writer.has_begun(2), "the pipe takes half of the first");
        let waiting = tokio::spawn({
            let writer = writer.clone();
            async move { writer.send(line(1)).await }
        });
        tokio::task::yield_now().await;
        drop(receiver);
        writer.drain().await;
        assert_eq!(waiting.await.unwrap(), Err(Closed));
        assert_eq!(writer.try_send(line(2)), Err(Closed));
        assert!(writer.has_begun(1) && !writer.has_begun(2), "they were never written");
    }
}
