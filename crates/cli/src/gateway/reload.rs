//! Reloads the configuration file with its policy, and the lock, when they change or on SIGHUP (R5.8, R5.7).
//!
//! Guarantees: a file that cannot be used changes nothing and is reported. Clients stay connected. Servers whose own
//! part did not change are not touched. Settings that need a restart are named and stay as they are.

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

/// Interval between checks of the files.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Modification time and length of a file.
type Stamp = Option<(SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

/// Parts of a running gateway that a reload changes.
pub(super) struct Running {
    pub(super) args: Args,
    pub(super) engine: Arc<Engine>,
    pub(super) gateway: Arc<Gateway>,
    pub(super) pages: Arc<Pages>,
    /// `None` over stdio, which has no authentication.
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

    /// Applies the file. Everything that can be refused is checked before anything changes.
    async fn change(&self, before: &Config) -> Result<Config, Failure> {
        let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
        let config = config(&self.args)?;
        let drift = config.pins.as_ref().map(pinned).transpose()?;
        Gateway::check(&config.sources).map_err(|error| usage(error.into()))?;
        // Built as at the start, so that a reload refuses the same names.
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

/// Warns that `--policy` overrides the policy in the configuration file, if both exist.
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

/// Returns the name of each server's toolset.
fn names(config: &Config) -> Vec<&str> {
    config.sources.iter().map(|source| source.toolset.as_deref().unwrap_or(source.name())).collect()
}

/// Returns the changed settings that only a restart applies.
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
