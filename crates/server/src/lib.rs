//! Listeners: MCP over Streamable HTTP and over stdio, both eras on one endpoint.
//!
//! No business rule lives here: a message is bounded, read, and handed to the engine.

mod accept;
mod address;
pub mod auth;
mod body;
mod call;
pub mod http;
mod ingress;
pub mod limits;
pub mod listener;
pub mod rebinding;
mod rest;
mod sessions;
pub mod stdio;
mod stream_log;

pub use auth::{Authenticator, Challenge, Credentialled, Open};
pub use http::{Endpoint, HttpOptions};
pub use listener::Listener;
pub use rebinding::Expected;
