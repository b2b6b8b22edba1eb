//! Everything that can be asked of the catalogue, or changed in it, inside one transaction.

use super::query::{ListQuery, ToolQuery};
use super::row::{NewServer, Put, ServerRow, StatusChange, ToolHit, ToolRow};
use crate::error::StoreError;

/// Whether a new version takes the place of the latest one.
pub type Replaces = fn(new: &str, latest: &str) -> bool;

/// One open transaction. Every error is the database's own.
pub trait Shelves {
    /// A page of versions, by name and version.
    fn list(&mut self, query: &ListQuery) -> Result<Vec<ServerRow>, StoreError>;

    /// Every version of `name`, newest first.
    fn versions(&mut self, name: &str, include_deleted: bool) -> Result<Vec<ServerRow>, StoreError>;

    /// One version of `name`; `latest` is a version too.
    fn server(
        &mut self,
        name: &str,
        version: &str,
        include_deleted: bool,
    ) -> Result<Option<ServerRow>, StoreError>;

    /// The tools of one version, in the order they were given.
    fn tools(&mut self, name: &str, version: &str) -> Result<Vec<ToolRow>, StoreError>;

    /// One tool of one version that is not deleted.
    fn tool(&mut self, name: &str, version: &str, tool: &str) -> Result<Option<ToolRow>, StoreError>;

    /// The tools of latest versions that match, best first: the name counts most, then its words, then the prose.
    fn search(&mut self, query: &ToolQuery) -> Result<Vec<ToolHit>, StoreError>;

    /// Keeps a version of a server; `now` is the time of this.
    fn put(&mut self, server: &NewServer, now: &str) -> Result<Put, StoreError>;

    /// Takes a version out, with its tools and their words; `false` if it was not there.
    fn remove(&mut self, name: &str, version: &str, replaces: Replaces) -> Result<bool, StoreError>;

    /// Changes the status of one version, or of every version of a name; says how many changed.
    fn set_status(
        &mut self,
        name: &str,
        version: Option<&str>,
        change: StatusChange<'_>,
        replaces: Replaces,
    ) -> Result<usize, StoreError>;

    /// Many servers follow: whatever makes that cheap is switched on.
    fn begin_many(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// They were all put; whatever was switched on is switched off, and what was put off is done.
    fn end_many(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
