//! MCP messages of both eras over raw JSON: pure, no I/O, no clock.
//!
//! Guarantees: ids, results and parameters keep their exact text; every relevant difference between revisions is in
//! [`revision`], and every conversion between eras in [`convert`].

pub mod capability;
pub mod convert;
pub mod era;
pub mod error;
pub mod frame;
pub mod header;
pub mod log;
pub mod meta;
pub mod param_header;
pub mod revision;
pub mod sse;
pub mod write;

pub use capability::{Capability, ClientCapabilities};
pub use convert::result::{CacheHint, CacheScope};
pub use era::{Branch, Told};
pub use error::{Code, RpcError};
pub use frame::{Frame, Malformed, Notification, Outcome, Params, Request, Response};
pub use log::Level;
pub use meta::{ClientInfo, Meta};
pub use revision::{Era, Revision};
