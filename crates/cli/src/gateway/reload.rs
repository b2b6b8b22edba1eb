//! The configuration file and the lock are read again when they change or on SIGHUP (R5.8, R5.7).
//!
//! Guarantees: a file that cannot be used changes nothing and is reported; clients stay connected; servers whose own
//! part did not change are not touched.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{SignalKind, signal};
use toolcrib_gateway::Gateway;
use toolcrib_gateway::config::Pins;

use super::{config, pinned};
use crate::serve::Args;

/// How often the file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// When it was written and how long it is.
type Stamp = Option<(SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

pub(super) async fn follow(args: Args, gateway: Arc<Gateway>, mut pins: Option<Pins>) {
    let Some(path) = args.config.clone() else { return };
    let mut hangup = signal(SignalKind::hangup()).ok();
    let lock_stamp = |pins: &Option<Pins>| pins.as_ref().and_then(|pins| stamp(&pins.lock));
    let mut seen = (stamp(&path), lock_stamp(&pins));
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
        let now = (stamp(&path), lock_stamp(&pins));
        if now == seen && !is_told {
            continue;
        }
        seen = now;
        let read = config(&args).and_then(|config| {
            let drift = config.pins.as_ref().map(pinned).transpose()?;
            Ok((drift, config))
        });
        match read {
            Ok((drift, config)) => match gateway.change_pinned(config.sources, drift).await {
                Ok(()) => {
                    pins = config.pins;
                    seen = (seen.0, lock_stamp(&pins));
                    tracing::info!(target: "toolcrib", "{} is in force", path.display());
                }
                Err(error) => {
                    tracing::error!(target: "toolcrib", "nothing changed: {}: {error}", path.display());
                }
            },
            Err(error) => tracing::error!(target: "toolcrib", "nothing changed: {error}"),
        }
    }
}
