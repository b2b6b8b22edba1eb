//! The writer thread: runs transactions in the order they were queued; those that wait together share a commit.
//!
//! Guarantees: a write is reported only after the commit and after the hook that follows a commit. Each write has its
//! own savepoint, so a write that fails rolls back only its own changes. If SQLite rolls back the whole transaction
//! (disk full), every write in it is reported as failed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::limits::{GROUP_WRITES_MAX, WRITES_WAITING_MAX};

/// Result of a write before the commit.
pub(crate) struct Done {
    /// `false` rolls its changes back.
    pub(crate) keep: bool,
    /// Called with the result of the commit.
    pub(crate) tell: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

/// A write. Called with the open transaction, or with the reason why none could be opened.
pub(crate) type Job = Box<dyn FnOnce(Result<&Connection, &StoreError>) -> Done + Send>;

/// Hook that runs after every commit, before the writes of that commit are reported.
pub(crate) type After = Box<dyn FnMut(&Connection) -> Result<(), StoreError> + Send>;

/// Messages to the writer thread.
enum Task {
    Write(Job),
    /// Moves the write-ahead log into the database; the sender is used when that is done.
    Checkpoint(SyncSender<()>),
}

/// Queue of the writer thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Writer {
    tasks: Option<SyncSender<Task>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(connection: Connection, after: After) -> Result<Self, std::io::Error> {
        let (tasks, waiting) = sync_channel(WRITES_WAITING_MAX);
        let thread = std::thread::Builder::new()
            .name("toolcrib-store-writer".to_owned())
            .spawn(move || run(&connection, &waiting, after))?;
        Ok(Self { tasks: Some(tasks), thread: Some(thread) })
    }

    /// Queues a write. If the queue is full or closed, the job is called with the error and the error is returned.
    pub(crate) fn push(&self, job: Job) -> Result<(), StoreError> {
        let Some(tasks) = &self.tasks else {
            refuse(job, &StoreError::Closed);
            return Err(StoreError::Closed);
        };
        let (error, task) = match tasks.try_send(Task::Write(job)) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Full(task)) => (StoreError::Busy, task),
            Err(TrySendError::Disconnected(task)) => (StoreError::Closed, task),
        };
        if let Task::Write(job) = task {
            refuse(job, &error);
        }
        Err(error)
    }

    /// Moves the write-ahead log into the database after the writes that are already queued. Waits at most `patience`.
    pub(crate) fn checkpoint(&self, patience: Duration) {
        let (done, is_done) = sync_channel(1);
        let Some(tasks) = &self.tasks else { return };
        if tasks.try_send(Task::Checkpoint(done)).is_ok() {
            // Another process that reads can block the checkpoint; that process then makes it when it closes the
            // database.
            let _ = is_done.recv_timeout(patience);
        }
    }
}

impl Drop for Writer {
    /// Queued writes are still made before the store closes.
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

fn run(connection: &Connection, waiting: &Receiver<Task>, mut after: After) {
    while let Ok(first) = waiting.recv() {
        let mut group = Vec::new();
        let mut next = Some(first);
        let mut asked = None;
        while let Some(task) = next.take() {
            match task {
                Task::Write(job) => group.push(job),
                Task::Checkpoint(done) => {
                    asked = Some(done);
                    break;
                }
            }
            if group.len() < GROUP_WRITES_MAX {
                next = waiting.try_recv().ok();
            }
        }
        if !group.is_empty() {
            commit(connection, group, &mut after);
        }
        if let Some(done) = asked {
            checkpoint(connection);
            // The caller may have stopped waiting.
            let _ = done.try_send(());
        }
    }
    checkpoint(connection);
}

/// Moves the whole write-ahead log into the database file and truncates the log.
fn checkpoint(connection: &Connection) {
    if let Err(error) = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)") {
        tracing::warn!(target: "toolcrib", "the write-ahead log stays beside the database: {error}");
    }
}

fn commit(connection: &Connection, group: Vec<Job>, after: &mut After) {
    if let Err(error) = connection.execute_batch("BEGIN IMMEDIATE") {
        let error = StoreError::from(error);
        for job in group {
            refuse(job, &error);
        }
        return;
    }
    let mut done = Vec::with_capacity(group.len());
    let mut group = group.into_iter();
    for job in group.by_ref() {
        done.push(apart(connection, job));
        // SQLite rolled the transaction back: a further savepoint would start a transaction of its own.
        if connection.is_autocommit() {
            break;
        }
    }
    let fate = connection.execute_batch("COMMIT").map_err(|error| {
        if !connection.is_autocommit() {
            let _ = connection.execute_batch("ROLLBACK");
        }
        StoreError::NotCommitted(Arc::new(error))
    });
    let fate = fate.and_then(|()| {
        after(connection).map_err(|error| {
            tracing::error!(target: "toolcrib", "the end of the audit is behind its records: {error}");
            StoreError::Unanchored(Arc::new(error))
        })
    });
    for tell in done {
        tell(fate.clone());
    }
    for job in group {
        refuse(job, fate.as_ref().err().unwrap_or(&StoreError::Closed));
    }
}

/// Runs one write in a savepoint, so that it can be rolled back alone.
fn apart(connection: &Connection, job: Job) -> Box<dyn FnOnce(Result<(), StoreError>) + Send> {
    if let Err(error) = connection.execute_batch("SAVEPOINT write") {
        let error = StoreError::from(error);
        refuse(job, &error);
        return Box::new(|_| {});
    }
    let done = catch_unwind(AssertUnwindSafe(|| job(Ok(connection))));
    let keep = matches!(done, Ok(Done { keep: true, .. }));
    let end = if keep { "RELEASE write" } else { "ROLLBACK TO write; RELEASE write" };
    let ended = connection.execute_batch(end).map_err(StoreError::from);
    match (done, ended) {
        (Ok(done), Ok(())) => done.tell,
        (Ok(done), Err(error)) => Box::new(move |_| (done.tell)(Err(error))),
        // The panic dropped the job's sender, so its receiver already has an error.
        (Err(_), _) => Box::new(|_| {}),
    }
}

/// Calls a job that cannot start with the error.
fn refuse(job: Job, error: &StoreError) {
    if let Ok(done) = catch_unwind(AssertUnwindSafe(|| job(Err(error)))) {
        (done.tell)(Err(error.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{SyncSender, sync_channel};

    use super::*;

    /// Keeps the writer busy until the returned sender is dropped.
    fn block(writer: &Writer) -> SyncSender<()> {
        let (started, has_started) = sync_channel(1);
        let (release, released) = sync_channel::<()>(1);
        writer
            .push(Box::new(move |_| {
                started.send(()).unwrap();
                let _ = released.recv();
                Done { keep: true, tell: Box::new(|_| {}) }
            }))
            .unwrap();
        has_started.recv().unwrap();
        release
    }

    /// R5.10: writes that wait together share a commit, at most `GROUP_WRITES_MAX` of them.
    #[test]
    fn one_commit_has_at_most_group_writes_max_writes() {
        let writer =
            Writer::start(crate::connection::open_in_memory().unwrap(), Box::new(|_| Ok(()))).unwrap();
        let release = block(&writer);
        let committed = Arc::new(AtomicUsize::new(0));
        let (seen, all_seen) = sync_channel(2 * GROUP_WRITES_MAX);
        for _ in 0..=GROUP_WRITES_MAX {
            let (committed, seen) = (committed.clone(), seen.clone());
            let job = move |_: Result<&Connection, &StoreError>| {
                seen.send(committed.load(Ordering::SeqCst)).unwrap();
                let tell = move |_| {
                    committed.fetch_add(1, Ordering::SeqCst);
                };
                Done { keep: true, tell: Box::new(tell) }
            };
            writer.push(Box::new(job)).unwrap();
        }
        drop((release, seen));
        let before: Vec<usize> = all_seen.iter().collect();
        let (first, second) = before.split_at(GROUP_WRITES_MAX);
        assert!(first.iter().all(|committed| *committed == 0), "{first:?}");
        assert_eq!(second, [GROUP_WRITES_MAX], "the next one waited for the commit");
    }

    /// R5.10: `WRITES_WAITING_MAX` writes are queued, one more is refused at once, and the queued ones are still made.
    #[test]
    fn a_write_over_writes_waiting_max_is_refused() {
        let writer =
            Writer::start(crate::connection::open_in_memory().unwrap(), Box::new(|_| Ok(()))).unwrap();
        let release = block(&writer);
        let made = Arc::new(AtomicUsize::new(0));
        let job = || -> Job {
            let made = made.clone();
            Box::new(move |transaction| {
                made.fetch_add(usize::from(transaction.is_ok()), Ordering::SeqCst);
                Done { keep: true, tell: Box::new(|_| {}) }
            })
        };
        for _ in 0..WRITES_WAITING_MAX {
            writer.push(job()).unwrap();
        }
        assert!(matches!(writer.push(job()), Err(StoreError::Busy)));
        drop(release);
        drop(writer);
        assert_eq!(made.load(Ordering::SeqCst), WRITES_WAITING_MAX);
    }
}
