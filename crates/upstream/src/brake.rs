//! A server that says something all the time is read no faster than anybody needs.
//!
//! Messages that no call waits for, and lines that are no messages, cost the neighbours processor time: after every
//! `UPSTREAM_NOTICES_MAX` of them, or `UPSTREAM_NOTICES_BYTES_MAX` bytes, the server is not read for a moment, and its
//! own pipe fills up.

use std::time::Duration;

use crate::limits::{UPSTREAM_NOTICES_BYTES_MAX, UPSTREAM_NOTICES_MAX, UPSTREAM_NOTICES_PAUSE_MS};
use crate::link::Delivery;

#[derive(Debug, Default)]
pub(crate) struct Brake {
    notices: usize,
    bytes: usize,
}

impl Brake {
    /// Counts a message of `bytes` that was delivered, unless a call waited for it.
    pub(crate) async fn after(&mut self, delivery: &Delivery, bytes: usize) {
        match delivery {
            // Many answers may come in one piece: those who wait for them have their turn.
            Delivery::Reached => tokio::task::consume_budget().await,
            Delivery::Done | Delivery::Answer(_) => self.hold(bytes).await,
        }
    }

    /// Counts one message of `bytes` that no call waits for; waits where it is one too many. Other tasks, and the
    /// deadline around this one, have their turn in any case.
    pub(crate) async fn hold(&mut self, bytes: usize) {
        self.notices += 1;
        self.bytes += bytes;
        if self.notices < UPSTREAM_NOTICES_MAX && self.bytes < UPSTREAM_NOTICES_BYTES_MAX {
            return tokio::task::consume_budget().await;
        }
        *self = Self::default();
        // Boxed: the timer is larger than most futures that hold a brake.
        Box::pin(tokio::time::sleep(Duration::from_millis(UPSTREAM_NOTICES_PAUSE_MS))).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    /// R5.6: a storm of messages that nobody asked for is slowed down, by number and by bytes.
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
