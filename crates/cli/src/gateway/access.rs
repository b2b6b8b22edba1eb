//! Who may reach the gateway over HTTP (R5.9): those whom the file names, else as every server of this program does,
//! anybody on this machine and elsewhere those with a credential.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use toolcrib::{Bearer, Expected, HttpOptions, JwtBearer};
use toolcrib_gateway::Config;
use toolcrib_gateway::config::{Jwks, Jwt};

use super::pages::Pages;

/// The least time between two looks at an issuer's keys.
const KEYS_PAUSE: Duration = Duration::from_secs(10);

/// The longest.
const KEYS_AGE: Duration = Duration::from_secs(300);

/// `own` asks for the operator's credentials, and stays in force where the file names nobody.
pub(super) fn options(config: &Config, own: HttpOptions, pages: &Arc<Pages>) -> anyhow::Result<HttpOptions> {
    let mut expected = Expected::default();
    for host in &config.hosts {
        expected = expected.and_host(host);
    }
    for origin in &config.origins {
        expected = expected.and_origin(origin);
    }
    let streams_when_listed_first = config.streams_when_listed_first;
    let mut options = HttpOptions { expected, side: Some(pages.clone()), streams_when_listed_first, ..own };
    let mut bearer = Bearer::new(pages.metadata_url());
    for token in &config.auth.tokens {
        bearer = bearer.with(&token.subject, &token.token);
    }
    match &config.auth.jwt {
        Some(jwt) => options.authenticator = verifier(jwt, bearer)?,
        None if config.auth.is_open() => {}
        None => options.authenticator = Arc::new(bearer),
    }
    Ok(options)
}

/// Keys from a file are there at once; keys from a URL come, and come again when they change.
fn verifier(jwt: &Jwt, bearer: Bearer) -> anyhow::Result<Arc<JwtBearer>> {
    let verifier = JwtBearer::new(bearer, &jwt.issuer, &jwt.audience, &jwt.scopes);
    match &jwt.jwks {
        Jwks::File(path) => {
            let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
            verifier.set_keys(&text).with_context(|| path.display().to_string())?;
        }
        Jwks::Url(url) => {
            tokio::spawn(follow_keys(verifier.clone(), url.clone()));
        }
    }
    Ok(verifier)
}

async fn follow_keys(verifier: Arc<JwtBearer>, url: String) {
    loop {
        let failed = match toolcrib_upstream::fetch(&url, None).await {
            Ok(text) => verifier.set_keys(&text).err().map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(failed) = failed {
            tracing::warn!(target: "toolcrib", "the keys of {url} stay as they were: {failed}");
        }
        // Whoever sends tokens with made-up keys cannot make us ask more often than this.
        tokio::time::sleep(KEYS_PAUSE).await;
        tokio::select! {
            () = verifier.wants_keys() => {}
            () = tokio::time::sleep(KEYS_AGE) => {}
        }
    }
}
