//! Client for servers over Streamable HTTP, with its own connection pool.
//!
//! The HTTP/1.1 client is specialised: head and body are one buffer and one write, and the response is read by the
//! task that sent the request. Redirects are followed within the server's origin only. HTTP/2 uses hyper.

mod body;
mod conn;
mod connector;
mod eyeballs;
pub(crate) mod fetch;
mod http2;
mod inflate;
pub(crate) mod link;
mod media;
#[cfg(test)]
pub(crate) mod once;
mod outgoing;
mod pending;
mod pool;
pub(crate) mod probe;
mod proxy;
pub(crate) mod resolve;
mod target;
mod tls;

pub(crate) use link::{Answer as Stream, HttpLink};
pub(crate) use pending::HttpPending;
pub(crate) use target::Target;

/// Checks an endpoint without connecting to it; returns the unusable setting and the reason.
pub(crate) fn check(endpoint: &crate::spec::Endpoint) -> Result<(), (&'static str, crate::error::Cause)> {
    let target = Target::read(&endpoint.url).map_err(|cause| ("url", cause))?;
    proxy::Proxy::of(&target, endpoint.proxy.as_deref()).map_err(|cause| ("proxy", cause))?;
    let trusting = tls::TlsFiles { ca_file: endpoint.ca_file.clone(), identity: None, http2: true };
    tls::Tls::new(&target.address(), &trusting).map_err(|cause| ("ca_file", cause))?;
    let identity = endpoint.client_cert.clone().zip(endpoint.client_key.clone());
    let files = tls::TlsFiles { identity, ..trusting };
    tls::Tls::new(&target.address(), &files).map_err(|cause| ("client_cert", cause))?;
    HttpLink::new(endpoint).map(drop).map_err(|cause| ("headers", cause))
}
