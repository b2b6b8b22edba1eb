//! Work that would occupy a serving thread for more than a few milliseconds, run on a dedicated thread.
//!
//! Guarantees: one piece runs at a time, at a lower priority than the serving threads; at most
//! [`LONG_WORK_WAITING_MAX`] pieces wait, and further ones are refused at once; no caller waits longer than
//! [`LONG_WORK_MS_MAX`]. A panic ends only its own piece.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use toolcrib_contract::json::{Limits, OwnedDocument, ReadError};

use crate::limits::{LONG_WORK_MS_MAX, LONG_WORK_WAITING_MAX, READ_BRIEF_BYTES_MAX};

type Work = Box<dyn FnOnce() + Send>;

/// Niceness of the thread: a tenth of a serving thread's CPU share if both compete for one core.
const NICENESS: i32 = 10;

/// Returns true if parsing this many bytes would occupy a serving thread for too long.
#[must_use]
pub const fn is_long_to_read(bytes: usize) -> bool {
    bytes > READ_BRIEF_BYTES_MAX
}

/// Reason why a piece of work was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LongWorkError {
    #[error(
        "too much work of this kind is waiting (LONG_WORK_WAITING_MAX, {LONG_WORK_WAITING_MAX}); try again later"
    )]
    Full,
    #[error("the work was not done in time (LONG_WORK_MS_MAX, {LONG_WORK_MS_MAX} ms); try again later")]
    Late,
    #[error("the work failed unexpectedly")]
    Failed,
}

/// Parses a large text on the long-work thread. The tape is sent back there to be freed.
///
/// # Errors
/// The queue is full, or the work was not done in time.
pub async fn read(bytes: Vec<u8>, limits: Limits) -> Result<Result<OwnedDocument, ReadError>, LongWorkError> {
    run(move || Ok(OwnedDocument::parse_bytes(bytes, &limits)?.returning_to(take_back))).await
}

/// Tapes to be freed by the long-work thread, which allocated them.
static RETURNED: Mutex<Vec<Box<dyn Send>>> = Mutex::new(Vec::new());

fn take_back(tape: Box<dyn Send>) {
    RETURNED.lock().unwrap_or_else(PoisonError::into_inner).push(tape);
    // If the queue is full, the thread frees the tape after its current work.
    let _ = queue().try_send(Box::new(|| {}));
}

fn free_returned() {
    let returned = std::mem::take(&mut *RETURNED.lock().unwrap_or_else(PoisonError::into_inner));
    drop(returned);
}

fn queue() -> &'static mpsc::Sender<Work> {
    static QUEUE: OnceLock<mpsc::Sender<Work>> = OnceLock::new();
    QUEUE.get_or_init(|| start(LONG_WORK_WAITING_MAX))
}

/// Runs `work` on the long-work thread.
///
/// # Errors
/// The queue is full, or the work was not done in time.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, LongWorkError> {
    run_in(queue(), Duration::from_millis(LONG_WORK_MS_MAX), work).await
}

async fn run_in<T: Send + 'static>(
    queue: &mpsc::Sender<Work>,
    within: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LongWorkError> {
    let (done, result) = oneshot::channel();
    let work: Work = Box::new(move || {
        // Skipped if the caller was cancelled or its deadline has passed.
        if !done.is_closed() {
            let _ = done.send(work());
        }
    });
    queue.try_send(work).map_err(|_| LongWorkError::Full)?;
    match timeout(within, result).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(_)) => Err(LongWorkError::Failed),
        Err(_) => Err(LongWorkError::Late),
    }
}

/// Starts the thread. If that fails, all queued work fails.
fn start(waiting_max: usize) -> mpsc::Sender<Work> {
    let (queue, mut waiting) = mpsc::channel::<Work>(waiting_max);
    let body = move || {
        // On Linux, niceness belongs to the thread. If it cannot be lowered, the work is done all the same.
        let _ = rustix::process::setpriority_process(None, NICENESS);
        while let Some(work) = waiting.blocking_recv() {
            free_returned();
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    };
    let started = std::thread::Builder::new().name("toolcrib-long".to_owned()).spawn(body);
    if let Err(error) = started {
        tracing::error!(%error, "no thread for long work");
    }
    queue
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    /// `LONG_WORK_WAITING_MAX`, `LONG_WORK_MS_MAX`: the queue is bounded, and so is the wait.
    #[tokio::test]
    async fn long_work_waits_within_bounds() {
        assert_eq!(run(|| 7).await, Ok(7));
        let queue = start(2);
        let (release, held) = sync_channel::<()>(1);
        let (begun, begins) = sync_channel::<()>(1);
        let second = Duration::from_secs(1);
        let holding = tokio::spawn({
            let queue = queue.clone();
            async move {
                run_in(&queue, 60 * second, move || {
                    begun.send(()).unwrap();
                    held.recv().unwrap();
                })
                .await
            }
        });
        tokio::task::spawn_blocking(move || begins.recv().unwrap()).await.unwrap();
        let late = run_in(&queue, Duration::from_millis(20), || ()).await;
        assert_eq!(late, Err(LongWorkError::Late));
        let (first, next) = (run_in(&queue, 60 * second, || 2), run_in(&queue, second, || 3));
        let (first, next, ()) = tokio::join!(first, next, async {
            release.send(()).unwrap();
        });
        assert_eq!((first, next), (Ok(2), Err(LongWorkError::Full)), "one that is late still has its place");
        assert_eq!(holding.await.unwrap(), Ok(()));
    }

    /// `READ_BRIEF_BYTES_MAX`: longer texts are parsed on the long-work thread, with the same verdicts, and their
    /// tapes are freed there.
    #[tokio::test]
    async fn texts_over_read_brief_bytes_max_are_read_elsewhere() {
        assert!(!is_long_to_read(READ_BRIEF_BYTES_MAX) && is_long_to_read(READ_BRIEF_BYTES_MAX + 1));
        let text = format!("[{}0]", "0,".repeat(READ_BRIEF_BYTES_MAX));
        let document = read(text.clone().into_bytes(), Limits::message()).await.unwrap().unwrap();
        assert_eq!(document.root().len(), READ_BRIEF_BYTES_MAX + 1);
        let mut broken = text.into_bytes();
        broken[READ_BRIEF_BYTES_MAX] = 0xff;
        let error = read(broken, Limits::message()).await.unwrap().unwrap_err();
        assert_eq!(error.offset, READ_BRIEF_BYTES_MAX);
        drop(document);
        while !RETURNED.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_panic_ends_one_piece_of_work_alone() {
        let queue = start(4);
        let second = Duration::from_secs(10);
        assert_eq!(
            run_in(&queue, second, || panic!("on purpose")).await,
            Err::<(), _>(LongWorkError::Failed)
        );
        assert_eq!(run_in(&queue, second, || 1).await, Ok(1));
    }
}
