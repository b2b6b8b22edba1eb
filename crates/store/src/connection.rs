//! A connection as this crate wants every connection: write-ahead log, every commit on disk, foreign keys on.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::StoreError;
use crate::limits::{BUSY_MS_MAX, WAL_PAGES_MAX};

/// Prepared statements one connection keeps.
const STATEMENTS: usize = 64;

pub(crate) fn open(path: &Path) -> Result<Connection, StoreError> {
    create_private(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // FULL: a commit that was told is on disk, even if the power goes.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES_MAX)?;
    configure(&connection)?;
    Ok(connection)
}

/// A connection that cannot write.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
    connection.pragma_update(None, "query_only", true)?;
    configure(&connection)?;
    Ok(connection)
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

/// The file and its folder exist and are the owner's alone; SQLite gives its side files the same rights.
fn create_private(path: &Path) -> Result<(), StoreError> {
    let failed = |cause| StoreError::File { path: path.to_path_buf(), cause: Arc::new(cause) };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(failed)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(failed)?;
    Ok(())
}
