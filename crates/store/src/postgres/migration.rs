//! Schema migrations in PostgreSQL, with the guarantees of those in SQLite.

use crate::catalogue::POSTGRES_MODULE;
use crate::error::StoreError;
use crate::migration::{Module, digest};

use super::session::Session;

/// Modules that have tables in PostgreSQL.
pub(super) const ALL: &[Module] = &[POSTGRES_MODULE];

/// Advisory lock that serialises schema changes.
const TABLES: i64 = 0x746f_6f6c_6372_6963;

/// Applies the steps that the database lacks, in one transaction.
pub(super) fn migrate(session: &mut Session, modules: &[Module]) -> Result<(), StoreError> {
    let mut tx = session.client.transaction()?;
    tx.execute("SELECT pg_advisory_xact_lock($1)", &[&TABLES])?;
    let exists: bool =
        tx.query_one("SELECT to_regclass('toolcrib_migrations') IS NOT NULL", &[])?.try_get(0)?;
    if !exists {
        tx.batch_execute(
            "CREATE TABLE toolcrib_migrations (
                module TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (module, name))",
        )?;
    }
    for module in modules {
        for step in module.steps {
            let digest = digest(step.sql);
            let applied = tx.query_opt(
                "SELECT digest FROM toolcrib_migrations WHERE module = $1 AND name = $2",
                &[&module.name, &step.name],
            )?;
            match applied.map(|row| row.try_get::<_, String>(0)).transpose()? {
                Some(applied) if applied == digest => {}
                Some(_) => {
                    return Err(StoreError::MigrationChanged { module: module.name, name: step.name });
                }
                None => {
                    tx.batch_execute(step.sql)?;
                    tx.execute(
                        "INSERT INTO toolcrib_migrations (module, name, digest) VALUES ($1, $2, $3)",
                        &[&module.name, &step.name, &digest],
                    )?;
                }
            }
        }
    }
    for row in tx.query("SELECT module, name FROM toolcrib_migrations ORDER BY module, name", &[])? {
        let (module, name): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let known = modules.iter().filter(|known| known.name == module);
        if !known.flat_map(|known| known.steps).any(|step| step.name == name) {
            return Err(StoreError::Newer { module, name });
        }
    }
    tx.commit()?;
    Ok(())
}
