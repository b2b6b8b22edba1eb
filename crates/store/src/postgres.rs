//! A PostgreSQL database: a fixed number of connections, each on a thread of its own, and a queue of transactions.
//!
//! Guarantees: a change is one transaction, and changes are serialised across all machines that use the database. A
//! broken connection is replaced before the next transaction. Traffic to another machine is encrypted, unless the URL
//! says `sslmode=disable`; TLS always verifies the server's certificate.

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

/// An open database. Clones share it; it closes when the last clone is dropped.
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
            // The receiver may have been dropped. What was written stays.
            let _ = sender.send(result);
        });
        Pending::new(self.0.push(job).map(|()| receiver).map_err(E::from))
    }
}

/// Error of PostgreSQL or of the connection to it.
#[derive(Debug, Clone)]
pub struct PostgresFailure(Arc<::postgres::Error>);

impl fmt::Display for PostgresFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The error's own text names only its category.
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
