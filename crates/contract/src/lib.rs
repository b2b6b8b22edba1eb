//! Tool contract: definition, annotations, digests, compiled schema checks, lint and stubs of one tool, the same object
//! in the author's code, in CI, in the registry and on the wire.
//!
//! Pure: no async, no clock, no disk, no network.

#[cfg(test)]
mod arbitrary;

pub mod annotations;
mod canonical;
mod contract;
mod definition;
mod digest;
pub mod json;
pub mod limits;
pub mod lint;
mod name;
pub mod schema;
mod signature;
pub mod stubs;
pub mod suspicion;
pub mod text;
mod violation;

pub use annotations::{Annotations, Audience, Effect, Hint, Hints};
pub use canonical::{CanonicalError, canonical, canonical_verbatim};
pub use contract::{Contract, ContractError};
pub use definition::{Definition, DefinitionError};
pub use digest::{Digest, DigestError, Digests};
pub use name::{NameError, ToolName};
pub use schema::{
    Dialect, PatternFault, Schema, SchemaCache, SchemaError, SchemaLimit, SchemaOptions, SchemaRoom, Weight,
};
pub use signature::{signature, type_text};
pub use violation::{Ended, Nearest, Shown, Violation, Violations, nearest};
