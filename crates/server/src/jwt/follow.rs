//! Refreshes an issuer's keys that are published at a URL.
//!
//! Guarantees: one fetch at a time, and [`JWKS_REFETCH_MS_MIN`] between the end of one and the start of the next, no
//! matter how many tokens name unknown keys.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use super::JwtBearer;
use crate::limits::{JWKS_AGE_MS_MAX, JWKS_REFETCH_MS_MIN};

impl JwtBearer {
    /// Keeps the keys up to date with the result of `fetch`; never returns.
    pub async fn follow_keys<F, E>(self: Arc<Self>, fetch: impl Fn() -> F + Send)
    where
        F: Future<Output = Result<String, E>> + Send,
        E: Display,
    {
        loop {
            let failure = match fetch().await {
                Ok(text) => self.set_keys(&text).err().map(|error| error.to_string()),
                Err(error) => Some(error.to_string()),
            };
            if let Some(failure) = failure {
                let issuer = &self.issuer;
                tracing::warn!(target: "toolcrib", "the keys of {issuer} stay as they were: {failure}");
            }
            tokio::time::sleep(Duration::from_millis(JWKS_REFETCH_MS_MIN)).await;
            let age = Duration::from_millis(JWKS_AGE_MS_MAX - JWKS_REFETCH_MS_MIN);
            // The keys are fetched again when they are too old or a token names an unknown key.
            let _ = tokio::time::timeout(age, self.unknown.notified()).await;
        }
    }
}
