//! Schema migrations: each module's steps are applied in order, each once.
//!
//! Guarantees: all missing steps are applied in one transaction. An applied step that was edited afterwards is
//! refused, and so is a database with steps that this program does not know.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};

use crate::error::StoreError;

/// One step. A released step is never edited: a change is a further step.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    pub name: &'static str,
    pub sql: &'static str,
}

/// The steps of one part of the program.
#[derive(Debug, Clone, Copy)]
pub struct Module {
    pub name: &'static str,
    pub steps: &'static [Migration],
}

/// Modules of the safety journal's database.
pub const JOURNAL: &[Module] = &[crate::safety::MODULE];

/// Modules of the catalogue's database.
pub const CATALOGUE: &[Module] = &[crate::catalogue::MODULE];

/// All modules, in the order they are applied. Used for a database in memory and for a database of an earlier version,
/// which held all tables.
pub const ALL: &[Module] = &[crate::safety::MODULE, crate::catalogue::MODULE];

/// Applies the steps that the database lacks.
pub(crate) fn migrate(connection: &mut Connection, modules: &[Module]) -> Result<(), StoreError> {
    if is_current(connection, modules)? {
        return Ok(());
    }
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(
        "CREATE TABLE IF NOT EXISTS migrations (
            module TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
            PRIMARY KEY (module, name)) STRICT, WITHOUT ROWID",
    )?;
    for module in modules {
        for step in module.steps {
            let digest = digest(step.sql);
            let applied: Option<String> = tx
                .query_row(
                    "SELECT digest FROM migrations WHERE module = ?1 AND name = ?2",
                    params![module.name, step.name],
                    |row| row.get(0),
                )
                .optional()?;
            match applied {
                Some(applied) if applied == digest => {}
                Some(_) => {
                    return Err(StoreError::MigrationChanged { module: module.name, name: step.name });
                }
                None => {
                    tx.execute_batch(step.sql)?;
                    tx.execute(
                        "INSERT INTO migrations (module, name, digest) VALUES (?1, ?2, ?3)",
                        params![module.name, step.name, digest],
                    )?;
                }
            }
        }
    }
    refuse_newer(&tx, modules)?;
    tx.commit()?;
    Ok(())
}

/// Returns `true` if no step is missing. A start that finds this need not wait for a writer.
pub(crate) fn is_current(connection: &Connection, modules: &[Module]) -> Result<bool, StoreError> {
    let exists: i64 = connection.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'",
        [],
        |row| row.get(0),
    )?;
    if exists == 0 {
        return Ok(false);
    }
    refuse_newer(connection, modules)?;
    let mut find = connection.prepare("SELECT digest FROM migrations WHERE module = ?1 AND name = ?2")?;
    for module in modules {
        for step in module.steps {
            let found: Option<String> =
                find.query_row(params![module.name, step.name], |row| row.get(0)).optional()?;
            if found.is_none_or(|found| found != digest(step.sql)) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn refuse_newer(connection: &Connection, modules: &[Module]) -> Result<(), StoreError> {
    let mut all = connection.prepare("SELECT module, name FROM migrations ORDER BY module, name")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let (module, name): (String, String) = (row.get(0)?, row.get(1)?);
        // A database of an earlier version also holds the tables of modules that now have a database of their own.
        let known = modules.iter().chain(ALL).filter(|known| known.name == module);
        if !known.flat_map(|known| known.steps).any(|step| step.name == name) {
            return Err(StoreError::Newer { module, name });
        }
    }
    Ok(())
}

pub(crate) fn digest(sql: &str) -> String {
    Sha256::digest(sql.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Migration = Migration { name: "1", sql: "CREATE TABLE a (x INTEGER) STRICT" };
    const TWO: Migration = Migration { name: "2", sql: "ALTER TABLE a ADD COLUMN y INTEGER" };
    const BROKEN: Migration = Migration { name: "3", sql: "CREATE TABLE b (x INTEGER); NONSENSE" };

    fn module(steps: &'static [Migration]) -> [Module; 1] {
        [Module { name: "m", steps }]
    }

    fn tables(connection: &Connection) -> i64 {
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn steps_are_applied_once_and_in_order() {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db, &module(&[ONE])).unwrap();
        migrate(&mut db, &module(&[ONE, TWO])).unwrap();
        migrate(&mut db, &module(&[ONE, TWO])).unwrap();
        db.execute("INSERT INTO a (x, y) VALUES (1, 2)", []).unwrap();
    }

    #[test]
    fn an_edited_step_and_a_newer_database_are_refused() {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db, &module(&[ONE, TWO])).unwrap();
        let edited = &[Migration { sql: "CREATE TABLE a (z INTEGER) STRICT", ..ONE }, TWO];
        let refused = migrate(&mut db, &module(edited));
        assert!(matches!(refused, Err(StoreError::MigrationChanged { name: "1", .. })), "{refused:?}");
        let refused = migrate(&mut db, &module(&[ONE]));
        assert!(matches!(refused, Err(StoreError::Newer { .. })), "{refused:?}");
    }

    #[test]
    fn a_step_that_fails_leaves_nothing_behind() {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db, &module(&[ONE])).unwrap();
        let before = tables(&db);
        assert!(migrate(&mut db, &module(&[ONE, TWO, BROKEN])).is_err());
        assert_eq!(tables(&db), before);
        migrate(&mut db, &module(&[ONE, TWO])).unwrap();
    }
}
