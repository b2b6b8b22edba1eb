//! Reader threads. In write-ahead mode a reader sees the last commit and never waits for a writer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use crate::connection;
use crate::error::StoreError;
use crate::limits::{READERS, READS_WAITING_MAX};

pub(crate) type Query = Box<dyn FnOnce(&Connection) + Send>;

/// Queue of the reader threads.
#[derive(Debug)]
pub(crate) struct Readers {
    queries: SyncSender<Query>,
}

impl Readers {
    pub(crate) fn start(path: &Path) -> Result<Self, StoreError> {
        Self::start_with(path, connection::open_reader)
    }

    /// Starts the reader threads, each with a connection made by `open`.
    pub(crate) fn start_with(
        path: &Path,
        open: fn(&Path) -> Result<Connection, StoreError>,
    ) -> Result<Self, StoreError> {
        let (queries, waiting) = sync_channel(READS_WAITING_MAX);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..READERS {
            let connection = open(path)?;
            let waiting = waiting.clone();
            std::thread::Builder::new()
                .name("toolcrib-store-reader".to_owned())
                .spawn(move || run(&connection, &waiting))
                .map_err(|cause| StoreError::File { path: path.to_path_buf(), cause: Arc::new(cause) })?;
        }
        Ok(Self { queries })
    }

    pub(crate) fn push(&self, query: Query) -> Result<(), StoreError> {
        self.queries.try_send(query).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Busy,
            TrySendError::Disconnected(_) => StoreError::Closed,
        })
    }
}

fn run(connection: &Connection, waiting: &Mutex<Receiver<Query>>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(query) = next else { return };
        // A panic drops the query's sender, so its receiver gets an error.
        let _ = catch_unwind(AssertUnwindSafe(|| query(connection)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use super::*;

    /// R5.10: `READERS` queries run at once, `READS_WAITING_MAX` are queued, one more is refused.
    #[test]
    fn readers_run_at_once_and_a_read_over_reads_waiting_max_is_refused() {
        let folder = std::env::temp_dir().join(format!("toolcrib-readers-{}", std::process::id()));
        let path = folder.join("t.db");
        drop(connection::open(&path).unwrap());
        let readers = Readers::start(&path).unwrap();
        let (started, has_started) = channel();
        let (release, released) = channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let query = || -> Query {
            let (started, released) = (started.clone(), released.clone());
            Box::new(move |_| {
                started.send(()).unwrap();
                let _ = released.lock().unwrap().recv();
            })
        };
        for _ in 0..READERS {
            readers.push(query()).unwrap();
            has_started.recv_timeout(Duration::from_secs(10)).unwrap();
        }
        for _ in 0..READS_WAITING_MAX {
            readers.push(query()).unwrap();
        }
        assert!(matches!(readers.push(query()), Err(StoreError::Busy)));
        let next = has_started.recv_timeout(Duration::from_millis(100));
        assert_eq!(next, Err(RecvTimeoutError::Timeout), "no more than READERS run");
        drop(release);
        for _ in 0..READS_WAITING_MAX {
            has_started.recv_timeout(Duration::from_secs(10)).unwrap();
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
