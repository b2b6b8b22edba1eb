//! Threads that each serve their own connections.
//!
//! A connection stays on one thread with everything its requests do, so that no thread wakes another for it: on a busy
//! proxy those wake-ups cost as much as the checks. Connections are dealt out evenly; where the busy ones met on one
//! thread, half of them leave it between two requests, if they would be answered sooner on another: while cores stand
//! idle, or where requests take so long that a warm thread is nothing to them.

mod room;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::mpsc;
use toolcrib_engine::by_thread::Apart;

use room::Load;

use crate::seats::Seat;
use crate::socket::{Socket, StdSocket};

/// Serves a connection until it ends, or gives it back when it no longer stays.
type Serve = dyn Fn(Socket, Stay) -> Pin<Box<dyn Future<Output = Option<Socket>> + Send>> + Send + Sync;

/// A connection on its way to a thread, and its place among all connections.
type Arrival = (StdSocket, Seat);

#[derive(Debug)]
pub(crate) struct Workers {
    crew: Arc<Crew>,
    threads: Vec<JoinHandle<()>>,
}

/// What every thread knows of the others.
#[derive(Debug)]
struct Crew {
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    arrivals: mpsc::UnboundedSender<Arrival>,
    load: Apart<Load>,
    connections: AtomicUsize,
}

impl Workers {
    pub(crate) fn start<F>(
        count: usize,
        serve: impl Fn(Socket, Stay) -> F + Send + Sync + 'static,
    ) -> io::Result<Self>
    where
        F: Future<Output = Option<Socket>> + Send + 'static,
    {
        let serve: Arc<Serve> = Arc::new(move |stream, stay| Box::pin(serve(stream, stay)));
        let epoch = Instant::now();
        let (workers, inboxes): (Vec<Worker>, Vec<_>) = (0..count.max(1))
            .map(|_| {
                let (arrivals, inbox) = mpsc::unbounded_channel();
                let load = Apart(Load::new(epoch));
                (Worker { arrivals, load, connections: AtomicUsize::new(0) }, inbox)
            })
            .unzip();
        let crew = Arc::new(Crew { workers });
        let mut threads = Vec::new();
        for (number, mut inbox) in inboxes.into_iter().enumerate() {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let (crew, serve) = (Arc::downgrade(&crew), serve.clone());
            let thread = std::thread::Builder::new().name(format!("toolcrib-{number}")).spawn(move || {
                runtime.block_on(async {
                    while let Some(arrival) = inbox.recv().await {
                        tokio::spawn(visit(arrival, crew.clone(), number, serve.clone()));
                    }
                });
            })?;
            threads.push(thread);
        }
        Ok(Self { crew, threads })
    }

    /// Serves a connection on the thread that has fewest.
    pub(crate) fn take(&self, stream: Socket, seat: Seat) -> io::Result<()> {
        self.crew.send(stream, seat, self.crew.fewest())
    }

    /// Ends the threads; what they still do is dropped.
    pub(crate) fn stop(self) {
        drop(self.crew);
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

impl Crew {
    fn send(&self, stream: Socket, seat: Seat, to: usize) -> io::Result<()> {
        // Out of this thread's poll; the other one registers it with its own.
        let stream = stream.into_std()?;
        let gone = || io::Error::other("the thread has ended");
        let worker = self.workers.get(to).ok_or_else(gone)?;
        worker.connections.fetch_add(1, Ordering::Relaxed);
        worker.arrivals.send((stream, seat)).map_err(|_| gone())
    }

    /// Where a new connection goes: what comes at once is not busy yet, only how many there are tells threads apart.
    fn fewest(&self) -> usize {
        self.least(|worker| worker.connections.load(Ordering::Relaxed))
    }

    /// Where one goes that leaves a full thread.
    fn idlest(&self) -> usize {
        self.least(|worker| worker.load.0.now())
    }

    fn least<K: Ord>(&self, key: impl Fn(&Worker) -> K) -> usize {
        let least = self.workers.iter().enumerate().min_by_key(|(_, worker)| key(worker));
        least.map_or(0, |(number, _)| number)
    }

    /// A thread says what it uses of a core, and learns the least that another does.
    fn told(&self, number: usize, used: u64) -> Option<u64> {
        self.workers.get(number)?.load.0.say(used);
        let others = self.workers.iter().enumerate().filter(|(other, _)| *other != number);
        others.map(|(_, other)| other.load.0.now()).min()
    }
}

/// Serves a connection for as long as it stays on this thread.
async fn visit((stream, seat): Arrival, crew: Weak<Crew>, number: usize, serve: Arc<Serve>) {
    let stay = Stay { on: Some((crew.clone(), number)), last: 0 };
    let left = match stream.into_tokio() {
        Ok(stream) => Ok(serve(stream, stay).await),
        Err(error) => Err(error),
    };
    let moved = left.and_then(|left| match (left, crew.upgrade()) {
        (Some(stream), Some(crew)) => crew.send(stream, seat, crew.idlest()),
        _ => Ok(()),
    });
    if let Err(error) = moved {
        tracing::warn!(target: "toolcrib", "a connection was lost: {error}");
    }
}

/// A connection's time on one thread.
#[derive(Debug)]
pub(crate) struct Stay {
    /// The threads, and the number of this one.
    on: Option<(Weak<Crew>, usize)>,
    /// The period of the thread's in which it was asked last.
    last: u64,
}

impl Stay {
    /// Where there are no threads to choose from.
    pub(crate) fn for_good() -> Self {
        Self { on: None, last: 0 }
    }

    /// Whether the connection should go on elsewhere. Asked after each request.
    pub(crate) fn is_over(&mut self) -> bool {
        let Some((crew, number)) = &self.on else { return false };
        room::should_leave(&mut self.last, |used| crew.upgrade()?.told(*number, used))
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let Some((crew, number)) = &self.on else { return };
        if let Some(worker) = crew.upgrade().as_ref().and_then(|crew| crew.workers.get(*number)) {
            worker.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
