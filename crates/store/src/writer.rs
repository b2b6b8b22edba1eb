//! The one thread that writes: transactions in the order they came, those that wait together in one commit.
//!
//! Guarantees: whoever wrote hears of it only after the commit; a write that fails takes nothing of its neighbours
//! with it, nor they of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::limits::{GROUP_WRITES_MAX, WRITES_WAITING_MAX};

/// What a write came to, before the commit.
pub(crate) struct Done {
    /// False takes its changes back.
    pub(crate) keep: bool,
    /// Called when the fate of the transaction is known.
    pub(crate) tell: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

/// Is given the open transaction, or the reason why there is none.
pub(crate) type Job = Box<dyn FnOnce(Result<&Connection, &StoreError>) -> Done + Send>;

#[derive(Debug)]
pub(crate) struct Writer {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(connection: Connection) -> Result<Self, std::io::Error> {
        let (jobs, waiting) = sync_channel(WRITES_WAITING_MAX);
        let thread = std::thread::Builder::new()
            .name("toolcrib-store-writer".to_owned())
            .spawn(move || run(&connection, &waiting))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(crate) fn push(&self, job: Job) -> Result<(), StoreError> {
        match self.jobs.as_ref().ok_or(StoreError::Closed)?.try_send(job) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => Err(StoreError::Busy),
            Err(TrySendError::Disconnected(_)) => Err(StoreError::Closed),
        }
    }
}

impl Drop for Writer {
    /// What was taken in is written before the store is gone.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

fn run(connection: &Connection, waiting: &Receiver<Job>) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        while group.len() < GROUP_WRITES_MAX
            && let Ok(next) = waiting.try_recv()
        {
            group.push(next);
        }
        commit(connection, group);
    }
}

fn commit(connection: &Connection, group: Vec<Job>) {
    if let Err(error) = connection.execute_batch("BEGIN IMMEDIATE") {
        let error = StoreError::from(error);
        for job in group {
            refuse(job, &error);
        }
        return;
    }
    let mut done = Vec::with_capacity(group.len());
    for job in group {
        done.push(apart(connection, job));
    }
    let fate = connection.execute_batch("COMMIT").map_err(|error| {
        let _ = connection.execute_batch("ROLLBACK");
        StoreError::NotCommitted(Arc::new(error))
    });
    for tell in done {
        tell(fate.clone());
    }
}

/// Runs a write so that it can be taken back alone.
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
        // Dropping the job's sender told whoever waits.
        (Err(_), _) => Box::new(|_| {}),
    }
}

/// Tells a job that it cannot even start.
fn refuse(job: Job, error: &StoreError) {
    if let Ok(done) = catch_unwind(AssertUnwindSafe(|| job(Err(error)))) {
        (done.tell)(Err(error.clone()));
    }
}
