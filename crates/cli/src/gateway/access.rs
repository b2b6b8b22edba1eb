//! Who may reach the gateway over HTTP (R5.9): those whom the file names, else as every server of this program does,
//! anybody on this machine and elsewhere those with a credential.

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

/// Who decides whom requests come from; another can take its place while requests are served.
pub(super) struct Porter {
    /// Where the file names nobody.
    own: Arc<dyn Authenticator>,
    current: ArcSwap<Arc<dyn Authenticator>>,
    /// Times that another took its place.
    replaced: AtomicU64,
    /// Follows an issuer's keys.
    following: Mutex<Following>,
}

/// Step of the number of revocations when the file changes: larger than any number that an authenticator gets to, so that
/// the sum always changes.
const REPLACED: u64 = 1 << 32;

/// What is going to be asked for.
pub(super) struct Prepared {
    authenticator: Arc<dyn Authenticator>,
    following: Following,
    auth: Auth,
}

/// A task that ends with whoever wanted it.
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
    /// `own` asks for the operator's credentials, and stays in force where the file names nobody.
    pub(super) fn new(own: Arc<dyn Authenticator>) -> Arc<Self> {
        let current = ArcSwap::from_pointee(own.clone());
        Arc::new(Self { own, current, replaced: AtomicU64::new(0), following: Mutex::default() })
    }

    /// Reads what the file says; nothing changes yet.
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

    /// Asks for it from now on.
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

/// Makes the verifier of an issuer's tokens. Keys of a file are read now; keys of a URL are fetched by a task.
fn verifier(jwt: &Jwt, bearer: Bearer) -> anyhow::Result<(Arc<JwtBearer>, Option<JoinHandle<()>>)> {
    let verifier = JwtBearer::new(bearer, &jwt.issuer, &jwt.audience, &jwt.scopes);
    match &jwt.jwks {
        Jwks::File(path) => {
            let text = read_keys(path).with_context(|| path.display().to_string())?;
            verifier.set_keys(&text).with_context(|| path.display().to_string())?;
            Ok((verifier, None))
        }
        Jwks::Url(url) => {
            let url: Arc<str> = url.as_str().into();
            let following = verifier.clone().follow_keys(move || {
                let url = url.clone();
                async move { toolcrib_upstream::fetch(&url, None).await }
            });
            Ok((verifier, Some(tokio::spawn(following))))
        }
    }
}

/// Reads one byte more than a key set may have, so that a longer file is refused by the limit's name.
fn read_keys(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(JWKS_BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}
