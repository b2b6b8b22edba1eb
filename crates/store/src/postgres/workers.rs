//! Threads that hold the connections. A thread connects when it gets its first job.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::address::Address;
use super::session::Session;
use crate::error::StoreError;
use crate::limits::{POSTGRES_CONNECTIONS, READS_WAITING_MAX};

/// Work for a connection. Called with a session, or with the reason why none could be made.
pub(super) type Job = Box<dyn FnOnce(Result<&mut Session, StoreError>) + Send>;

#[derive(Debug)]
pub(super) struct Workers {
    jobs: SyncSender<Job>,
}

impl Workers {
    pub(super) fn start(address: &Address) -> Result<Self, StoreError> {
        let (jobs, waiting) = sync_channel(READS_WAITING_MAX);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..POSTGRES_CONNECTIONS {
            let (address, waiting) = (address.clone(), waiting.clone());
            std::thread::Builder::new()
                .name("toolcrib-postgres".to_owned())
                .spawn(move || run(&address, &waiting))
                .map_err(|cause| StoreError::File {
                    path: PathBuf::from("a thread"),
                    cause: Arc::new(cause),
                })?;
        }
        Ok(Self { jobs })
    }

    pub(super) fn push(&self, job: Job) -> Result<(), StoreError> {
        self.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Busy,
            TrySendError::Disconnected(_) => StoreError::Closed,
        })
    }
}

fn run(address: &Address, waiting: &Mutex<Receiver<Job>>) {
    let mut open: Option<Session> = None;
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        if !open.as_mut().is_some_and(Session::is_usable) {
            open = None;
        }
        // A panic drops the job's sender, so its receiver gets an error; the transaction is rolled back.
        let done = catch_unwind(AssertUnwindSafe(|| match &mut open {
            Some(session) => job(Ok(session)),
            None => match Session::connect(address) {
                Ok(session) => job(Ok(open.insert(session))),
                Err(error) => job(Err(error)),
            },
        }));
        if done.is_err() {
            open = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use super::*;

    /// R6.1: `POSTGRES_CONNECTIONS` connections are in use at once; further work waits for one of them.
    #[test]
    fn no_more_than_postgres_connections_are_in_use() {
        // Nothing listens at this port: a job gets an error instead of a connection, and still occupies its thread.
        let workers = Workers::start(&Address::read("postgres://u@127.0.0.1:1/x").unwrap()).unwrap();
        let (started, has_started) = channel();
        let (release, released) = channel::<()>();
        let released = Arc::new(Mutex::new(released));
        for _ in 0..=POSTGRES_CONNECTIONS {
            let (started, released) = (started.clone(), released.clone());
            let job = move |session: Result<&mut Session, StoreError>| {
                started.send(session.is_err()).unwrap();
                let _ = released.lock().unwrap().recv();
            };
            workers.push(Box::new(job)).unwrap();
        }
        for _ in 0..POSTGRES_CONNECTIONS {
            assert!(has_started.recv_timeout(Duration::from_secs(10)).unwrap());
        }
        let next = has_started.recv_timeout(Duration::from_millis(100));
        assert_eq!(next, Err(RecvTimeoutError::Timeout));
        drop(release);
        assert!(has_started.recv_timeout(Duration::from_secs(10)).unwrap());
    }
}
