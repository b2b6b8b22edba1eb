//! One connection with its prepared statements, and the transactions on it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ::postgres::{Client, IsolationLevel, Statement};

use super::address::Address;
use crate::catalogue::{PostgresShelves, Shelves};
use crate::error::StoreError;

/// Advisory lock that serialises changes of the catalogue across all machines.
const CHANGES: i64 = 0x746f_6f6c_6372_6962;
/// A connection that was idle longer is checked before it is used.
const REST: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(5);

/// Access mode of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

pub(super) struct Session {
    pub(super) client: Client,
    statements: HashMap<&'static str, Statement>,
    used: Instant,
}

impl Session {
    pub(super) fn connect(address: &Address) -> Result<Self, StoreError> {
        let mut client = address.config.connect(address.tls.clone())?;
        // A generic plan, made for every combination of filters, would use no index.
        client.batch_execute("SET plan_cache_mode = force_custom_plan")?;
        Ok(Self { client, statements: HashMap::new(), used: Instant::now() })
    }

    /// Returns `false` for a connection that has broken.
    pub(super) fn is_usable(&mut self) -> bool {
        !self.client.is_closed() && (self.used.elapsed() < REST || self.client.is_valid(PATIENCE).is_ok())
    }

    /// Runs `work` in one transaction: all of its changes are kept or, if it fails, none. A reader sees one snapshot.
    pub(super) fn transaction<T, E: From<StoreError>>(
        &mut self,
        access: Access,
        work: impl FnOnce(&mut dyn Shelves) -> Result<T, E>,
    ) -> Result<T, E> {
        let failed = |error| E::from(StoreError::from(error));
        let level = match access {
            Access::Read => IsolationLevel::RepeatableRead,
            Access::Write => IsolationLevel::ReadCommitted,
        };
        let builder = self.client.build_transaction().isolation_level(level);
        let mut transaction = builder.read_only(access == Access::Read).start().map_err(failed)?;
        if access == Access::Write {
            transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&CHANGES]).map_err(failed)?;
        }
        let mut shelves = PostgresShelves::new(transaction, &mut self.statements);
        let result = work(&mut shelves)?;
        shelves.commit().map_err(E::from)?;
        self.used = Instant::now();
        Ok(result)
    }
}
