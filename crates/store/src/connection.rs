//! Opens SQLite connections: write-ahead log, synchronous commits, foreign keys enforced, files private to the owner.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::StoreError;
use crate::limits::{BUSY_MS_MAX, WAL_PAGES_MAX};

/// Number of prepared statements that one connection caches.
const STATEMENTS: usize = 64;

pub(crate) fn open(path: &Path) -> Result<Connection, StoreError> {
    create_private(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
    let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    if pages == 0 {
        // INCREMENTAL lets freed pages be returned to the file system in small steps. On a database that has tables,
        // setting it would be a write at every start.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // FULL: a reported commit survives a power failure.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES_MAX)?;
    configure(&connection)?;
    Ok(connection)
}

/// Opens a connection that cannot write to the database.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
    connection.pragma_update(None, "query_only", true)?;
    configure(&connection)?;
    Ok(connection)
}

/// Opens a connection that creates and changes no file. A write-ahead log beside the database is read if that is
/// possible without writing.
pub(crate) fn open_read_only(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failure = match probed(Connection::open_with_flags(path, flags)) {
        Ok(connection) => return Ok(connection),
        Err(error) => error,
    };
    let unwritable = [rusqlite::ErrorCode::CannotOpen, rusqlite::ErrorCode::ReadOnly];
    if !path.exists() || !failure.sqlite_error_code().is_some_and(|code| unwritable.contains(&code)) {
        return Err(failure.into());
    }
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let log = std::path::PathBuf::from(log);
    if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Err(StoreError::UnreadLog { log });
    }
    // The folder is not writable and there is no log beside the file, so the file can be read as immutable: no locks,
    // no side files.
    let name = uri(path).ok_or(StoreError::Corrupt { what: "path of the database" })?;
    Ok(probed(Connection::open_with_flags(name, flags | OpenFlags::SQLITE_OPEN_URI))?)
}

/// Configures a connection and runs a query on it, because SQLite opens its files only at the first query.
fn probed(opened: rusqlite::Result<Connection>) -> rusqlite::Result<Connection> {
    let connection = opened?;
    connection.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// URI of the file with `immutable=1`.
fn uri(path: &Path) -> Option<String> {
    let mut text = "file:".to_owned();
    for byte in std::path::absolute(path).ok()?.to_str()?.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                text.push(char::from(byte));
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text.push_str("?immutable=1");
    Some(text)
}

pub(crate) fn open_in_memory() -> Result<Connection, StoreError> {
    let connection = Connection::open_in_memory()?;
    configure(&connection)?;
    Ok(connection)
}

fn configure(connection: &Connection) -> Result<(), StoreError> {
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}

/// Creates the file and its folder, both private to the owner. SQLite gives its side files the same permissions.
fn create_private(path: &Path) -> Result<(), StoreError> {
    let failed = |cause| StoreError::File { path: path.to_path_buf(), cause: Arc::new(cause) };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        make_folder(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(failed)?;
    Ok(())
}

/// Creates a folder that is private to the owner, unless it exists.
pub(crate) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let failed = |cause| StoreError::File { path: folder.to_path_buf(), cause: Arc::new(cause) };
    builder.create(folder).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("toolcrib-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    /// R5.10: a write waits `BUSY_MS_MAX` for another process that is writing, then fails.
    #[test]
    fn a_write_waits_busy_ms_max_for_another_process() {
        let folder = folder("busy");
        let path = folder.join("t.db");
        let (holder, waiter) = (open(&path).unwrap(), open(&path).unwrap());
        for connection in [&holder, &open_reader(&path).unwrap()] {
            let ms: u32 = connection.query_row("PRAGMA busy_timeout", [], |row| row.get(0)).unwrap();
            assert_eq!(u64::from(ms), BUSY_MS_MAX);
        }
        holder.execute_batch("BEGIN IMMEDIATE").unwrap();
        waiter.busy_timeout(Duration::from_millis(100)).unwrap();
        let start = std::time::Instant::now();
        let refused = waiter.execute_batch("BEGIN IMMEDIATE").unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy));
        assert!(start.elapsed() >= Duration::from_millis(90), "{:?}", start.elapsed());
        // If the other process commits within the busy timeout, the write succeeds.
        waiter.busy_timeout(Duration::from_millis(BUSY_MS_MAX)).unwrap();
        let later = std::thread::spawn(move || {
            std::thread::park_timeout(Duration::from_millis(100));
            holder.execute_batch("COMMIT").unwrap();
        });
        waiter.execute_batch("BEGIN IMMEDIATE; COMMIT").unwrap();
        later.join().unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// R5.10: the write-ahead log is moved to the database at `WAL_PAGES_MAX` pages, so its size does not grow with
    /// use.
    #[test]
    fn the_log_stays_near_wal_pages_max() {
        let folder = folder("wal");
        let path = folder.join("t.db");
        let connection = open(&path).unwrap();
        connection.execute_batch("CREATE TABLE t (x BLOB)").unwrap();
        let page: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
        let pages = WAL_PAGES_MAX / 4;
        for _ in 0..16 {
            connection.execute("INSERT INTO t VALUES (zeroblob(?1))", [pages * page]).unwrap();
        }
        let log = std::fs::metadata(folder.join("t.db-wal")).unwrap().len();
        // A commit can begin just below the limit; each page has a small header.
        let most = u64::from(WAL_PAGES_MAX + pages + 100) * u64::from(page + 24);
        assert!(log > u64::from(WAL_PAGES_MAX) * u64::from(page), "the limit was met: {log}");
        assert!(log <= most, "{log} of {most}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
