//! HTTP/1.1 framing for both sides of a connection.
//!
//! [`server`] reads requests and writes responses; [`client`] does the reverse. Both use the same head parser limits,
//! the same rules for the end of a body ([`framing`]) and the same chunk decoder ([`chunks`]).
//!
//! Guarantees: a message has one reading or is refused (two lengths, a length beside chunks, an unknown coding, a folded
//! line, a target that contradicts `Host`); heads, chunk lines, trailers and interim heads are bounded by the constants
//! in [`limits`], and an error names the constant; every wait of the server has a deadline.
//!
//! Knows nothing of MCP: what is answered comes in through [`server::Service`], bodies through
//! [`response::ReplyBody`], and whatever a caller derives from a head can be kept with it ([`RequestHead::note`]).
#![allow(
    clippy::result_large_err,
    reason = "the error of a service is the response itself, written by the caller at once"
)]

mod again;
pub mod chunks;
pub mod client;
mod date;
mod deadline;
mod fields;
pub mod framing;
pub mod limits;
mod request;
pub mod response;
mod response_head;
pub mod server;
mod target;

pub use fields::visible;
pub use request::RequestHead;
pub use response::{ByteStream, ReplyBody, Response};
pub use response_head::ResponseHead;
