//! Queries and changes of the catalogue inside one transaction.

use super::query::{ListQuery, ToolQuery};
use super::row::{NewServer, Put, ServerRow, StatusChange, ToolHit, ToolRow};
use crate::error::StoreError;

/// Returns `true` if version `new` replaces `latest` as the latest version of its server.
pub type Replaces = fn(new: &str, latest: &str) -> bool;

/// One open transaction on the catalogue. Every error is one of the database.
pub trait Shelves {
    /// Returns a page of versions, ordered by name and version.
    fn list(&mut self, query: &ListQuery) -> Result<Vec<ServerRow>, StoreError>;

    /// Returns every version of `name`, newest first.
    fn versions(&mut self, name: &str, include_deleted: bool) -> Result<Vec<ServerRow>, StoreError>;

    /// Returns one version of `name`; `latest` stands for the latest one.
    fn server(
        &mut self,
        name: &str,
        version: &str,
        include_deleted: bool,
    ) -> Result<Option<ServerRow>, StoreError>;

    /// Returns the tools of one version, in the order they were given.
    fn tools(&mut self, name: &str, version: &str) -> Result<Vec<ToolRow>, StoreError>;

    /// Returns one tool of one version that is not deleted.
    fn tool(&mut self, name: &str, version: &str, tool: &str) -> Result<Option<ToolRow>, StoreError>;

    /// Returns the matching tools of latest versions, best first: a match in the name weighs most, then in its words,
    /// then in the prose.
    fn search(&mut self, query: &ToolQuery) -> Result<Vec<ToolHit>, StoreError>;

    /// Inserts a version of a server; `now` becomes its time of publication.
    fn put(&mut self, server: &NewServer, now: &str) -> Result<Put, StoreError>;

    /// Deletes a version with its tools and their index entries; returns `false` if it was not stored.
    fn remove(&mut self, name: &str, version: &str, replaces: Replaces) -> Result<bool, StoreError>;

    /// Changes the status of one version, or of every version of a name; returns how many changed.
    fn set_status(
        &mut self,
        name: &str,
        version: Option<&str>,
        change: StatusChange<'_>,
        replaces: Replaces,
    ) -> Result<usize, StoreError>;

    /// Prepares for many calls of `put`: switches on what makes them cheaper.
    fn begin_many(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Ends a batch of `put` calls: undoes `begin_many` and does the work that was deferred.
    fn end_many(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
