//! Throttle for a server that floods the gateway with messages.
//!
//! Messages that no call waits for, and lines that are not messages, cost other servers CPU time. After
//! `UPSTREAM_NOTICES_MAX` of them, or `UPSTREAM_NOTICES_BYTES_MAX` bytes, reading pauses, so that the server's own
//! pipe fills up (back-pressure).

use std::time::Duration;

use crate::limits::{UPSTREAM_NOTICES_BYTES_MAX, UPSTREAM_NOTICES_MAX, UPSTREAM_NOTICES_PAUSE_MS};
use crate::link::Delivery;

/// Counts unsolicited messages and bytes since the last pause.
#[derive(Debug, Default)]
pub(crate) struct Brake {
    notices: usize,
    bytes: usize,
}

impl Brake {
    /// Counts a delivered message of `bytes` bytes, unless a call waited for it.
    pub(crate) async fn after(&mut self, delivery: &Delivery, bytes: usize) {
        match delivery {
            // One read may contain many answers; the tasks that wait for them get their turn.
            Delivery::Reached => tokio::task::consume_budget().await,
            Delivery::Done | Delivery::Answer(_) => self.hold(bytes).await,
        }
    }

    /// Counts one message of `bytes` bytes that no call waits for; sleeps if it reaches a limit. Always lets other
    /// tasks, and the deadline around this one, have their turn.
    pub(crate) async fn hold(&mut self, bytes: usize) {
        self.notices += 1;
        self.bytes += bytes;
        if self.notices < UPSTREAM_NOTICES_MAX && self.bytes < UPSTREAM_NOTICES_BYTES_MAX {
            return tokio::task::consume_budget().await;
        }
        *self = Self::default();
        // Boxed because the timer is larger than most futures that contain a brake.
        Box::pin(tokio::time::sleep(Duration::from_millis(UPSTREAM_NOTICES_PAUSE_MS))).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    /// R5.6: a flood of unsolicited messages is slowed down, by number and by bytes.
    #[tokio::test(start_paused = true)]
    async fn every_upstream_notices_max_messages_or_upstream_notices_bytes_max_are_followed_by_a_pause() {
        let (mut brake, begun) = (Brake::default(), Instant::now());
        for _ in 0..10 * UPSTREAM_NOTICES_MAX {
            brake.after(&Delivery::Reached, UPSTREAM_NOTICES_BYTES_MAX).await;
        }
        assert_eq!(begun.elapsed(), Duration::ZERO, "answers are not slowed down");
        for _ in 0..3 * UPSTREAM_NOTICES_MAX - 1 {
            brake.after(&Delivery::Done, 100).await;
        }
        assert_eq!(begun.elapsed(), Duration::from_millis(2 * UPSTREAM_NOTICES_PAUSE_MS));
        let (mut brake, begun) = (Brake::default(), Instant::now());
        for _ in 0..4 {
            brake.hold(UPSTREAM_NOTICES_BYTES_MAX / 2).await;
        }
        assert_eq!(begun.elapsed(), Duration::from_millis(2 * UPSTREAM_NOTICES_PAUSE_MS));
    }
}
