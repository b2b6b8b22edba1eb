//! Handle of an SQLite database: one writer thread, [`crate::limits::READERS`] reader threads, `write` and `read`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::connection;
use crate::error::StoreError;
use crate::migration::{self, Module};
use crate::readers::Readers;
use crate::writer::{After, Done, Writer};

/// An open database. Clones share it; it closes when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `None` if the database was opened for reading only.
    writer: Option<Writer>,
    /// `None` for a database in memory, which has only one connection.
    readers: Option<Readers>,
    path: Option<PathBuf>,
}

/// Result of a write or read that is under way. The work is done even if the value is dropped.
#[derive(Debug)]
#[must_use = "a write is durable only when this is done"]
pub struct Pending<T, E>(Result<oneshot::Receiver<Result<T, E>>, E>);

impl<T, E> Pending<T, E> {
    /// Wraps the receiver that gets the result.
    #[cfg(feature = "postgres")]
    pub(crate) fn new(receiver: Result<oneshot::Receiver<Result<T, E>>, E>) -> Self {
        Self(receiver)
    }
}

impl<T, E: From<StoreError>> Pending<T, E> {
    /// Waits for the result in async code.
    pub async fn wait(self) -> Result<T, E> {
        self.0?.await.unwrap_or_else(|_| Err(StoreError::Panicked.into()))
    }

    /// Waits for the result on a thread outside the async runtime.
    pub fn wait_blocking(self) -> Result<T, E> {
        self.0?.blocking_recv().unwrap_or_else(|_| Err(StoreError::Panicked.into()))
    }
}

impl Store {
    /// Opens the database at `path`, creates it if it does not exist, and applies missing migrations.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, migration::ALL)
    }

    /// Opens the database like [`Store::open`], with the migrations of `modules`.
    pub fn open_with(path: &Path, modules: &[Module]) -> Result<Self, StoreError> {
        Self::opened(path, modules, Box::new(|_| Ok(())))
    }

    /// Opens the safety journal's database. `after` runs after every commit, before the writes of that commit are
    /// reported.
    pub(crate) fn open_followed(path: &Path, after: After) -> Result<Self, StoreError> {
        Self::opened(path, migration::JOURNAL, after)
    }

    fn opened(path: &Path, modules: &[Module], after: After) -> Result<Self, StoreError> {
        let mut connection = connection::open(path)?;
        migration::migrate(&mut connection, modules)?;
        let readers = Readers::start(path)?;
        Self::start(connection, Some(readers), Some(path), after)
    }

    /// Opens a database in memory; its content is lost when the store is dropped.
    pub fn in_memory() -> Result<Self, StoreError> {
        let mut connection = connection::open_in_memory()?;
        migration::migrate(&mut connection, migration::ALL)?;
        Self::start(connection, None, None, Box::new(|_| Ok(())))
    }

    fn start(
        connection: Connection,
        readers: Option<Readers>,
        path: Option<&Path>,
        after: After,
    ) -> Result<Self, StoreError> {
        let writer = Writer::start(connection, after).map_err(|cause| StoreError::File {
            path: path.unwrap_or_else(|| Path::new(":memory:")).to_path_buf(),
            cause: Arc::new(cause),
        })?;
        Ok(Self(Arc::new(Inner { writer: Some(writer), readers, path: path.map(Path::to_path_buf) })))
    }

    /// Opens the safety journal's database for reading only. No file is created or changed, so the folder may be
    /// read-only. Fails with `Outdated` if migrations are missing.
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        let connection = connection::open_read_only(path)?;
        if !migration::is_current(&connection, migration::JOURNAL)? {
            return Err(StoreError::Outdated);
        }
        let readers = Readers::start_with(path, connection::open_read_only)?;
        Ok(Self(Arc::new(Inner { writer: None, readers: Some(readers), path: Some(path.to_path_buf()) })))
    }

    /// Moves the write-ahead log into the database file, so that the file is complete without the log. Waits at most
    /// `patience`.
    pub fn checkpoint(&self, patience: std::time::Duration) {
        if let Some(writer) = &self.0.writer {
            writer.checkpoint(patience);
        }
    }

    /// Path of the database file; `None` in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Runs `work` in one transaction: all of its changes are kept or, if it fails, none.
    pub fn write<T, E, F>(&self, work: F) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let pushed = self.write_then(work, move |result| {
            // The receiver may have been dropped. A successful write stays; a failed one is logged.
            if let Err(Err(_)) = sender.send(result) {
                tracing::error!(target: "toolcrib", "a write that nobody waited for was not kept");
            }
        });
        Pending(pushed.map(|()| receiver).map_err(E::from))
    }

    /// Runs `work` in one transaction like [`Store::write`] and calls `done` on the writer's thread after the commit.
    /// If the write cannot be queued, both `done` and the caller get the error.
    pub(crate) fn write_then<T, E, F>(
        &self,
        work: F,
        done: impl FnOnce(Result<T, E>) + Send + 'static,
    ) -> Result<(), StoreError>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        let Some(writer) = &self.0.writer else {
            done(Err(StoreError::ReadOnly.into()));
            return Err(StoreError::ReadOnly);
        };
        let job = Box::new(move |transaction: Result<&Connection, &StoreError>| {
            let result = transaction.map_err(|error| error.clone().into()).and_then(work);
            let keep = result.is_ok();
            let tell = move |fate: Result<(), StoreError>| {
                done(match (result, fate) {
                    (Ok(_), Err(error)) => Err(error.into()),
                    (result, _) => result,
                });
            };
            Done { keep, tell: Box::new(tell) }
        });
        writer.push(job)
    }

    /// Runs a query on the last committed state. In memory the query is queued like a write.
    pub fn read<T, E, F>(&self, work: F) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        let Some(readers) = &self.0.readers else { return self.write(work) };
        let (sender, receiver) = oneshot::channel();
        let query = Box::new(move |connection: &Connection| {
            let _ = sender.send(work(connection));
        });
        Pending(readers.push(query).map(|()| receiver).map_err(E::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(store: &Store) {
        store
            .write::<_, StoreError, _>(|db| Ok(db.execute_batch("CREATE TABLE t (x INTEGER UNIQUE) STRICT")?))
            .wait_blocking()
            .unwrap();
    }

    fn put(store: &Store, x: i64) -> Pending<(), StoreError> {
        store.write(move |db| {
            db.execute("INSERT INTO t (x) VALUES (?1)", [x])?;
            Ok(())
        })
    }

    fn count(store: &Store) -> i64 {
        store
            .read::<_, StoreError, _>(|db| Ok(db.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?))
            .wait_blocking()
            .unwrap()
    }

    fn on_disk() -> (PathBuf, Store) {
        static LAST: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = LAST.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("toolcrib-store-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let path = folder.join("t.db");
        let store = Store::open(&path).unwrap();
        (folder, store)
    }

    #[test]
    fn a_write_that_fails_takes_nothing_of_its_neighbours_with_it() {
        for store in [Store::in_memory().unwrap(), on_disk().1] {
            table(&store);
            let pending: Vec<_> = [1, 2, 2, 3].into_iter().map(|x| put(&store, x)).collect();
            let results: Vec<bool> = pending.into_iter().map(|one| one.wait_blocking().is_ok()).collect();
            assert_eq!(results, [true, true, false, true]);
            let half = store.write::<(), StoreError, _>(|db| {
                db.execute("INSERT INTO t (x) VALUES (9)", [])?;
                Err(StoreError::Closed)
            });
            assert!(half.wait_blocking().is_err());
            assert_eq!(count(&store), 3);
        }
    }

    #[test]
    fn a_panic_is_told_and_the_next_write_works() {
        let store = Store::in_memory().unwrap();
        table(&store);
        let panics = store.write::<(), StoreError, _>(|db| {
            db.execute("INSERT INTO t (x) VALUES (5)", [])?;
            panic!("of purpose")
        });
        assert!(matches!(panics.wait_blocking(), Err(StoreError::Panicked)));
        put(&store, 1).wait_blocking().unwrap();
        assert_eq!(count(&store), 1);
    }

    #[test]
    fn what_was_written_is_there_after_reopening_and_is_the_owners_alone() {
        let (folder, store) = on_disk();
        table(&store);
        for x in 0..100 {
            let _ = put(&store, x);
        }
        let path = store.path().unwrap().to_path_buf();
        drop(store);
        assert_eq!(count(&Store::open(&path).unwrap()), 100);
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Issue 21: when the database is full, every write fails and keeps nothing; writes succeed again when there is
    /// space.
    #[test]
    fn a_full_database_keeps_nothing_and_goes_on_when_there_is_space() {
        let (folder, store) = on_disk();
        table(&store);
        let pages = |pages: i64| {
            store
                .write::<_, StoreError, _>(move |db| {
                    Ok(db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?)
                })
                .wait_blocking()
                .unwrap();
        };
        pages(1);
        let large = |x: i64| -> Pending<(), StoreError> {
            store.write(move |db| {
                db.execute("INSERT INTO t (x) VALUES (?1)", [x])?;
                db.execute_batch("CREATE TABLE IF NOT EXISTS large (x BLOB)")?;
                db.execute("INSERT INTO large (x) VALUES (zeroblob(1000000))", [])?;
                Ok(())
            })
        };
        let pending: Vec<_> = (0..10).map(large).collect();
        for one in pending {
            assert!(one.wait_blocking().is_err());
        }
        assert_eq!(count(&store), 0);
        pages(1_000_000);
        large(1).wait_blocking().unwrap();
        assert_eq!(count(&store), 1);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn readers_cannot_write() {
        let (folder, store) = on_disk();
        table(&store);
        let written =
            store.read::<_, StoreError, _>(|db| Ok(db.execute("INSERT INTO t (x) VALUES (1)", [])?));
        assert!(written.wait_blocking().is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn many_tasks_write_at_once() {
        let (folder, store) = on_disk();
        table(&store);
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let tasks: Vec<_> = (0..200).map(|x| tokio::spawn(put(&store, x).wait())).collect();
            for task in tasks {
                task.await.unwrap().unwrap();
            }
        });
        assert_eq!(count(&store), 200);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
