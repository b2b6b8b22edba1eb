//! Threads that each serve their own connections.
//!
//! A connection stays on one thread with everything its requests do, so that no thread wakes another for it: on a busy
//! proxy those wake-ups cost as much as the checks. Connections are dealt out in turn.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::net::TcpStream;
use tokio::sync::mpsc;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Makes what serves a connection, on the thread that serves it.
type Job = Box<dyn FnOnce() -> Task + Send>;

#[derive(Debug)]
pub(crate) struct Workers {
    senders: Vec<mpsc::UnboundedSender<Job>>,
    threads: Vec<JoinHandle<()>>,
    next: AtomicUsize,
}

impl Workers {
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        let mut workers = Self { senders: Vec::new(), threads: Vec::new(), next: AtomicUsize::new(0) };
        for number in 0..count {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let (sender, mut jobs) = mpsc::unbounded_channel::<Job>();
            let thread = std::thread::Builder::new().name(format!("toolcrib-{number}")).spawn(move || {
                runtime.block_on(async {
                    while let Some(job) = jobs.recv().await {
                        tokio::spawn(job());
                    }
                });
            })?;
            workers.senders.push(sender);
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Serves a connection on the thread whose turn it is.
    pub(crate) fn serve<F>(
        &self,
        stream: TcpStream,
        serve: impl FnOnce(TcpStream) -> F + Send + 'static,
    ) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        // Out of this thread's poll; the other one registers it with its own.
        let stream = stream.into_std()?;
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.senders.len().max(1);
        let Some(sender) = self.senders.get(turn) else { return Ok(()) };
        let job: Job = Box::new(move || {
            Box::pin(async move {
                match TcpStream::from_std(stream) {
                    Ok(stream) => serve(stream).await,
                    Err(error) => tracing::warn!(target: "toolcrib", "a connection was lost: {error}"),
                }
            })
        });
        sender.send(job).map_err(|_| io::Error::other("the thread has ended"))
    }

    /// Ends the threads; what they still do is dropped.
    pub(crate) fn stop(self) {
        drop(self.senders);
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}
