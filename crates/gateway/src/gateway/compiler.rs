//! The thread that compiles tools and assembles the registry.
//!
//! Guarantees: no compilation runs on a thread that serves requests. Requests that arrive during a run are all handled
//! by one further run, so the queue never grows. A run starts after its request, so it sees at least the state that
//! the requester saw.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Niceness relative to the threads that serve requests: this thread gets about a tenth of a core if none is idle.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

#[derive(Default)]
pub(super) struct Compiler {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    requests: Mutex<Requests>,
    wake: Condvar,
    /// Number of the last completed request.
    done: watch::Sender<u64>,
}

#[derive(Default)]
struct Requests {
    /// Number of the newest request.
    last: u64,
    ended: bool,
}

impl Compiler {
    /// Starts the thread, which calls `run` for requests until `self` is dropped.
    pub(super) fn start(&self, run: impl FnMut() + Send + 'static) -> io::Result<()> {
        let shared = self.shared.clone();
        std::thread::Builder::new().name("toolcrib-compile".to_owned()).spawn(move || shared.work(run))?;
        Ok(())
    }

    /// Requests a run; the future resolves when that run has ended. The run happens even if the future is dropped.
    pub(super) fn request(&self) -> impl Future<Output = ()> + Send + use<> {
        let number = {
            let mut requests = self.shared.lock();
            requests.last += 1;
            requests.last
        };
        self.shared.wake.notify_one();
        let mut done = self.shared.done.subscribe();
        async move {
            let _ = done.wait_for(|done| *done >= number).await;
        }
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.wake.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, mut run: impl FnMut()) {
        #[cfg(target_os = "linux")]
        if let Err(error) = rustix::process::nice(NICENESS) {
            tracing::debug!(target: "toolcrib", "the compile thread keeps its priority: {error}");
        }
        let mut done = 0;
        while let Some(number) = self.next(done) {
            let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut run));
            if ran.is_err() {
                tracing::error!(target: "toolcrib", "putting the tools together failed; what is served stays as it was");
            }
            done = number;
            self.done.send_replace(done);
        }
        self.done.send_replace(u64::MAX);
    }

    /// Waits for a request newer than `done`; returns `None` when the thread has to end.
    fn next(&self, done: u64) -> Option<u64> {
        let waits = |requests: &mut Requests| requests.last == done && !requests.ended;
        let requests = self.wake.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        (!requests.ended).then_some(requests.last)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn requests_that_come_during_a_run_are_done_by_one_more() {
        let (runs, compiler) = (Arc::new(AtomicUsize::new(0)), Compiler::default());
        let counted = runs.clone();
        compiler
            .start(move || {
                counted.fetch_add(1, Ordering::SeqCst);
                std::thread::park_timeout(Duration::from_millis(100));
            })
            .unwrap();
        let first = compiler.request();
        while runs.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let others: Vec<_> = (0..100).map(|_| compiler.request()).collect();
        first.await;
        for other in others {
            other.await;
        }
        assert_eq!(runs.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_run_that_panics_ends_no_other() {
        let (runs, compiler) = (Arc::new(AtomicUsize::new(0)), Compiler::default());
        let counted = runs.clone();
        compiler.start(move || assert!(counted.fetch_add(1, Ordering::SeqCst) > 0, "the first one")).unwrap();
        compiler.request().await;
        compiler.request().await;
        assert_eq!(runs.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn nobody_waits_for_a_thread_that_ended() {
        let compiler = Compiler::default();
        compiler.start(|| {}).unwrap();
        compiler.request().await;
        let mut done = compiler.shared.done.subscribe();
        drop(compiler);
        let ended = done.wait_for(|done| *done == u64::MAX);
        tokio::time::timeout(Duration::from_secs(5), ended).await.expect("ended").unwrap();
    }
}
