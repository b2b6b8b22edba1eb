//! What happens beside the calls: records are written, and what other processes stopped is noticed.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Safety;
use crate::limits::{AUDIT_FLUSH_MS, STOP_SEEN_MS_MAX};

/// Half of what is promised, so that the promise holds with a slow look.
const TICK_MS: u64 =
    if AUDIT_FLUSH_MS < STOP_SEEN_MS_MAX { AUDIT_FLUSH_MS / 2 } else { STOP_SEEN_MS_MAX / 2 };

/// Starts the housekeeper; it ends with the safety it keeps.
pub(super) fn start(safety: &Arc<Safety>) {
    let kept = Arc::downgrade(safety);
    let thread = std::thread::Builder::new().name("toolcrib-safety".to_owned());
    if let Err(error) = thread.spawn(move || run(&kept)) {
        tracing::error!(target: "toolcrib", "the housekeeper could not start: {error}");
    }
}

fn run(kept: &Weak<Safety>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(target: "toolcrib", "the housekeeper could not start: {error}");
            return;
        }
    };
    runtime.block_on(async {
        let mut seen = None;
        loop {
            tokio::time::sleep(Duration::from_millis(TICK_MS)).await;
            let Some(safety) = kept.upgrade() else { return };
            if let Err(error) = look(&safety, &mut seen).await {
                tracing::warn!(target: "toolcrib", "{error}");
            }
        }
    });
}

async fn look(safety: &Safety, seen: &mut Option<u64>) -> Result<(), super::keep::Unkept> {
    let written = safety.flush().await;
    let revision = safety.store().revision().await?;
    if *seen != Some(revision) || safety.stops().has_ended(safety.now_ms()) {
        safety.refresh().await?;
        // The revision was read first, so what is in force now is at least as new.
        safety.store().acknowledge(revision)?;
        *seen = Some(revision);
    }
    written
}
