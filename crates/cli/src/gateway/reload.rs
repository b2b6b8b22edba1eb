//! The configuration file is read again when it changes or on SIGHUP (R5.8).
//!
//! Guarantees: a file that cannot be used changes nothing and is reported; clients stay connected; servers whose own
//! part did not change are not touched.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{SignalKind, signal};
use toolcrib_gateway::Gateway;

use super::config;
use crate::serve::Args;

/// How often the file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// When it was written and how long it is.
type Stamp = Option<(SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

pub(super) async fn follow(args: Args, gateway: Arc<Gateway>) {
    let Some(path) = args.config.clone() else { return };
    let mut hangup = signal(SignalKind::hangup()).ok();
    let mut seen = stamp(&path);
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
        let now = stamp(&path);
        if now == seen && !is_told {
            continue;
        }
        seen = now;
        match config(&args) {
            Ok(config) => match gateway.change(config.sources).await {
                Ok(()) => tracing::info!(target: "toolcrib", "{} is in force", path.display()),
                Err(error) => {
                    tracing::error!(target: "toolcrib", "nothing changed: {}: {error}", path.display())
                }
            },
            Err(error) => tracing::error!(target: "toolcrib", "nothing changed: {error}"),
        }
    }
}
