//! Separates the two databases of a data folder: the safety journal (`toolcrib.db`) and the catalogue
//! (`catalogue.db`).
//!
//! Earlier versions kept both in `toolcrib.db`; [`separate`] moves the catalogue once. Guarantees: the tables are
//! dropped from the journal only after the copy is durable, so a process killed at any point leaves either the old
//! tables or the whole copy, and repeating the move completes it. If two processes move at once, one waits for the
//! other. A catalogue is never overwritten: if the files hold different ones, both stay as they are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _};

use crate::error::StoreError;
use crate::{connection, migration};

/// File name of the safety journal.
pub(crate) const JOURNAL: &str = "toolcrib.db";
/// File name of the catalogue.
pub(crate) const CATALOGUE: &str = "catalogue.db";

/// Tables of the catalogue, parents first. Those of the full-text index are copied as they are, because the index
/// keeps no text from which it could be rebuilt.
const TABLES: [&str; 7] = [
    "catalogue_servers",
    "catalogue_documents",
    "catalogue_tools",
    "catalogue_words_data",
    "catalogue_words_idx",
    "catalogue_words_docsize",
    "catalogue_words_config",
];

/// Returns the file of the catalogue that `path` names: `catalogue.db` if `path` is the `toolcrib.db` of a data
/// folder.
pub(crate) fn catalogue_file(path: &Path) -> Result<PathBuf, StoreError> {
    let parent = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = parent.unwrap_or_else(|| Path::new("."));
    let is_in_folder = match path.file_name().and_then(|name| name.to_str()) {
        Some(JOURNAL) => crate::keys::exist(folder) || folder.join(CATALOGUE).exists(),
        Some(CATALOGUE) => true,
        _ => false,
    };
    if !is_in_folder {
        return Ok(path.to_path_buf());
    }
    separate(folder)?;
    Ok(folder.join(CATALOGUE))
}

/// Moves the catalogue out of a data folder's journal, if it is still there.
pub(crate) fn separate(folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(JOURNAL);
    if !path.exists() {
        return Ok(());
    }
    let mut journal = connection::open(&path)?;
    if !holds_catalogue(&journal)? {
        return Ok(());
    }
    migration::migrate(&mut journal, migration::ALL)?;
    // The write lock is held from the copy to the drop, so another process that moves waits here.
    journal.execute_batch("BEGIN IMMEDIATE")?;
    let moved =
        if holds_catalogue(&journal)? { copy(folder).and_then(|()| forget(&journal)) } else { Ok(()) };
    match moved {
        Ok(()) => journal.execute_batch("COMMIT")?,
        Err(error) => {
            journal.execute_batch("ROLLBACK")?;
            return Err(error);
        }
    }
    if let Err(error) = compact(&journal) {
        tracing::warn!(target: "toolcrib", "{} keeps its size until it is vacuumed: {error}", path.display());
    }
    Ok(())
}

/// Returns `true` if the journal still has the catalogue's tables.
fn holds_catalogue(journal: &Connection) -> Result<bool, StoreError> {
    let table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'catalogue_servers'";
    Ok(journal.query_row(table, [], |_| Ok(())).optional()?.is_some())
}

/// Copies the catalogue into its own file; durable when this returns.
fn copy(folder: &Path) -> Result<(), StoreError> {
    let (journal, path) = (folder.join(JOURNAL), folder.join(CATALOGUE));
    let mut catalogue = connection::open(&path)?;
    migration::migrate(&mut catalogue, migration::CATALOGUE)?;
    let name = journal.to_str().ok_or(StoreError::Corrupt { what: "path of the data folder" })?;
    catalogue.execute("ATTACH ?1 AS journal", [name])?;
    let transaction = catalogue.transaction()?;
    // The first statement takes the write lock of the catalogue only. BEGIN IMMEDIATE would also take that of the
    // journal, which the caller holds.
    transaction.execute("DELETE FROM main.catalogue_servers WHERE 0", [])?;
    let is_empty: bool =
        transaction
            .query_row("SELECT NOT EXISTS (SELECT 1 FROM main.catalogue_servers)", [], |row| row.get(0))?;
    if is_empty {
        for table in TABLES {
            transaction.execute_batch(&format!(
                "DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM journal.{table}"
            ))?;
        }
    }
    let differs: bool = transaction.query_row(
        "SELECT EXISTS (SELECT 1 FROM journal.catalogue_servers old WHERE NOT EXISTS (
            SELECT 1 FROM main.catalogue_servers new
            WHERE new.name = old.name AND new.version = old.version AND new.digest = old.digest))",
        [],
        |row| row.get(0),
    )?;
    if differs {
        return Err(StoreError::TwoCatalogues { journal, catalogue: path });
    }
    transaction.commit()?;
    // The commit is durable; the directory entry of the new file has to be durable too.
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|cause| StoreError::File { path: folder.to_path_buf(), cause: Arc::new(cause) })
}

/// Drops the catalogue's tables from the journal.
fn forget(journal: &Connection) -> Result<(), StoreError> {
    Ok(journal.execute_batch(
        "DROP TABLE catalogue_words; DROP TABLE catalogue_tools; DROP TABLE catalogue_documents;
         DROP TABLE catalogue_servers; DELETE FROM migrations WHERE module = 'catalogue'",
    )?)
}

/// Returns the dropped pages to the file system, and lets later ones be returned in small steps.
fn compact(journal: &Connection) -> Result<(), StoreError> {
    journal.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    Ok(journal.execute_batch("VACUUM")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Catalogue, ListQuery, NewServer, NewTool, Status, ToolQuery};
    use crate::store::Store;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("toolcrib-separation-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn server(number: usize) -> NewServer {
        let tool = NewTool {
            name: format!("look_{number}"),
            definition: "{}".to_owned(),
            digest: None,
            read_only: true,
            destructive: false,
            has_output: false,
            words: "look".to_owned(),
            description: format!("finds walrus{number}"),
            parameters: String::new(),
        };
        NewServer {
            name: format!("a/s{number}"),
            version: "1.0.0".to_owned(),
            title: None,
            description: "d".to_owned(),
            status: Status::Active,
            document: "{}".to_owned(),
            digest: format!("digest {number}"),
            tools: vec![tool],
            replaces: |_, _| true,
        }
    }

    /// Creates a folder as an earlier version did: the catalogue in the journal.
    fn earlier(folder: &Path, servers: usize) {
        let store = Store::open(&folder.join(JOURNAL)).unwrap();
        put(&store.into(), 0..servers);
    }

    fn put(catalogue: &Catalogue, numbers: std::ops::Range<usize>) {
        let put = catalogue.write::<_, StoreError, _>(move |shelves| {
            for number in numbers {
                shelves.put(&server(number), "2026-01-01T00:00:00Z")?;
            }
            Ok(())
        });
        put.wait_blocking().unwrap();
    }

    fn count(catalogue: &Catalogue) -> usize {
        let query = ListQuery { limit: 10_000, ..ListQuery::default() };
        catalogue.read::<_, StoreError, _>(move |db| db.list(&query)).wait_blocking().unwrap().len()
    }

    fn finds(catalogue: &Catalogue, word: &str) -> usize {
        let query = ToolQuery { words: vec![word.to_owned()], limit: 10, ..ToolQuery::default() };
        catalogue.read::<_, StoreError, _>(move |db| db.search(&query)).wait_blocking().unwrap().len()
    }

    /// R12.1, two stores: the catalogue of an earlier version is moved whole, with its search index, and only once.
    #[test]
    fn the_catalogue_of_an_earlier_version_is_moved_once() {
        let folder = folder("once");
        earlier(&folder, 20);
        for _ in 0..2 {
            let catalogue = Catalogue::open(folder.join(CATALOGUE).to_str().unwrap()).unwrap();
            assert_eq!((count(&catalogue), finds(&catalogue, "walrus7")), (20, 1));
            let journal = connection::open(&folder.join(JOURNAL)).unwrap();
            assert!(!holds_catalogue(&journal).unwrap());
            let vacuum: i64 = journal.query_row("PRAGMA auto_vacuum", [], |row| row.get(0)).unwrap();
            assert_eq!(vacuum, 2, "pages can be given back in steps");
        }
        // The journal's path still opens the moved catalogue.
        let catalogue = Catalogue::open(folder.join(JOURNAL).to_str().unwrap()).unwrap();
        put(&catalogue, 20..21);
        assert_eq!((count(&catalogue), finds(&catalogue, "walrus20")), (21, 1));
        drop(catalogue);
        let data = crate::DataFolder::open(&folder).unwrap();
        assert_eq!(count(&data.catalogue().unwrap()), 21);
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Two stores: a move that was interrupted between the copy and the drop is completed, and no server is there
    /// twice.
    #[test]
    fn a_move_that_was_interrupted_after_its_copy_is_completed() {
        let folder = folder("between");
        earlier(&folder, 20);
        copy(&folder).unwrap();
        assert!(holds_catalogue(&connection::open(&folder.join(JOURNAL)).unwrap()).unwrap());
        separate(&folder).unwrap();
        assert!(!holds_catalogue(&connection::open(&folder.join(JOURNAL)).unwrap()).unwrap());
        let catalogue = Catalogue::open(folder.join(CATALOGUE).to_str().unwrap()).unwrap();
        assert_eq!((count(&catalogue), finds(&catalogue, "walrus19")), (20, 1));
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Two stores: if both files hold different catalogues, neither is lost.
    #[test]
    fn a_catalogue_is_never_overwritten_by_the_move() {
        let folder = folder("two");
        let other = Store::open_with(&folder.join(CATALOGUE), migration::CATALOGUE).unwrap();
        put(&other.into(), 5..6);
        earlier(&folder, 3);
        assert!(matches!(separate(&folder), Err(StoreError::TwoCatalogues { .. })));
        let journal = connection::open(&folder.join(JOURNAL)).unwrap();
        let left: i64 =
            journal.query_row("SELECT count(*) FROM catalogue_servers", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 3);
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Two stores: processes that open a folder of an earlier version at once all find the whole catalogue.
    #[test]
    fn processes_that_move_at_once_lose_nothing() {
        let folder = folder("at-once");
        earlier(&folder, 200);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| separate(&folder).unwrap());
            }
        });
        let catalogue = Catalogue::open(folder.join(CATALOGUE).to_str().unwrap()).unwrap();
        assert_eq!((count(&catalogue), finds(&catalogue, "walrus199")), (200, 1));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
