//! One plain HTTP exchange with an authorization server: bounded in time and bytes, no redirect followed.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::address;
use super::error::{OAuthError, plain};
use crate::error::Cause;
use crate::http::HttpLink;
use crate::limits::{OAUTH_ANSWER_BYTES_MAX, OAUTH_ANSWER_MS_MAX};
use crate::spec::Endpoint;

/// Whom tokens are for, and which certificates are trusted on the way to them.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// The server's URL.
    pub(super) server: Box<str>,
    pub(super) ca_file: Option<Box<Path>>,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// `WWW-Authenticate`, of a 401.
    pub(super) challenge: Option<Box<str>>,
    pub(super) body: String,
}

impl Answer {
    /// The body as a JSON object, whatever the status.
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.body).ok().filter(Value::is_object)
    }
}

impl Way {
    /// Reads metadata; `None` where there is none.
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
        address::check(url, &self.server).await?;
        self.unchecked(method, url, fields, body).await
    }

    /// The same to the server itself, which the operator named.
    pub(super) async fn unchecked(
        &self,
        method: &str,
        url: &str,
        fields: &str,
        body: &str,
    ) -> Result<Answer, OAuthError> {
        let unreachable = |cause| OAuthError::Unreachable { url: plain(url), cause: Box::new(cause) };
        let ca_file = self.ca_file.as_ref().map(|file| file.to_path_buf());
        let endpoint = Endpoint { url: url.to_owned(), ca_file, ..Endpoint::default() };
        let link = HttpLink::new(&endpoint).map_err(unreachable)?;
        let exchange = async {
            let mut answer = link.plain(method, fields, body).await.map_err(|error| *error.cause)?;
            let text = answer.body.text("OAUTH_ANSWER_BYTES_MAX", OAUTH_ANSWER_BYTES_MAX).await?;
            Ok(Answer {
                status: answer.head.status,
                challenge: answer.head.challenge().map(Into::into),
                body: text,
            })
        };
        match tokio::time::timeout(Duration::from_millis(OAUTH_ANSWER_MS_MAX), exchange).await {
            Ok(answer) => answer.map_err(unreachable),
            Err(_) => Err(unreachable(Cause::TooSlow { ms_max: OAUTH_ANSWER_MS_MAX })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::once;

    /// R5.9: an authorization server is a stranger too.
    #[tokio::test]
    async fn an_answer_over_oauth_answer_bytes_max_is_refused() {
        let ask = async |bytes| {
            let url = once::serve(bytes).await;
            Way { server: url.as_str().into(), ca_file: None }.unchecked("GET", &url, "", "").await
        };
        assert_eq!(ask(OAUTH_ANSWER_BYTES_MAX).await.unwrap().body.len(), OAUTH_ANSWER_BYTES_MAX);
        let refused = ask(OAUTH_ANSWER_BYTES_MAX + 1).await.unwrap_err().to_string();
        assert!(
            refused.contains("OAUTH_ANSWER_BYTES_MAX: the server sent more than 262144 bytes"),
            "{refused}"
        );
    }
}
