//! Open streams of modern requests, by principal.
//!
//! Guarantees: when a credential is revoked, the streams that were opened with it are cancelled. Ended streams are
//! removed, so the list has at most twice as many entries as there are streams. Streams of legacy sessions end with
//! their session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use toolcrib_engine::{Exchange, Principal};

use crate::sessions::unix_ms;

/// Streams that were opened with a credential.
#[derive(Debug, Default)]
pub(crate) struct OpenStreams(Mutex<Members>);

#[derive(Debug, Default)]
struct Members {
    all: Vec<Member>,
    /// Length at which ended streams are removed: twice the number that remained last time.
    swept_at: usize,
}

#[derive(Debug)]
struct Member {
    principal: Principal,
    /// Unix time at which the stream was opened, in milliseconds.
    since_ms: u64,
    exchange: Weak<Exchange>,
}

/// Minimum length at which ended streams are removed.
const SWEPT_AT_MIN: usize = 64;

impl OpenStreams {
    /// Registers a stream. An anonymous one is ignored, because it has no credential that could be revoked.
    pub(crate) fn join(&self, principal: &Principal, exchange: &Arc<Exchange>) {
        if !matches!(principal, Principal::Subject(_)) {
            return;
        }
        let mut members = self.lock();
        if members.all.len() >= members.swept_at.max(SWEPT_AT_MIN) {
            members.all.retain(|member| member.exchange.strong_count() > 0);
            members.swept_at = 2 * members.all.len();
        }
        let (principal, exchange) = (principal.clone(), Arc::downgrade(exchange));
        members.all.push(Member { principal, since_ms: unix_ms(), exchange });
    }

    /// Cancels the streams whose principal may no longer be served.
    pub(crate) fn end_revoked(&self, holds: impl Fn(&Principal, u64) -> bool) {
        let mut ended = Vec::new();
        self.lock().all.retain(|member| {
            let Some(exchange) = member.exchange.upgrade() else { return false };
            let stays = holds(&member.principal, member.since_ms);
            if !stays {
                ended.push(exchange);
            }
            stays
        });
        for exchange in ended {
            tracing::info!(target: "toolcrib", "a stream ended with the credential that opened it");
            exchange.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R12.5: only the streams of the revoked credential are cancelled.
    #[test]
    fn the_streams_of_a_revoked_credential_are_cancelled() {
        let streams = OpenStreams::default();
        let (ann, bob) = (Exchange::alone(true), Exchange::alone(true));
        streams.join(&Principal::subject("ann"), &ann);
        streams.join(&Principal::subject("bob"), &bob);
        streams.end_revoked(|principal, _| *principal != Principal::subject("ann"));
        assert!(ann.is_cancelled() && !bob.is_cancelled());
    }

    #[test]
    fn streams_that_have_ended_are_forgotten() {
        let streams = OpenStreams::default();
        for _ in 0..10 * SWEPT_AT_MIN {
            streams.join(&Principal::subject("ann"), &Exchange::alone(true));
        }
        assert!(streams.lock().all.len() <= SWEPT_AT_MIN);
    }
}
