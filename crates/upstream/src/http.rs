//! A server over Streamable HTTP, with connections of our own that are kept and used again.
//!
//! An HTTP/1.1 client made for one kind of request: the head is one buffer that is written with the body in one go, the
//! answer is read by the task that asked. No redirect is followed: a server that moves is the operator's business.

mod body;
mod conn;
pub(crate) mod fetch;
mod head;
pub(crate) mod link;
mod pending;
mod pool;
mod target;
mod tls;

pub(crate) use link::HttpLink;
pub(crate) use pending::HttpPending;
pub(crate) use target::Target;
