//! One document from a URL: the keys of an issuer.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::link::HttpLink;
use crate::error::{Cause, UpstreamError};
use crate::limits::{DOCUMENT_BYTES_MAX, DOCUMENT_MS_MAX};
use crate::spec::Endpoint;

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
        let _ = answer.body.text("DOCUMENT_BYTES_MAX", DOCUMENT_BYTES_MAX).await;
        match answer.head.status {
            200..=299 => Ok(()),
            status => Err(UpstreamError::sent(Cause::Status { status })),
        }
    };
    in_time(posted).await
}

/// Reads a document; no redirect is followed.
pub async fn fetch(url: &str, ca_file: Option<&Path>) -> Result<String, UpstreamError> {
    let endpoint =
        Endpoint { url: url.to_owned(), ca_file: ca_file.map(Path::to_owned), ..Endpoint::default() };
    let link = HttpLink::new(&endpoint).map_err(UpstreamError::unsent)?;
    let read = async {
        let mut answer = link.plain("GET", "Accept: application/json\r\n", "").await?;
        match answer.head.status {
            200 => {
                answer.body.text("DOCUMENT_BYTES_MAX", DOCUMENT_BYTES_MAX).await.map_err(UpstreamError::sent)
            }
            status => Err(UpstreamError::sent(Cause::Status { status })),
        }
    };
    in_time(read).await
}

async fn in_time<T>(work: impl Future<Output = Result<T, UpstreamError>>) -> Result<T, UpstreamError> {
    match tokio::time::timeout(Duration::from_millis(DOCUMENT_MS_MAX), work).await {
        Ok(done) => done,
        Err(_) => Err(UpstreamError::sent(Cause::TooSlow { ms_max: DOCUMENT_MS_MAX })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::once;

    /// R5.9
    #[tokio::test]
    async fn a_document_over_document_bytes_max_is_refused() {
        let most = once::serve(DOCUMENT_BYTES_MAX).await;
        assert_eq!(fetch(&most, None).await.unwrap().len(), DOCUMENT_BYTES_MAX);
        let more = once::serve(DOCUMENT_BYTES_MAX + 1).await;
        let refused = fetch(&more, None).await.unwrap_err().to_string();
        assert_eq!(refused, "DOCUMENT_BYTES_MAX: the server sent more than 1048576 bytes");
    }
}
