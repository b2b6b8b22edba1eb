//! Write queue of a server's stdin: lines are written in the order in which they were queued.
//!
//! Guarantees: the queue is bounded; a line of which no byte reached the pipe is known to be unsent. Batching saves
//! wake-ups of the server: on the thread that drains, the first line is written at once so that the server starts,
//! then a few so that it does not wait, and the rest together once all ready tasks have run. On another thread a line
//! is written directly while the pipe has room, because waking the draining thread costs more.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::unix::pipe::Sender;
use tokio::sync::Notify;
use toolcrib_engine::by_thread::thread;

use crate::limits::UPSTREAM_WRITES_MAX;

/// Batch sizes: the first line alone, then up to four, then everything queued.
const FIRST: usize = 1;
const FEW: usize = 4;

/// Maximum lines per vectored write.
const SLICES_MAX: usize = 64;

/// Error: the server's stdin is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed;

/// Number of a line in a server's stdin, counted from 1.
pub(crate) type LineNumber = u64;

/// Write queue of one server's stdin.
pub(super) struct Writer {
    waiting: Mutex<Waiting>,
    /// Notified when a line is queued for the draining task.
    filled: Notify,
    /// Notified when the queue has room or is closed.
    drained: Notify,
}

struct Waiting {
    /// `None` once closed.
    pipe: Option<Arc<Sender>>,
    lines: VecDeque<Vec<u8>>,
    /// Bytes of the first line that were written.
    written: usize,
    /// Number of the last line of which at least a part was written.
    begun: LineNumber,
    /// Thread of the draining task.
    drains_on: Option<usize>,
    /// Queue length at which lines are written at once; grows with each batch until the draining task has its turn.
    at_once: usize,
}

impl Writer {
    pub(super) fn new(pipe: Sender) -> Arc<Self> {
        let pipe = Some(Arc::new(pipe));
        let waiting =
            Waiting { pipe, lines: VecDeque::new(), written: 0, begun: 0, drains_on: None, at_once: FIRST };
        Arc::new(Self { waiting: Mutex::new(waiting), filled: Notify::new(), drained: Notify::new() })
    }

    /// Queues a line; waits while the queue is full.
    pub(super) async fn send(&self, line: Vec<u8>) -> Result<LineNumber, Closed> {
        let mut line = match self.try_send(line)? {
            Ok(number) => return Ok(number),
            Err(line) => line,
        };
        loop {
            let drained = self.drained.notified();
            tokio::pin!(drained);
            // Registered before the check, so that no notification is missed.
            drained.as_mut().enable();
            line = match self.try_send(line)? {
                Ok(number) => return Ok(number),
                Err(line) => line,
            };
            drained.await;
        }
    }

    /// Queues a line without waiting; returns it if the queue is full.
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

    /// Returns `true` if the server may have seen something of this line.
    pub(super) fn has_begun(&self, line: LineNumber) -> bool {
        line <= self.lock().begun
    }

    /// Writes queued lines until the server's stdin is closed by either side.
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

    /// Returns the pipe if lines are queued.
    fn behind(&self) -> Option<Arc<Sender>> {
        let waiting = self.lock();
        waiting.pipe.clone().filter(|_| !waiting.lines.is_empty())
    }

    /// Discards the queue. The pipe is closed when the draining task drops its reference.
    pub(super) fn close(&self) {
        self.lock().close();
        self.drained.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Returns the number of the line that was queued last.
    fn last(&self) -> LineNumber {
        let whole = self.lines.len() - usize::from(self.written > 0);
        self.begun + whole as LineNumber
    }

    fn close(&mut self) {
        self.pipe = None;
        self.lines.clear();
    }

    /// Writes as much as the pipe accepts now.
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

    /// R5.6: lines to a server that reads slowly arrive whole and in order.
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

    /// R5.6: a server that does not read has a bounded queue, and its end wakes the waiting senders.
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
