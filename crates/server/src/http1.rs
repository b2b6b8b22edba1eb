//! HTTP/1 as a server speaks it: requests in, responses out, one connection at a time.
//!
//! Guarantees: a request has one reading or is refused (two lengths, a length beside chunks, an unknown coding, a
//! folded line); head and body are bounded in bytes and time; requests that come ahead of their turn wait; a client
//! that goes away is noticed while its answer is made; what was admitted is answered before the server stops.

mod body;
mod connection;
mod date;
mod framing;
mod head;
mod name;
#[doc(hidden)]
pub mod observed;
mod response;
mod vigil;

pub(crate) use body::Unreadable;
pub(crate) use connection::{Service, serve};
pub use head::Head;
pub(crate) use head::visible;
pub(crate) use name::Name;
pub(crate) use response::Response;
