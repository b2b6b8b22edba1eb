//! [`Hub`]: publishes changes to subscribers.
//!
//! Guarantees: a subscriber is told only what it asked for; changes that come close together are sent as one batch; a
//! subscriber that does not read costs a few flags and never a growing queue; the URIs that are followed are bounded
//! in total and per caller.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use toolcrib_protocol::write;

use crate::limits::{
    CHANGE_BATCH_MS, SUBSCRIPTION_BYTES_MAX, SUBSCRIPTION_BYTES_PER_SHARE_MAX, SUBSCRIPTIONS_MAX,
};
use crate::quota::{Bound, Bounds, Full, Held, Quota};
use crate::share::Share;

/// Change of something that a client may have cached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Tools,
    Prompts,
    Resources,
    /// The content of one resource changed.
    Resource(Arc<str>),
}

/// Kinds of changes and resource URIs that a subscriber wants to be told of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub tools: bool,
    pub prompts: bool,
    pub resources: bool,
    pub uris: BTreeSet<Box<str>>,
}

/// Changes that a subscriber was not told of yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub tools: bool,
    pub prompts: bool,
    pub resources: bool,
    pub uris: BTreeSet<Box<str>>,
}

impl Batch {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns one notification per kind of change and per URI; `meta` is a raw `_meta` object for the parameters.
    #[must_use]
    pub fn messages(&self, meta: Option<&str>) -> Vec<Vec<u8>> {
        let params = meta.map(|meta| format!("{{\"_meta\":{meta}}}"));
        let mut out = Vec::new();
        for (changed, method) in [
            (self.tools, "notifications/tools/list_changed"),
            (self.prompts, "notifications/prompts/list_changed"),
            (self.resources, "notifications/resources/list_changed"),
        ] {
            if changed {
                out.push(write::notification(method, params.as_deref()));
            }
        }
        for uri in &self.uris {
            let uri = write::quoted(uri);
            let params = match meta {
                Some(meta) => format!("{{\"_meta\":{meta},\"uri\":{uri}}}"),
                None => format!("{{\"uri\":{uri}}}"),
            };
            out.push(write::notification("notifications/resources/updated", Some(&params)));
        }
        out
    }
}

/// Reason why a resource cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooManySubscriptions {
    #[error("at most {SUBSCRIPTIONS_MAX} resources can be followed at once (SUBSCRIPTIONS_MAX)")]
    Session,
    #[error("no room for another subscription: {0}")]
    Full(#[from] Full),
}

/// Subscription of one client, with the changes it was not told of yet.
#[derive(Debug, Default)]
pub struct Subscriber {
    state: Mutex<State>,
    wake: Notify,
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    wanted: Wanted,
    pending: Batch,
    /// Quota that counts the URIs that are followed.
    held: Option<Held>,
}

impl Subscriber {
    #[must_use]
    pub fn new(wanted: Wanted) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { wanted, ..State::default() }), ..Self::default() })
    }

    /// Returns the changes that the subscriber wants to be told of.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        self.lock().wanted.clone()
    }

    /// Records a change if the subscriber wants it, and wakes the reader.
    pub fn offer(&self, change: &Change) {
        let mut state = self.lock();
        let State { wanted, pending, .. } = &mut *state;
        match change {
            Change::Tools if wanted.tools => pending.tools = true,
            Change::Prompts if wanted.prompts => pending.prompts = true,
            Change::Resources if wanted.resources => pending.resources = true,
            Change::Resource(uri) if wanted.uris.contains(&**uri) => {
                pending.uris.insert((&**uri).into());
            }
            _ => return,
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Stops following a resource.
    pub fn unfollow(&self, uri: &str) {
        let mut state = self.lock();
        if state.wanted.uris.remove(uri)
            && let Some(held) = &mut state.held
        {
            held.shrink(cost(uri));
        }
    }

    /// Ends the subscription and wakes its reader.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Returns the next changes, gathered for `CHANGE_BATCH_MS`; `None` once the subscription has ended.
    pub async fn next(&self) -> Option<Batch> {
        loop {
            if self.ended.load(Ordering::Acquire) {
                return None;
            }
            if !self.lock().pending.is_empty() {
                tokio::time::sleep(Duration::from_millis(CHANGE_BATCH_MS)).await;
                return Some(std::mem::take(&mut self.lock().pending));
            }
            self.wake.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the bytes that following a resource takes: its URI, once wanted and once pending, and the sets' overhead.
fn cost(uri: &str) -> usize {
    2 * (uri.len() + 64)
}

/// Registry of all subscribers.
#[derive(Debug)]
pub struct Hub {
    subscribers: Mutex<Members>,
    /// Bytes of the URIs that are followed.
    followed: Arc<Quota>,
    ended: AtomicBool,
}

impl Default for Hub {
    fn default() -> Self {
        let bound = |name, max| Bound { name, max, counts: "bytes of resource subscriptions" };
        Self::bounded(Bounds {
            total: bound("SUBSCRIPTION_BYTES_MAX", SUBSCRIPTION_BYTES_MAX),
            share: bound("SUBSCRIPTION_BYTES_PER_SHARE_MAX", SUBSCRIPTION_BYTES_PER_SHARE_MAX),
        })
    }
}

/// Weak references to all subscribers.
#[derive(Debug, Default)]
struct Members {
    all: Vec<Weak<Subscriber>>,
    /// Length at which dropped subscribers are removed: twice as many as were left the last time, so that joining has
    /// constant amortised cost.
    looked_through_at: usize,
}

impl Members {
    fn live(&self) -> impl Iterator<Item = Arc<Subscriber>> + '_ {
        self.all.iter().filter_map(Weak::upgrade)
    }
}

impl Hub {
    fn bounded(bounds: Bounds) -> Self {
        Self { subscribers: Mutex::default(), followed: Quota::new(bounds), ended: AtomicBool::new(false) }
    }

    /// Lets a subscriber follow a resource; its URI counts for `owner` until it is no longer followed.
    pub fn follow(
        &self,
        subscriber: &Subscriber,
        owner: &Share,
        uri: &str,
    ) -> Result<(), TooManySubscriptions> {
        let mut state = subscriber.lock();
        if state.wanted.uris.contains(uri) {
            return Ok(());
        }
        if state.wanted.uris.len() >= SUBSCRIPTIONS_MAX {
            return Err(TooManySubscriptions::Session);
        }
        match &mut state.held {
            Some(held) => held.grow(cost(uri))?,
            None => state.held = Some(self.followed.take(owner, cost(uri))?),
        }
        state.wanted.uris.insert(uri.into());
        Ok(())
    }

    /// Adds a subscriber; once the hub has ended, the subscriber is ended at once.
    pub fn join(&self, subscriber: &Arc<Subscriber>) {
        let mut members = self.lock();
        if members.all.len() >= members.looked_through_at {
            members.all.retain(|other| other.strong_count() > 0);
            members.looked_through_at = (members.all.len() * 2).max(64);
        }
        members.all.push(Arc::downgrade(subscriber));
        drop(members);
        if self.ended.load(Ordering::Acquire) {
            subscriber.end();
        }
    }

    /// Offers a change to all subscribers.
    pub fn publish(&self, change: &Change) {
        for subscriber in self.lock().live() {
            subscriber.offer(change);
        }
    }

    /// Ends every subscription gracefully; the server is shutting down.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
        for subscriber in self.lock().live() {
            subscriber.end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R3.5: changes are batched into one notification.
    #[tokio::test(start_paused = true)]
    async fn changes_that_come_together_are_told_once() {
        let hub = Hub::default();
        let subscriber = Subscriber::new(Wanted { tools: true, ..Wanted::default() });
        hub.join(&subscriber);
        for _ in 0..100 {
            hub.publish(&Change::Tools);
            hub.publish(&Change::Prompts);
        }
        let batch = subscriber.next().await.unwrap();
        assert_eq!(batch.messages(None).len(), 1);
        hub.end();
        assert_eq!(subscriber.next().await, None);
    }

    /// `CHANGE_BATCH_MS`: a change is sent this long after it was published, with all changes published meanwhile.
    #[tokio::test(start_paused = true)]
    async fn a_change_is_told_after_change_batch_ms_with_those_that_followed_it() {
        let subscriber = Subscriber::new(Wanted { tools: true, prompts: true, ..Wanted::default() });
        subscriber.offer(&Change::Tools);
        let begun = tokio::time::Instant::now();
        let late = async {
            tokio::time::sleep(Duration::from_millis(CHANGE_BATCH_MS - 1)).await;
            subscriber.offer(&Change::Prompts);
        };
        let (batch, ()) = tokio::join!(subscriber.next(), late);
        assert_eq!(begun.elapsed(), Duration::from_millis(CHANGE_BATCH_MS));
        let batch = batch.unwrap();
        assert!(batch.tools && batch.prompts, "{batch:?}");
    }

    #[tokio::test]
    async fn a_subscriber_is_told_only_of_the_resources_it_follows() {
        let hub = Hub::default();
        let subscriber = Subscriber::new(Wanted::default());
        hub.join(&subscriber);
        hub.follow(&subscriber, &Share::Local, "a://x").unwrap();
        hub.publish(&Change::Resource("a://y".into()));
        hub.publish(&Change::Resource("a://x".into()));
        let messages = subscriber.next().await.unwrap().messages(Some(r#"{"k":1}"#));
        let text = String::from_utf8(messages.concat()).unwrap();
        assert!(text.contains(r#"{"_meta":{"k":1},"uri":"a://x"}"#), "{text}");
    }

    #[test]
    fn subscribers_that_have_gone_are_forgotten() {
        let hub = Hub::default();
        let stays = Subscriber::new(Wanted { tools: true, ..Wanted::default() });
        hub.join(&stays);
        for _ in 0..10_000 {
            hub.join(&Subscriber::new(Wanted::default()));
        }
        assert!(hub.lock().all.len() <= 128, "{}", hub.lock().all.len());
        hub.publish(&Change::Tools);
        assert!(stays.lock().pending.tools);
    }

    #[test]
    fn a_subscriber_cannot_follow_without_end() {
        let (hub, subscriber) = (Hub::default(), Subscriber::new(Wanted::default()));
        let follow = |uri: &str| hub.follow(&subscriber, &Share::Local, uri);
        for number in 0..SUBSCRIPTIONS_MAX {
            follow(&number.to_string()).unwrap();
        }
        assert_eq!(follow("one more"), Err(TooManySubscriptions::Session));
        assert_eq!(follow("1"), Ok(()));
    }

    /// `SUBSCRIPTION_BYTES_MAX` and `SUBSCRIPTION_BYTES_PER_SHARE_MAX`: sessions of one caller count together.
    #[test]
    fn sessions_of_one_caller_share_a_bound_on_what_they_follow_and_give_it_back() {
        let hub = Hub::default();
        let (ann, bob) = (Share::Subject("ann".into()), Share::Subject("bob".into()));
        let long = |number: usize| format!("a://{number}/{}", "x".repeat(8_000));
        let mut sessions = Vec::new();
        let full = 'flood: loop {
            let session = Subscriber::new(Wanted::default());
            for number in 0..100 {
                if let Err(cause) = hub.follow(&session, &ann, &long(number)) {
                    break 'flood cause;
                }
            }
            sessions.push(session);
            assert!(sessions.len() < 10, "ann follows without end");
        };
        assert!(full.to_string().contains("SUBSCRIPTION_BYTES_PER_SHARE_MAX (4194304)"), "{full}");
        let neighbour = Subscriber::new(Wanted::default());
        hub.follow(&neighbour, &bob, "a://x").unwrap();
        sessions[0].unfollow(&long(1));
        hub.follow(&sessions[0], &ann, &long(1)).unwrap();
        sessions.clear();
        assert_eq!(hub.followed.held_by(&ann), 0);
        assert_eq!(hub.followed.total(), cost("a://x"));
        let mut sessions = Vec::new();
        let full = loop {
            let subscriber = Subscriber::new(Wanted::default());
            let owner = Share::Subject(sessions.len().to_string().into());
            let many = (0..200).try_for_each(|number| hub.follow(&subscriber, &owner, &long(number)));
            sessions.push(subscriber);
            match many {
                Err(cause) => break cause,
                Ok(()) => assert!(sessions.len() < 100, "everybody follows without end"),
            }
        };
        assert!(full.to_string().contains("SUBSCRIPTION_BYTES_MAX (33554432)"), "{full}");
    }
}
