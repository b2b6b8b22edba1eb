//! HTTP exchanges with an authorization server, bounded in time and bytes; redirects are followed within its origin
//! only.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

use super::address;
use super::error::{OAuthError, plain};
use crate::error::Cause;
use crate::http::HttpLink;
use crate::limits::{OAUTH_ANSWER_BYTES_MAX, OAUTH_ANSWER_MS_MAX};
use crate::spec::Endpoint;

/// The server that tokens are for, and the connection settings on the way to its authorization server.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// The server's URL.
    pub(super) server: Box<str>,
    /// Certificates and proxy; no header or token of the server.
    endpoint: Endpoint,
    /// Timeout of one exchange in milliseconds.
    ms_max: u64,
}

/// Response to an exchange.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// `WWW-Authenticate` of a 401 or 403.
    pub(super) challenge: Option<Box<str>>,
    pub(super) body: String,
}

impl Answer {
    /// Returns the body as a JSON object, whatever the status is.
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.body).ok().filter(Value::is_object)
    }
}

impl Way {
    pub(super) fn new(endpoint: &Endpoint) -> Self {
        let way = Endpoint {
            ca_file: endpoint.ca_file.clone(),
            client_cert: endpoint.client_cert.clone(),
            client_key: endpoint.client_key.clone(),
            proxy: endpoint.proxy.clone(),
            ..Endpoint::default()
        };
        Self { server: endpoint.url.as_str().into(), endpoint: way, ms_max: OAUTH_ANSWER_MS_MAX }
    }

    /// Fetches metadata; `None` if there is none.
    pub(super) async fn metadata(&self, url: &str) -> Result<Option<Value>, OAuthError> {
        let answer = self.exchange("GET", url, "Accept: application/json\r\n", "").await?;
        match answer.status {
            200 => Ok(answer.json()),
            400..=499 => Ok(None),
            status => Err(OAuthError::Status { url: plain(url), status }),
        }
    }

    pub(super) async fn exchange(
        &self,
        method: &str,
        url: &str,
        fields: &str,
        body: &str,
    ) -> Result<Answer, OAuthError> {
        // Resolving the address counts towards the timeout.
        let checked = async {
            let addresses = address::check(url, &self.server).await?.addresses;
            self.reach(Some(addresses), method, url, fields, body).await
        };
        self.in_time(url, checked).await
    }

    /// Exchange with the server itself, whose URL needs no check because the operator configured it.
    pub(super) async fn unchecked(
        &self,
        method: &str,
        url: &str,
        fields: &str,
        body: &str,
    ) -> Result<Answer, OAuthError> {
        self.in_time(url, self.reach(None, method, url, fields, body)).await
    }

    /// Performs an exchange; connects only to `addresses` if given.
    async fn reach(
        &self,
        addresses: Option<Vec<SocketAddr>>,
        method: &str,
        url: &str,
        fields: &str,
        body: &str,
    ) -> Result<Answer, OAuthError> {
        let endpoint = Endpoint { url: url.to_owned(), ..self.endpoint.clone() };
        let exchange = async {
            let link = HttpLink::at(&endpoint, addresses)?;
            let mut answer =
                link.plain(method, fields, body.as_bytes()).await.map_err(|error| *error.cause)?;
            let text = answer.body.text("OAUTH_ANSWER_BYTES_MAX", OAUTH_ANSWER_BYTES_MAX).await?;
            Ok(Answer { status: answer.status(), challenge: answer.challenge().map(Into::into), body: text })
        };
        exchange.await.map_err(|cause| unreachable(url, cause))
    }

    async fn in_time(
        &self,
        url: &str,
        exchange: impl Future<Output = Result<Answer, OAuthError>>,
    ) -> Result<Answer, OAuthError> {
        match tokio::time::timeout(Duration::from_millis(self.ms_max), exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(unreachable(url, Cause::TooSlow { ms_max: self.ms_max })),
        }
    }
}

fn unreachable(url: &str, cause: Cause) -> OAuthError {
    OAuthError::Unreachable { url: plain(url), cause: Box::new(cause) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::once;
    use crate::http::resolve::scripted;

    fn way(url: &str) -> Way {
        Way::new(&Endpoint { url: url.to_owned(), ..Endpoint::default() })
    }

    /// R5.9: an authorization server is not trusted.
    #[tokio::test]
    async fn an_answer_over_oauth_answer_bytes_max_is_refused() {
        let ask = async |bytes| {
            let url = once::serve(bytes).await;
            way(&url).unchecked("GET", &url, "", "").await
        };
        assert_eq!(ask(OAUTH_ANSWER_BYTES_MAX).await.unwrap().body.len(), OAUTH_ANSWER_BYTES_MAX);
        let refused = ask(OAUTH_ANSWER_BYTES_MAX + 1).await.unwrap_err().to_string();
        assert!(
            refused.contains("OAUTH_ANSWER_BYTES_MAX: the server sent more than 262144 bytes"),
            "{refused}"
        );
    }

    /// R5.9: an exchange with an authorization server times out.
    #[tokio::test(start_paused = true)]
    async fn an_authorization_server_that_is_silent_for_oauth_answer_ms_max_is_given_up() {
        let url = once::silent().await;
        for checked in [false, true] {
            let begun = tokio::time::Instant::now();
            let way = way(&url);
            let asked = match checked {
                false => way.unchecked("GET", &url, "", "").await.map(drop),
                true => way.metadata(&url).await.map(drop),
            };
            let refused = asked.unwrap_err().to_string();
            assert!(refused.contains("did not answer within 10000 ms"), "{refused}");
            assert_eq!(begun.elapsed(), Duration::from_millis(OAUTH_ANSWER_MS_MAX));
        }
    }

    /// R5.9: a name that has no address when it is checked and another one a moment later is not connected to.
    #[tokio::test]
    async fn an_authorization_server_is_reached_only_at_addresses_that_were_checked() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let inside = listener.local_addr().unwrap();
        let server = vec![SocketAddr::from(([192, 0, 2, 7], 443))];
        let url = "https://login.example/.well-known/oauth-authorization-server";
        let asked = way("https://server.example/mcp");
        let asked = scripted::with([server, Vec::new(), vec![inside]], asked.metadata(url)).await;
        let refused = asked.unwrap_err().to_string();
        assert!(refused.contains("the host login.example is unknown"), "{refused}");
        let accepted = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(accepted.is_err(), "it was connected to");
    }

    /// R5.9: the timeout holds however the server sends. Uses real time, with a shorter timeout.
    #[tokio::test]
    async fn an_authorization_server_that_drips_or_floods_is_given_up_in_time() {
        for (talk, says) in once::TALKS {
            let url = once::talk(talk).await;
            let way = Way { ms_max: 300, ..way(&url) };
            let begun = std::time::Instant::now();
            let refused = way.metadata(&url).await.unwrap_err().to_string();
            assert!(
                refused.contains(says) || refused.contains("OAUTH_ANSWER_BYTES_MAX"),
                "{talk:?}: {refused}"
            );
            assert!(begun.elapsed() < Duration::from_secs(5), "{talk:?}: {:?}", begun.elapsed());
        }
    }
}
