//! The registry: tool definitions that can be read without starting a server.
//!
//! Formats are read leniently, with a report that names each fault by its JSON Pointer. [`strict`] checks a document
//! against the format's rules before it is written. Definitions and schemas are never changed: they are copied token by
//! token.

pub mod api;
mod block;
pub mod budget;
pub mod capture;
mod carry;
pub mod compact;
pub mod convert;
mod edit;
pub mod extension;
mod format;
pub mod import;
pub mod issue;
mod known;
pub mod limits;
mod listed;
mod print;
mod split;
mod spread;
mod step;
pub mod strict;
pub mod sync;
pub mod time;
mod toolhive;
pub mod version;
pub mod yaml;

pub use format::Format;
pub use issue::{Fault, Issue, Level, Report};
pub use listed::{Listed, listed};
pub use print::pretty;

/// Member of `_meta` in server.json for data of publishers.
pub const PUBLISHER_KEY: &str = "io.modelcontextprotocol.registry/publisher-provided";
/// Publisher whose extension has `tools` and `tool_definitions`.
pub const STACKLOK: &str = "io.github.stacklok";
/// Schema version of the server.json documents that this crate writes.
pub const SERVER_SCHEMA: &str =
    "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
const UPSTREAM_SCHEMA: &str = "https://raw.githubusercontent.com/stacklok/toolhive-core/main/registry/types/data/upstream-registry.schema.json";
const TOOLHIVE_SCHEMA: &str = "https://raw.githubusercontent.com/stacklok/toolhive-core/main/registry/types/data/toolhive-legacy-registry.schema.json";
/// Time in a file that does not say when it was made.
const EPOCH: &str = "1970-01-01T00:00:00Z";
