//! Housekeeper: a background thread that writes records, notices changes by other processes, and keeps the audit
//! within its limits.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::Safety;
use super::keep::Retention;
use crate::limits::{AUDIT_FLUSH_MS, AUDIT_RETENTION_MS, STOP_SEEN_MS_MAX};

const DAY_MS: u64 = 86_400_000;

/// Half of the promised interval, in milliseconds, so that the promise holds even if one round is slow.
const TICK_MS: u64 =
    if AUDIT_FLUSH_MS < STOP_SEEN_MS_MAX { AUDIT_FLUSH_MS / 2 } else { STOP_SEEN_MS_MAX / 2 };

/// Starts the housekeeper; it ends when its `Safety` is dropped.
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
        let (mut seen, mut said, mut retained) = (None, None, None);
        loop {
            tokio::time::sleep(Duration::from_millis(TICK_MS)).await;
            let Some(safety) = kept.upgrade() else { return };
            // A failure that persists is logged once, not in every round.
            let error = look(&safety, &mut seen).await.err().map(|error| error.to_string());
            if let Some(error) = error.as_ref().filter(|error| said.as_ref() != Some(*error)) {
                tracing::warn!(target: "toolcrib", "{error}");
            }
            said = error;
            retain(&safety, &mut retained);
        }
    });
}

/// Returns true if the audit's size and age must be checked again.
fn is_due(last: Option<Instant>, now: Instant) -> bool {
    last.is_none_or(|last| now.duration_since(last) >= Duration::from_millis(AUDIT_RETENTION_MS))
}

/// Lets the store prune the audit, if the policy limits it.
fn retain(safety: &Safety, last: &mut Option<Instant>) {
    let policy = safety.policy();
    let is_limited = policy.audit_keep_days.is_some() || policy.audit_bytes_max.is_some();
    let now = Instant::now();
    if !is_limited || !is_due(*last, now) {
        return;
    }
    *last = Some(now);
    let kept_ms = policy.audit_keep_days.map(|days| u64::from(days).saturating_mul(DAY_MS));
    safety.store().retain(Retention {
        since_ms: kept_ms.map(|kept_ms| safety.now_ms().saturating_sub(kept_ms)),
        bytes_max: policy.audit_bytes_max,
        archive: policy.audit_archive.clone(),
        by: "policy".to_owned(),
    });
}

async fn look(safety: &Safety, seen: &mut Option<u64>) -> Result<(), super::keep::Unkept> {
    let written = safety.flush().await;
    for stop in safety.stops().take_unkept() {
        // A stop that fails again is retried in the next round.
        if let Err(error) = safety.put_stop(Arc::unwrap_or_clone(stop)).await {
            tracing::debug!(target: "toolcrib", "a stop is in force but still not kept: {error}");
        }
    }
    let revision = safety.store().revision().await?;
    if *seen != Some(revision) || safety.stops().has_ended(safety.now_ms()) {
        safety.refresh().await?;
        safety.store().reread().await?;
        // The revision was read first, so the state in force now is at least as new.
        safety.store().acknowledge(revision)?;
        *seen = Some(revision);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R4.8, `AUDIT_RETENTION_MS`: the audit's size is checked when the process starts, and then at this interval.
    #[test]
    fn the_audit_is_looked_at_every_audit_retention_ms() {
        let start = Instant::now();
        let after = |ms: u64| start + Duration::from_millis(ms);
        assert!(is_due(None, start));
        assert!(!is_due(Some(start), after(AUDIT_RETENTION_MS - 1)));
        assert!(is_due(Some(start), after(AUDIT_RETENTION_MS)));
    }
}
