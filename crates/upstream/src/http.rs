//! A server over Streamable HTTP, with connections of our own that are kept and used again.
//!
//! An HTTP/1.1 client made for one kind of request: the head is one buffer that is written with the body in one go, the
//! answer is read by the task that asked. Redirects are followed within the server's origin alone. HTTP/2 is hyper's.

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
mod target;
mod tls;

pub(crate) use link::{Answer as Stream, HttpLink};
pub(crate) use pending::HttpPending;
pub(crate) use target::Target;

/// Whether an endpoint can be used, as far as that can be told without reaching it; else which part cannot and why.
pub(crate) fn check(endpoint: &crate::spec::Endpoint) -> Result<(), (&'static str, crate::error::Cause)> {
    let target = Target::read(&endpoint.url).map_err(|cause| ("url", cause))?;
    proxy::Proxy::of(&target, endpoint.proxy.as_deref()).map_err(|cause| ("proxy", cause))?;
    let trusting = tls::TlsFiles { ca_file: endpoint.ca_file.clone(), identity: None };
    tls::Tls::new(&target.address(), &trusting).map_err(|cause| ("ca_file", cause))?;
    let identity = endpoint.client_cert.clone().zip(endpoint.client_key.clone());
    let files = tls::TlsFiles { identity, ..trusting };
    tls::Tls::new(&target.address(), &files).map_err(|cause| ("client_cert", cause))?;
    HttpLink::new(endpoint).map(drop).map_err(|cause| ("headers", cause))
}
