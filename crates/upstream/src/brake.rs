//! A server that says something all the time is read no faster than anybody needs.
//!
//! What nobody asked for costs the neighbours processor time: after every `UPSTREAM_NOTICES_MAX` notifications the server
//! is not read for a moment, and its own pipe fills up.

use std::time::Duration;

use crate::limits::{UPSTREAM_NOTICES_MAX, UPSTREAM_NOTICES_PAUSE_MS};
use crate::message::{Kind, Message};

#[derive(Debug, Default)]
pub(crate) struct Brake {
    notices: usize,
}

impl Brake {
    /// Waits where this message is one notification too many.
    pub(crate) async fn hold(&mut self, message: &Message) {
        if *message.kind() != Kind::Notification {
            return;
        }
        self.notices += 1;
        if self.notices >= UPSTREAM_NOTICES_MAX {
            self.notices = 0;
            tokio::time::sleep(Duration::from_millis(UPSTREAM_NOTICES_PAUSE_MS)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    /// R5.6: a storm of notifications is slowed down; answers are not.
    #[tokio::test(start_paused = true)]
    async fn every_upstream_notices_max_notifications_are_followed_by_a_pause() {
        let read = |text: &str| Message::read(text.to_owned()).unwrap();
        let notice = read(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        let answer = read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        let (mut brake, begun) = (Brake::default(), Instant::now());
        for _ in 0..10 * UPSTREAM_NOTICES_MAX {
            brake.hold(&answer).await;
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
        for _ in 0..3 * UPSTREAM_NOTICES_MAX {
            brake.hold(&notice).await;
        }
        assert_eq!(begun.elapsed(), Duration::from_millis(3 * UPSTREAM_NOTICES_PAUSE_MS));
    }
}
