//! Connections to other MCP servers over stdio, Streamable HTTP and HTTP+SSE, in both eras, supervised.
//!
//! Contains no policy: what a server offers is reported to an observer, and a call that was cleared is sent. Entry
//! points: [`supervisor::Upstream`] keeps a server alive, [`snapshot::snapshot`] lists it once.

#[cfg(not(unix))]
compile_error!("Toolcrib does not run on Windows: it needs Unix sockets and signals; use WSL 2");

mod brake;
mod breaker;
mod called;
pub mod catalogue;
pub mod connection;
mod era;
pub mod error;
#[cfg(test)]
mod fake;
mod http;
mod inbox;
pub mod limits;
mod link;
mod listing;
mod message;
pub mod oauth;
pub mod offers;
mod parked;
mod pending;
#[doc(hidden)]
pub mod probe;
mod process;
mod remote;
mod request;
pub mod snapshot;
pub mod spec;
mod sse;
mod stdio;
pub mod supervisor;
pub mod tool;

pub use catalogue::{Catalogue, Listed};
pub use error::{Cause, UpstreamError};
pub use http::fetch::{Outbox, Receipt, fetch};
pub use offers::RemoteOffer;
pub use snapshot::{Snapshot, snapshot};
pub use spec::{Spec, Transport};
pub use supervisor::{Observer, State, Upstream};
pub use tool::RemoteTool;
