//! A PostgreSQL database: some connections, each on a thread of its own, and transactions that wait for one.
//!
//! Guarantees: a change is one transaction, and changes happen one after the other on every machine that uses the
//! database; a connection that broke is made anew for the next transaction; what leaves the machine is encrypted and
//! the server's certificate checked, unless the address says `sslmode=disable`.

mod address;
mod migration;
mod session;
mod tls;
mod workers;

use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::catalogue::Shelves;
use crate::error::StoreError;
use crate::store::Pending;
use address::Address;
use session::Access;
use workers::Workers;

/// An open database. Clones are the same one; it closes when the last is gone.
#[derive(Debug, Clone)]
pub(crate) struct Postgres(Arc<Workers>);

impl Postgres {
    /// Opens the database at `url` and brings its tables up to date.
    pub(crate) fn open(url: &str) -> Result<Self, StoreError> {
        let workers = Workers::start(&Address::read(url)?)?;
        let (sender, receiver) = oneshot::channel();
        workers.push(Box::new(move |session| {
            let migrated = session.and_then(|session| migration::migrate(session, migration::ALL));
            let _ = sender.send(migrated);
        }))?;
        Pending::new(Ok(receiver)).wait_blocking()?;
        Ok(Self(Arc::new(workers)))
    }

    pub(crate) fn write<T, E, F>(&self, work: F) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut dyn Shelves) -> Result<T, E> + Send + 'static,
    {
        self.run(Access::Write, work)
    }

    pub(crate) fn read<T, E, F>(&self, work: F) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut dyn Shelves) -> Result<T, E> + Send + 'static,
    {
        self.run(Access::Read, work)
    }

    fn run<T, E, F>(&self, access: Access, work: F) -> Pending<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut dyn Shelves) -> Result<T, E> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let job = Box::new(move |session: Result<&mut session::Session, StoreError>| {
            let result = session.map_err(E::from).and_then(|session| session.transaction(access, work));
            // Nobody may be waiting any more; what was written stays.
            let _ = sender.send(result);
        });
        Pending::new(self.0.push(job).map(|()| receiver).map_err(E::from))
    }
}

/// What PostgreSQL, or the way to it, said.
#[derive(Debug, Clone)]
pub struct PostgresFailure(Arc<::postgres::Error>);

impl fmt::Display for PostgresFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The error itself says only of what kind it is.
        match (self.0.as_db_error(), std::error::Error::source(&*self.0)) {
            (Some(said), _) => write!(f, "{said}"),
            (None, Some(source)) => write!(f, "{}: {source}", self.0),
            (None, None) => write!(f, "{}", self.0),
        }
    }
}

impl From<::postgres::Error> for StoreError {
    fn from(error: ::postgres::Error) -> Self {
        Self::Postgres(PostgresFailure(Arc::new(error)))
    }
}
