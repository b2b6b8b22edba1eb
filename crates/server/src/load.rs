//! Quotas of resources that callers share, in total and per caller.
//!
//! An authenticated caller counts by its subject, an anonymous one by its network address and not by its session,
//! because otherwise it could get more by opening more sessions.

use std::sync::Arc;

use toolcrib_engine::Share;
use toolcrib_engine::quota::{Bound, Bounds, Held, Quota};

use crate::limits;

/// Bounds of all shared resources. The defaults are the constants in [`limits`].
#[derive(Debug, Clone, Copy)]
pub struct LoadLimits {
    pub sessions: Bounds,
    /// Idle time after which a used session may be evicted for another, in milliseconds.
    pub session_idle_ms_min: u64,
    /// Idle time after which a session ends, in milliseconds.
    pub session_idle_ms_max: u64,
    /// Bytes of large request heads.
    pub heads: Bounds,
    /// Bytes of request bodies.
    pub bodies: Bounds,
    /// Bytes of answers that clients have not taken yet.
    pub answers: Bounds,
    /// Bytes of events that are kept so that clients can resume.
    pub replays: Bounds,
    /// Connections, in total and per address.
    pub connections: Bounds,
    /// Requests on connections that carry several at once, in total and per address.
    pub requests: Bounds,
    /// Calls of legacy clients that continue without their connection.
    pub detached: Bounds,
}

macro_rules! bound {
    ($name:ident, $counts:literal) => {
        Bound { name: stringify!($name), max: limits::$name, counts: $counts }
    };
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self {
            sessions: Bounds {
                total: bound!(SESSIONS_MAX, "sessions"),
                share: bound!(SESSIONS_PER_SHARE_MAX, "sessions"),
            },
            session_idle_ms_min: limits::SESSION_IDLE_MS_MIN,
            session_idle_ms_max: limits::SESSION_IDLE_MS_MAX,
            heads: Bounds {
                total: bound!(HEADS_BYTES_MAX, "bytes of request heads"),
                share: bound!(HEADS_BYTES_PER_SHARE_MAX, "bytes of request heads"),
            },
            bodies: Bounds {
                total: bound!(BODIES_BYTES_MAX, "bytes of request bodies"),
                share: bound!(BODIES_BYTES_PER_SHARE_MAX, "bytes of request bodies"),
            },
            answers: Bounds {
                total: bound!(ANSWERS_BYTES_MAX, "bytes of answers not read"),
                share: bound!(ANSWERS_BYTES_PER_SHARE_MAX, "bytes of answers not read"),
            },
            replays: Bounds {
                total: bound!(REPLAY_BYTES_MAX, "bytes of events kept"),
                share: bound!(REPLAY_BYTES_PER_SHARE_MAX, "bytes of events kept"),
            },
            connections: Bounds {
                total: bound!(CONNECTIONS_MAX, "connections"),
                share: bound!(CONNECTIONS_PER_ADDRESS_MAX, "connections"),
            },
            requests: Bounds {
                total: bound!(REQUESTS_MAX, "requests"),
                share: bound!(REQUESTS_PER_ADDRESS_MAX, "requests"),
            },
            detached: Bounds {
                total: bound!(DETACHED_CALLS_MAX, "calls without a connection"),
                share: bound!(DETACHED_CALLS_PER_SHARE_MAX, "calls without a connection"),
            },
        }
    }
}

/// Quotas of bytes that clients have not taken yet, and of events that are kept for resuming.
#[derive(Debug, Clone)]
pub(crate) struct Unread {
    pub(crate) answers: Arc<Quota>,
    pub(crate) replays: Arc<Quota>,
}

impl Unread {
    pub(crate) fn new(limits: &LoadLimits) -> Self {
        Self { answers: Quota::new(limits.answers), replays: Quota::new(limits.replays) }
    }

    pub(crate) fn account(&self, owner: Share) -> Account {
        Account { unread: self.clone(), owner }
    }
}

/// Quotas of one caller's answers.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) unread: Unread,
    pub(crate) owner: Share,
}

impl Account {
    /// Returns a handle that counts bytes not yet taken; starts at 0.
    pub(crate) fn waiting(&self) -> Held {
        self.unread.answers.charge(&self.owner, 0)
    }

    /// Returns a handle that counts bytes kept for resuming; starts at 0.
    pub(crate) fn kept(&self) -> Held {
        self.unread.replays.charge(&self.owner, 0)
    }

    /// Returns `true` if this caller uses half of what may be kept for it.
    pub(crate) fn keeps_much(&self) -> bool {
        self.unread.replays.check(|| self.owner.clone()).is_err()
    }
}

#[cfg(test)]
impl Account {
    /// Account of an unknown caller with this bound in bytes.
    pub(crate) fn of_bytes(max: usize) -> Self {
        let bound = Bound { name: "ANSWERS_BYTES_MAX", max, counts: "bytes" };
        let quota = || Quota::new(Bounds { total: bound, share: bound });
        Self { unread: Unread { answers: quota(), replays: quota() }, owner: Share::Unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SESSIONS_MAX`, `SESSIONS_PER_SHARE_MAX`, `SESSION_IDLE_MS_MIN`, `HEADS_BYTES_MAX`,
    /// `HEADS_BYTES_PER_SHARE_MAX`, `BODIES_BYTES_MAX`, `BODIES_BYTES_PER_SHARE_MAX`, `ANSWERS_BYTES_MAX`,
    /// `ANSWERS_BYTES_PER_SHARE_MAX`, `REPLAY_BYTES_MAX`, `REPLAY_BYTES_PER_SHARE_MAX`, `CONNECTIONS_MAX`,
    /// `CONNECTIONS_PER_ADDRESS_MAX`, `REQUESTS_MAX`, `REQUESTS_PER_ADDRESS_MAX`, `DETACHED_CALLS_MAX` and
    /// `DETACHED_CALLS_PER_SHARE_MAX` are the defaults; their effects are tested with smaller values.
    #[test]
    fn the_default_load_limits_are_the_constants_and_a_share_is_less_than_all() {
        let load = LoadLimits::default();
        let values =
            |bounds: Bounds| (bounds.total.name, bounds.total.max, bounds.share.name, bounds.share.max);
        assert_eq!(values(load.sessions), ("SESSIONS_MAX", 10_000, "SESSIONS_PER_SHARE_MAX", 5_000));
        assert_eq!(load.session_idle_ms_min, limits::SESSION_IDLE_MS_MIN);
        assert_eq!(load.session_idle_ms_max, limits::SESSION_IDLE_MS_MAX);
        let mib = |bytes: usize| bytes / 1024 / 1024;
        assert_eq!((mib(load.heads.total.max), mib(load.heads.share.max)), (32, 16));
        assert_eq!((mib(load.bodies.total.max), mib(load.bodies.share.max)), (128, 64));
        assert_eq!((mib(load.answers.total.max), mib(load.answers.share.max)), (192, 64));
        assert_eq!((mib(load.replays.total.max), mib(load.replays.share.max)), (64, 16));
        assert_eq!((load.connections.total.max, load.connections.share.max), (10_000, 5_000));
        assert_eq!((load.requests.total.max, load.requests.share.max), (10_000, 5_000));
        assert_eq!((load.detached.total.max, load.detached.share.max), (4_096, 512));
        for bounds in [
            load.sessions,
            load.heads,
            load.bodies,
            load.answers,
            load.replays,
            load.connections,
            load.requests,
            load.detached,
        ] {
            assert!(bounds.share.max < bounds.total.max, "{bounds:?}");
        }
    }
}
