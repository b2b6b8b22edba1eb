//! HTTP exchanges that are not MCP: fetches the keys of an issuer, posts spans to a collector.

use std::path::Path;
use std::time::Duration;

use super::link::HttpLink;
use crate::error::{Cause, UpstreamError};
use crate::limits::{DOCUMENT_BYTES_MAX, DOCUMENT_MS_MAX};
use crate::spec::Endpoint;

/// Posts documents to one URL over pooled connections; follows no redirect outside the URL's origin.
#[allow(missing_debug_implementations, reason = "its endpoint may hold secrets")]
pub struct Outbox {
    link: HttpLink,
    within: Duration,
}

/// Response to a posted document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    pub status: u16,
    /// Delay that the server asks for before the next document.
    pub retry_after: Option<Duration>,
}

impl Outbox {
    /// `within` is the timeout for one document.
    pub fn new(endpoint: &Endpoint, within: Duration) -> Result<Self, UpstreamError> {
        Ok(Self { link: HttpLink::new(endpoint).map_err(UpstreamError::unsent)?, within })
    }

    /// Posts a document. `fields` are additional header lines, each with its line break.
    pub async fn post(&self, fields: &str, body: &[u8]) -> Result<Receipt, UpstreamError> {
        let posted = async {
            let mut answer = self.link.plain("POST", fields, body).await?;
            let status = answer.status();
            let seconds = answer.head.get("retry-after").and_then(|text| text.parse().ok());
            // A response that is read to its end returns its connection to the pool.
            let _ = answer.body.text("DOCUMENT_BYTES_MAX", DOCUMENT_BYTES_MAX).await;
            Ok(Receipt { status, retry_after: seconds.map(Duration::from_secs) })
        };
        in_time(self.within, posted).await
    }
}

/// Fetches a document; follows no redirect outside the URL's origin.
pub async fn fetch(url: &str, ca_file: Option<&Path>) -> Result<String, UpstreamError> {
    fetch_within(Duration::from_millis(DOCUMENT_MS_MAX), url, ca_file).await
}

async fn fetch_within(within: Duration, url: &str, ca_file: Option<&Path>) -> Result<String, UpstreamError> {
    let endpoint =
        Endpoint { url: url.to_owned(), ca_file: ca_file.map(Path::to_owned), ..Endpoint::default() };
    let link = HttpLink::new(&endpoint).map_err(UpstreamError::unsent)?;
    let read = async {
        let mut answer = link.plain("GET", "Accept: application/json\r\n", b"").await?;
        match answer.status() {
            200 => {
                answer.body.text("DOCUMENT_BYTES_MAX", DOCUMENT_BYTES_MAX).await.map_err(UpstreamError::sent)
            }
            status => Err(UpstreamError::sent(Cause::Status { status })),
        }
    };
    in_time(within, read).await
}

async fn in_time<T>(
    within: Duration,
    work: impl Future<Output = Result<T, UpstreamError>>,
) -> Result<T, UpstreamError> {
    match tokio::time::timeout(within, work).await {
        Ok(done) => done,
        Err(_) => Err(UpstreamError::sent(Cause::TooSlow { ms_max: within.as_millis() as u64 })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::once;

    const SHORT: Duration = Duration::from_millis(300);

    fn outbox(url: &str, within: Duration) -> Outbox {
        let endpoint = Endpoint { url: url.to_owned(), ..Endpoint::default() };
        Outbox::new(&endpoint, within).unwrap()
    }

    /// R5.9: the size of a fetched document is bounded.
    #[tokio::test]
    async fn a_document_over_document_bytes_max_is_refused() {
        let most = once::serve(DOCUMENT_BYTES_MAX).await;
        assert_eq!(fetch(&most, None).await.unwrap().len(), DOCUMENT_BYTES_MAX);
        let more = once::serve(DOCUMENT_BYTES_MAX + 1).await;
        let refused = fetch(&more, None).await.unwrap_err().to_string();
        assert_eq!(refused, "DOCUMENT_BYTES_MAX: the server sent more than 1048576 bytes");
    }

    /// R5.9: fetching keys and posting spans time out.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_silent_for_document_ms_max_is_given_up() {
        let url = once::silent().await;
        let too_slow = Err(UpstreamError::sent(Cause::TooSlow { ms_max: DOCUMENT_MS_MAX }));
        let begun = tokio::time::Instant::now();
        assert_eq!(fetch(&url, None).await.map(drop), too_slow);
        assert_eq!(begun.elapsed(), Duration::from_millis(DOCUMENT_MS_MAX));
        let outbox = outbox(&url, Duration::from_millis(7));
        let too_slow = Err(UpstreamError::sent(Cause::TooSlow { ms_max: 7 }));
        assert_eq!(outbox.post("", b"{}").await.map(drop), too_slow);
    }

    /// R5.9: the timeout holds however slowly or endlessly the server sends. Uses real time, with a shorter timeout.
    #[tokio::test]
    async fn a_document_that_drips_or_never_ends_is_given_up_in_time() {
        for (talk, says) in once::TALKS {
            let url = once::talk(talk).await;
            let begun = std::time::Instant::now();
            let refused = fetch_within(SHORT, &url, None).await.unwrap_err().to_string();
            assert!(refused.contains(says) || refused.contains("DOCUMENT_BYTES_MAX"), "{talk:?}: {refused}");
            let _ = outbox(&url, SHORT).post("", b"{}").await;
            assert!(begun.elapsed() < Duration::from_secs(5), "{talk:?}: {:?}", begun.elapsed());
        }
    }
}
