//! One document from a URL: the keys of an issuer.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::link::HttpLink;
use crate::error::{Cause, UpstreamError};
use crate::spec::Endpoint;

/// Bytes of a document.
const DOCUMENT_BYTES_MAX: usize = 1024 * 1024;

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Posts a JSON document with these headers and reads nothing back; no redirect is followed.
pub async fn post_json(
    url: &str,
    headers: &BTreeMap<String, String>,
    body: &str,
) -> Result<(), UpstreamError> {
    let endpoint = Endpoint { url: url.to_owned(), headers: headers.clone(), ..Endpoint::default() };
    let link = HttpLink::new(&endpoint).map_err(UpstreamError::unsent)?;
    let posted = async {
        let mut answer = link.plain("POST", "Content-Type: application/json\r\n", body).await?;
        let _ = answer.body.text(DOCUMENT_BYTES_MAX).await;
        match answer.head.status {
            200..=299 => Ok(()),
            status => Err(UpstreamError::sent(Cause::Status { status })),
        }
    };
    match tokio::time::timeout(PATIENCE, posted).await {
        Ok(posted) => posted,
        Err(_) => Err(UpstreamError::sent(Cause::TooSlow { ms_max: 10_000 })),
    }
}

/// Reads a document; no redirect is followed.
pub async fn fetch(url: &str, ca_file: Option<&Path>) -> Result<String, UpstreamError> {
    let endpoint =
        Endpoint { url: url.to_owned(), ca_file: ca_file.map(Path::to_owned), ..Endpoint::default() };
    let link = HttpLink::new(&endpoint).map_err(UpstreamError::unsent)?;
    let read = async {
        let mut answer = link.plain("GET", "Accept: application/json\r\n", "").await?;
        match answer.head.status {
            200 => answer.body.text(DOCUMENT_BYTES_MAX).await.map_err(UpstreamError::sent),
            status => Err(UpstreamError::sent(Cause::Status { status })),
        }
    };
    match tokio::time::timeout(PATIENCE, read).await {
        Ok(read) => read,
        Err(_) => Err(UpstreamError::sent(Cause::TooSlow { ms_max: 10_000 })),
    }
}
