//! The configuration file, with its policy, and the lock are read again when they change or on SIGHUP (R5.8, R5.7).
//!
//! Guarantees: a file that cannot be used changes nothing and is reported; clients stay connected; servers whose own
//! part did not change are not touched; what needs a new start is named and left as it is.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{SignalKind, signal};
use toolcrib::engine::Engine;
use toolcrib_gateway::config::Pins;
use toolcrib_gateway::{Config, Gateway};

use super::access::Porter;
use super::pages::Pages;
use super::{config, front, pinned};
use crate::exit::{Exit, Failure};
use crate::serve::Args;

/// How often the file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// When it was written and how long it is.
type Stamp = Option<(SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

/// What a new file has an effect on.
pub(super) struct Running {
    pub(super) args: Args,
    pub(super) engine: Arc<Engine>,
    pub(super) gateway: Arc<Gateway>,
    pub(super) pages: Arc<Pages>,
    /// Nobody is asked over stdio.
    pub(super) porter: Option<Arc<Porter>>,
}

impl Running {
    pub(super) async fn follow(self, mut current: Config) {
        let Some(path) = self.args.config.clone() else { return };
        let mut hangup = signal(SignalKind::hangup()).ok();
        let lock_stamp = |pins: &Option<Pins>| pins.as_ref().and_then(|pins| stamp(&pins.lock));
        let mut seen = (stamp(&path), lock_stamp(&current.pins));
        loop {
            let told = async {
                match &mut hangup {
                    Some(hangup) => hangup.recv().await.is_some(),
                    None => std::future::pending().await,
                }
            };
            let is_told = tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => false,
                is_told = told => is_told,
            };
            let now = (stamp(&path), lock_stamp(&current.pins));
            if now == seen && !is_told {
                continue;
            }
            seen = now;
            match self.change(&current).await {
                Ok(config) => {
                    seen = (seen.0, lock_stamp(&config.pins));
                    for word in needs_a_start(&current, &config) {
                        tracing::warn!(target: "toolcrib", "{}: {word} stays as it was until the next start", path.display());
                    }
                    current = config;
                    tracing::info!(target: "toolcrib", "{} is in force", path.display());
                }
                Err(failure) => tracing::error!(target: "toolcrib", "nothing changed: {failure}"),
            }
        }
    }

    /// Puts the file in force: what can be refused is judged before anything changes.
    async fn change(&self, before: &Config) -> Result<Config, Failure> {
        let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
        let config = config(&self.args)?;
        let drift = config.pins.as_ref().map(pinned).transpose()?;
        Gateway::check(&config.sources).map_err(|error| usage(error.into()))?;
        // Made as at the start, so that the same words are refused.
        let scratch = front(&config, &self.args.toolsets, |builder| builder)?;
        let mut toolsets = (*scratch.engine().toolsets()).clone();
        toolsets.profiles = self.engine.toolsets().profiles.clone();
        let porter = self.porter.as_ref().filter(|_| config.auth != before.auth);
        let asks =
            porter.map(|porter| porter.prepare(&config.auth, &self.pages)).transpose().map_err(usage)?;
        if config.toolsets != before.toolsets || names(&config) != names(before) {
            self.engine.registry().set_toolsets(toolsets).map_err(|error| usage(error.into()))?;
        }
        if let (Some(porter), Some(asks)) = (porter, asks) {
            porter.ask_for(asks, &self.pages);
        }
        if config.safety != before.safety {
            match &self.args.policy {
                None => self.engine.set_policy(config.safety.clone().unwrap_or_default()),
                Some(_) => warn_of_two_policies(&self.args, &config),
            }
        }
        let changed = self.gateway.change_pinned(config.sources.clone(), drift).await;
        changed.map_err(|error| usage(error.into()))?;
        Ok(config)
    }
}

/// Says which policy is in force where there are two.
pub(super) fn warn_of_two_policies(args: &Args, config: &Config) {
    if let (Some(policy), Some(file), Some(_)) = (&args.policy, &args.config, &config.safety) {
        tracing::warn!(
            target: "toolcrib",
            "the policy of --policy {} is in force; the section [safety] of {} is not",
            policy.display(),
            file.display()
        );
    }
}

/// Servers are toolsets of their own names.
fn names(config: &Config) -> Vec<&str> {
    config.sources.iter().map(|source| source.toolset.as_deref().unwrap_or(source.name())).collect()
}

/// Parts of the file that are read once.
fn needs_a_start(before: &Config, after: &Config) -> Vec<&'static str> {
    let parts = [
        ("listen", before.listen != after.listen),
        ("tls", before.tls != after.tls),
        ("http2", before.http2 != after.http2),
        ("trusted_proxies", before.trusted_proxies != after.trusted_proxies),
        ("hosts", before.hosts != after.hosts),
        ("origins", before.origins != after.origins),
        ("streams_when_listed_first", before.streams_when_listed_first != after.streams_when_listed_first),
        ("telemetry", before.otlp_endpoint != after.otlp_endpoint),
    ];
    parts.into_iter().filter(|(_, differs)| *differs).map(|(word, _)| word).collect()
}
