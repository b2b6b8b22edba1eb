//! Listeners: MCP over Streamable HTTP and stdio, both eras on one endpoint.
//!
//! Contains no business logic: a message is bounded, parsed, and given to the engine.
#![allow(
    clippy::result_large_err,
    reason = "the error is the response itself, written by the caller at once"
)]

#[cfg(not(unix))]
compile_error!("Toolcrib does not run on Windows: it needs Unix sockets and signals; use WSL 2");

mod accept;
mod address;
pub mod auth;
mod batch;
pub mod bearer;
mod body;
mod call;
mod connection;
mod cors;
mod forwarded;
pub mod http;
mod http2;
mod ingress;
pub mod jwt;
pub mod limits;
pub mod listener;
pub mod load;
mod mirrors;
mod multiplexed;
mod open_streams;
pub mod plain;
mod preface;
pub mod rebinding;
mod responses;
mod rest;
mod seats;
mod session_methods;
mod sessions;
mod shed;
pub mod side;
mod socket;
mod sse_channel;
mod sse_transport;
pub mod stdio;
mod stream_log;
mod target;
mod tls;
mod unix;
mod workers;

pub use auth::{Authenticator, Challenge, Credentialled, Open};
pub use bearer::Bearer;
pub use forwarded::TrustedProxies;
pub use http::{Endpoint, HttpOptions};
pub use jwt::JwtBearer;
pub use listener::Listener;
pub use load::LoadLimits;
pub use rebinding::Expected;
pub use side::{Page, Side};
pub use socket::UNIX_PREFIX;
pub use tls::{Tls, TlsError};
pub use toolcrib_http1::RequestHead;
