//! Authentication of requests to the gateway over HTTP (R5.9): the tokens or the issuer that the file names. Without
//! either, anybody is admitted on loopback, and elsewhere the holders of credentials.

use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use arc_swap::ArcSwap;
use tokio::task::JoinHandle;
use toolcrib::engine::Principal;
use toolcrib::{Authenticator, Bearer, Challenge, Expected, HttpOptions, JwtBearer, RequestHead, Side};
use toolcrib_gateway::Config;
use toolcrib_gateway::config::{Auth, Jwks, Jwt};
use toolcrib_server::limits::JWKS_BYTES_MAX;

use super::pages::Pages;

/// Authenticator that a reload can replace while requests are served.
pub(super) struct Porter {
    /// Authenticator in force if the file configures none.
    own: Arc<dyn Authenticator>,
    current: ArcSwap<Arc<dyn Authenticator>>,
    /// Sum of [`REPLACED`] over all replacements.
    replaced: AtomicU64,
    /// Task that follows an issuer's keys.
    following: Mutex<Following>,
}

/// Added to the number of revocations when the authenticator is replaced. Larger than any count of an authenticator, so
/// that the sum always changes.
const REPLACED: u64 = 1 << 32;

/// Authenticator that is built but not yet in force.
pub(super) struct Prepared {
    authenticator: Arc<dyn Authenticator>,
    following: Following,
    auth: Auth,
}

/// Task that is aborted on drop.
#[derive(Default)]
struct Following(Option<JoinHandle<()>>);

impl Drop for Following {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

impl Porter {
    /// Creates a porter that starts with `own`, the authenticator for the operator's credentials.
    pub(super) fn new(own: Arc<dyn Authenticator>) -> Arc<Self> {
        let current = ArcSwap::from_pointee(own.clone());
        Arc::new(Self { own, current, replaced: AtomicU64::new(0), following: Mutex::default() })
    }

    /// Builds the authenticator that `auth` describes. Changes nothing yet.
    pub(super) fn prepare(&self, auth: &Auth, pages: &Pages) -> anyhow::Result<Prepared> {
        let mut bearer = Bearer::new(pages.metadata_url(auth));
        for token in &auth.tokens {
            bearer = bearer.with(&token.subject, &token.token);
        }
        let (authenticator, following): (Arc<dyn Authenticator>, _) = match &auth.jwt {
            Some(jwt) => {
                let (verifier, following) = verifier(jwt, bearer)?;
                (verifier, following)
            }
            None if auth.is_open() => (self.own.clone(), None),
            None => (Arc::new(bearer), None),
        };
        Ok(Prepared { authenticator, following: Following(following), auth: auth.clone() })
    }

    /// Puts a prepared authenticator in force.
    pub(super) fn ask_for(&self, prepared: Prepared, pages: &Pages) {
        pages.set_issuer(&prepared.auth);
        self.current.store(Arc::new(prepared.authenticator));
        self.replaced.fetch_add(REPLACED, Ordering::Release);
        *self.following.lock().unwrap_or_else(PoisonError::into_inner) = prepared.following;
    }
}

impl Authenticator for Porter {
    fn principal(&self, head: &RequestHead) -> Result<Principal, Challenge> {
        self.current.load().principal(head)
    }

    fn revocations(&self) -> u64 {
        self.replaced.load(Ordering::Acquire).wrapping_add(self.current.load().revocations())
    }

    fn still_holds(&self, principal: &Principal, since_ms: u64) -> bool {
        self.current.load().still_holds(principal, since_ms)
    }
}

pub(super) fn options(
    config: &Config,
    own: HttpOptions,
    pages: &Arc<Pages>,
) -> anyhow::Result<(HttpOptions, Arc<Porter>)> {
    let mut expected = Expected::default();
    for host in &config.hosts {
        expected = expected.and_host(host);
    }
    for origin in &config.origins {
        expected = expected.and_origin(origin);
    }
    let streams_when_listed_first = config.streams_when_listed_first;
    let porter = Porter::new(own.authenticator.clone());
    porter.ask_for(porter.prepare(&config.auth, pages)?, pages);
    let authenticator = porter.clone();
    let side = Some(pages.clone() as Arc<dyn Side>);
    Ok((HttpOptions { expected, side, authenticator, streams_when_listed_first, ..own }, porter))
}

/// Creates the verifier of an issuer's tokens. Keys of a file are read now; a task fetches keys of a URL.
fn verifier(jwt: &Jwt, bearer: Bearer) -> anyhow::Result<(Arc<JwtBearer>, Option<JoinHandle<()>>)> {
    let verifier = JwtBearer::new(bearer, &jwt.issuer, &jwt.audience, &jwt.scopes);
    match &jwt.jwks {
        Jwks::File(path) => {
            let text = read_keys(path).with_context(|| path.display().to_string())?;
            verifier.set_keys(&text).with_context(|| path.display().to_string())?;
            Ok((verifier, None))
        }
        Jwks::Url(url) => {
            let place = Arc::new((url.clone(), jwt.ca_file.clone()));
            let following = verifier.clone().follow_keys(move || {
                let place = place.clone();
                async move { toolcrib_upstream::fetch(&place.0, place.1.as_deref()).await }
            });
            Ok((verifier, Some(tokio::spawn(following))))
        }
    }
}

/// Reads one byte over `JWKS_BYTES_MAX`, so that a longer file is refused by the limit's name.
fn read_keys(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(JWKS_BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}
