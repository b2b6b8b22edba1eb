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
    post_within(DOCUMENT_MS_MAX, url, headers, body).await
}

/// Reads a document; no redirect is followed.
pub async fn fetch(url: &str, ca_file: Option<&Path>) -> Result<String, UpstreamError> {
    fetch_within(DOCUMENT_MS_MAX, url, ca_file).await
}

async fn post_within(
    ms_max: u64,
    url: &str,
    headers: &BTreeMap<String, String>,
    body: &str,
) -> Result<(), UpstreamError> {
    let endpoint = Endpoint { url: url.to_owned(), headers: headers.clone(), ..Endpoint::default() };
    let link = HttpLink::new(&endpoint).map_err(UpstreamError::unsent)?;
    let posted = async {
        let mut answer = link.plain("POST", "Content-Type: application/json\r\n", body).await?;
        let _ = answer.body.text("DOCUMENT_BYTES_MAX", DOCUMENT_BYTES_MAX).await;
        match answer.status() {
            200..=299 => Ok(()),
            status => Err(UpstreamError::sent(Cause::Status { status })),
        }
    };
    in_time(ms_max, posted).await
}

async fn fetch_within(ms_max: u64, url: &str, ca_file: Option<&Path>) -> Result<String, UpstreamError> {
    let endpoint =
        Endpoint { url: url.to_owned(), ca_file: ca_file.map(Path::to_owned), ..Endpoint::default() };
    let link = HttpLink::new(&endpoint).map_err(UpstreamError::unsent)?;
    let read = async {
        let mut answer = link.plain("GET", "Accept: application/json\r\n", "").await?;
        match answer.status() {
            200 => {
                answer.body.text("DOCUMENT_BYTES_MAX", DOCUMENT_BYTES_MAX).await.map_err(UpstreamError::sent)
            }
            status => Err(UpstreamError::sent(Cause::Status { status })),
        }
    };
    in_time(ms_max, read).await
}

async fn in_time<T>(
    ms_max: u64,
    work: impl Future<Output = Result<T, UpstreamError>>,
) -> Result<T, UpstreamError> {
    match tokio::time::timeout(Duration::from_millis(ms_max), work).await {
        Ok(done) => done,
        Err(_) => Err(UpstreamError::sent(Cause::TooSlow { ms_max })),
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

    /// R5.9: the keys of an issuer, and the spans for a collector.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_silent_for_document_ms_max_is_given_up() {
        let url = once::silent().await;
        let too_slow = Err(UpstreamError::sent(Cause::TooSlow { ms_max: DOCUMENT_MS_MAX }));
        let begun = tokio::time::Instant::now();
        assert_eq!(fetch(&url, None).await.map(drop), too_slow);
        assert_eq!(begun.elapsed(), Duration::from_millis(DOCUMENT_MS_MAX));
        assert_eq!(post_json(&url, &BTreeMap::new(), "{}").await, too_slow);
        assert_eq!(begun.elapsed(), 2 * Duration::from_millis(DOCUMENT_MS_MAX));
    }

    /// R5.9: however the server talks. Real time, and less of it.
    #[tokio::test]
    async fn a_document_that_drips_or_never_ends_is_given_up_in_time() {
        for (talk, says) in once::TALKS {
            let url = once::talk(talk).await;
            let begun = std::time::Instant::now();
            let refused = fetch_within(300, &url, None).await.unwrap_err().to_string();
            assert!(refused.contains(says) || refused.contains("DOCUMENT_BYTES_MAX"), "{talk:?}: {refused}");
            let _ = post_within(300, &url, &BTreeMap::new(), "{}").await;
            assert!(begun.elapsed() < Duration::from_secs(5), "{talk:?}: {:?}", begun.elapsed());
        }
    }
}
