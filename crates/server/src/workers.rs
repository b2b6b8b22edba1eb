//! Worker threads, each of which serves its own connections.
//!
//! A connection and everything that its requests do stay on one thread, so that no thread has to wake another: on a
//! busy proxy those wake-ups cost as much as the checks. A new connection goes to the thread with the fewest.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use crate::seats::Seat;
use crate::socket::{Socket, StdSocket};

/// Serves a connection until it ends.
type Serve = dyn Fn(Socket) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// A connection that moves to a thread, its place among all connections, and its count among those of the thread.
type Arrival = (StdSocket, Seat, Counted);

/// Worker threads of a listener.
#[derive(Debug)]
pub(crate) struct Workers {
    workers: Vec<Worker>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Worker {
    arrivals: mpsc::UnboundedSender<Arrival>,
    connections: Arc<AtomicUsize>,
}

impl Workers {
    pub(crate) fn start<F>(
        count: usize,
        serve: impl Fn(Socket) -> F + Send + Sync + 'static,
    ) -> io::Result<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let serve: Arc<Serve> = Arc::new(move |stream| Box::pin(serve(stream)));
        let (mut workers, mut threads) = (Vec::new(), Vec::new());
        for number in 0..count.max(1) {
            let (arrivals, mut inbox) = mpsc::unbounded_channel();
            workers.push(Worker { arrivals, connections: Arc::default() });
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let serve = serve.clone();
            let thread = std::thread::Builder::new().name(format!("toolcrib-{number}")).spawn(move || {
                runtime.block_on(async {
                    while let Some(arrival) = inbox.recv().await {
                        tokio::spawn(visit(arrival, serve.clone()));
                    }
                });
            })?;
            threads.push(thread);
        }
        Ok(Self { workers, threads })
    }

    /// Serves a connection on the thread with the fewest connections.
    pub(crate) fn take(&self, stream: Socket, seat: Seat) -> io::Result<()> {
        // Deregisters the socket here; the other thread registers it with its own runtime.
        let stream = stream.into_std()?;
        let gone = || io::Error::other("the thread has ended");
        let fewest = self.workers.iter().min_by_key(|worker| worker.connections.load(Ordering::Relaxed));
        let worker = fewest.ok_or_else(gone)?;
        // Travels with the connection, so that one that never arrives is not counted either.
        let counted = Counted::new(&worker.connections);
        worker.arrivals.send((stream, seat, counted)).map_err(|_| gone())
    }

    /// Ends the threads; their unfinished work is dropped.
    pub(crate) fn stop(self) {
        drop(self.workers);
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

/// Counts a connection for its thread until it is dropped.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(connections: &Arc<AtomicUsize>) -> Self {
        connections.fetch_add(1, Ordering::Relaxed);
        Self(connections.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn visit((stream, seat, counted): Arrival, serve: Arc<Serve>) {
    match stream.into_tokio() {
        Ok(stream) => serve(stream).await,
        Err(error) => tracing::warn!(target: "toolcrib", "a connection was lost: {error}"),
    }
    drop((counted, seat));
}

#[cfg(test)]
mod tests;
