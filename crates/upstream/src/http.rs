//! A server over Streamable HTTP, with connections of our own that are kept and used again.
//!
//! An HTTP/1.1 client made for one kind of request: the head is one buffer that is written with the body in one go, the
//! answer is read by the task that asked. No redirect is followed: a server that moves is the operator's business.

mod body;
mod conn;
pub(crate) mod fetch;
pub(crate) mod link;
mod media;
#[cfg(test)]
pub(crate) mod once;
mod outgoing;
mod pending;
mod pool;
pub(crate) mod probe;
mod target;
mod tls;

pub(crate) use link::{Answer as Stream, HttpLink};
pub(crate) use pending::HttpPending;
pub(crate) use target::Target;

/// Whether an endpoint can be used, as far as that can be told without reaching it; else which part cannot and why.
pub(crate) fn check(endpoint: &crate::spec::Endpoint) -> Result<(), (&'static str, crate::error::Cause)> {
    let bare = crate::spec::Endpoint { url: endpoint.url.clone(), ..Default::default() };
    let target = Target::read(&bare.url).map_err(|cause| ("url", cause))?;
    if let Some(file) = endpoint.ca_file.as_deref() {
        tls::Tls::new(&target, Some(file)).map_err(|cause| ("ca_file", cause))?;
    }
    let with_headers = crate::spec::Endpoint { headers: endpoint.headers.clone(), ..bare };
    HttpLink::new(&with_headers).map(drop).map_err(|cause| ("headers", cause))
}
