//! Listeners: MCP over Streamable HTTP and over stdio, both eras on one endpoint.
//!
//! No business rule lives here: a message is bounded, read, and handed to the engine.
#![allow(
    clippy::result_large_err,
    reason = "the error is the response itself, written by the caller at once"
)]

mod accept;
mod address;
pub mod auth;
mod batch;
pub mod bearer;
mod body;
mod call;
mod cors;
pub mod http;
mod ingress;
pub mod jwt;
pub mod limits;
pub mod listener;
pub mod load;
mod mirrors;
mod open_streams;
pub mod plain;
pub mod rebinding;
mod responses;
mod rest;
mod seats;
mod session_methods;
mod sessions;
mod shed;
pub mod side;
mod sse_channel;
mod sse_transport;
pub mod stdio;
mod stream_log;
mod target;
mod workers;

pub use auth::{Authenticator, Challenge, Credentialled, Open};
pub use bearer::Bearer;
pub use http::{Endpoint, HttpOptions};
pub use jwt::JwtBearer;
pub use listener::Listener;
pub use load::LoadLimits;
pub use rebinding::Expected;
pub use side::{Page, Side};
pub use toolcrib_http1::RequestHead;
