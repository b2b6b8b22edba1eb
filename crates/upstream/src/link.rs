//! Calls in flight on one connection, and the routing of incoming messages to them.
//!
//! Guarantees: a response reaches only the call whose id it has. A question reaches a person only if it is certain
//! which call it belongs to. Messages that do not fit into a queue are dropped or refused.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use toolcrib_engine::by_thread::Apart;
use toolcrib_protocol::{Code, RpcError, write};

use crate::error::{Cause, UpstreamError};
use crate::inbox::Inbox;
use crate::limits::UPSTREAM_IN_FLIGHT_MAX;
use crate::message::{Kind, Message};
use crate::request::Asker;

/// One call in flight.
struct Slot {
    inbox: Arc<Inbox>,
    asker: Option<Asker>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.inbox.close();
    }
}

/// Notifications of a server that belong to no call.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) lists: AtomicBool,
    pub(crate) resources: Mutex<Vec<String>>,
    wake: Notify,
}

impl News {
    pub(crate) fn lists_changed(&self) {
        self.lists.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    fn resource_changed(&self, uri: String) {
        let mut resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        if resources.len() < toolcrib_engine::limits::SUBSCRIPTIONS_MAX && !resources.contains(&uri) {
            resources.push(uri);
        }
        drop(resources);
        self.wake.notify_one();
    }

    pub(crate) fn take_resources(&self) -> Vec<String> {
        std::mem::take(&mut *self.resources.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn take_lists(&self) -> bool {
        self.lists.swap(false, Ordering::AcqRel)
    }

    pub(crate) async fn wait(&self) {
        self.wake.notified().await;
    }
}

/// Result of routing a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// The message was the response to a call in flight.
    Reached,
    Done,
    /// This reply has to be sent to the server.
    Answer(Vec<u8>),
}

/// Table of the calls in flight on one connection.
#[derive(Default)]
pub(crate) struct Link {
    id_last: Apart<AtomicU64>,
    slots: Mutex<BTreeMap<u64, Slot>>,
    closed: Mutex<Option<Cause>>,
    pub(crate) news: News,
    ended: Notify,
}

/// Handle of a call in flight; removes the call from the table when dropped.
pub(crate) struct Seat {
    pub(crate) id: u64,
    link: Arc<Link>,
    inbox: Arc<Inbox>,
}

impl Link {
    pub(crate) fn next_id(&self) -> u64 {
        self.id_last.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Registers a call, which then receives the response to `id`.
    pub(crate) fn sit(self: &Arc<Self>, id: u64, asker: Option<Asker>) -> Result<Seat, UpstreamError> {
        if let Some(cause) = lock(&self.closed).clone() {
            return Err(UpstreamError::unsent(cause));
        }
        let inbox = Arc::<Inbox>::default();
        let mut slots = lock(&self.slots);
        if slots.len() >= UPSTREAM_IN_FLIGHT_MAX {
            return Err(UpstreamError::unsent(Cause::Busy));
        }
        slots.insert(id, Slot { inbox: inbox.clone(), asker });
        Ok(Seat { id, link: self.clone(), inbox })
    }

    /// Routes a message to its call.
    pub(crate) fn deliver(&self, message: Message) -> Delivery {
        match message.kind() {
            Kind::Response(Some(id)) => {
                let waiting = lock(&self.slots).get(id).map(|slot| slot.inbox.clone());
                match waiting {
                    Some(inbox) => {
                        inbox.answer(message);
                        Delivery::Reached
                    }
                    None => {
                        tracing::debug!(target: "toolcrib", id, "an answer to nothing that is under way");
                        Delivery::Done
                    }
                }
            }
            Kind::Response(None) => Delivery::Done,
            Kind::Notification => {
                self.notified(message);
                Delivery::Done
            }
            Kind::Request(id) => self.asked(&id.clone(), message),
        }
    }

    fn notified(&self, message: Message) {
        match message.method().as_str() {
            "notifications/progress" => {
                let slots = lock(&self.slots);
                if let Some(slot) = message.progress_token().and_then(|token| slots.get(&token)) {
                    // A call whose inbox is full loses progress, not its response.
                    let _ = slot.inbox.event(message);
                }
            }
            "notifications/message" => {
                let slots = lock(&self.slots);
                // Over stdio a log message does not name its call. Requests without an asker, such as a subscription,
                // are not calls.
                let mut calls = slots.values().filter(|slot| slot.asker.is_some());
                if let (Some(slot), None) = (calls.next(), calls.next()) {
                    let _ = slot.inbox.event(message);
                }
            }
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed" => self.news.lists_changed(),
            "notifications/resources/updated" => {
                let uri = message.params().and_then(|params| params.get("uri")?.as_str().map(String::from));
                if let Some(uri) = uri {
                    self.news.resource_changed(uri);
                }
            }
            _ => {}
        }
    }

    fn asked(&self, id: &str, message: Message) -> Delivery {
        let method = message.method();
        match method.as_str() {
            "ping" => Delivery::Answer(write::result(id, b"{}")),
            "elicitation/create" | "sampling/createMessage" | "roots/list" => {
                let slots = lock(&self.slots);
                let askers: std::collections::HashSet<_> =
                    slots.values().filter_map(|slot| slot.asker.as_ref()).collect();
                let slot = match askers.len() {
                    1 => slots.values().find(|slot| slot.asker.is_some()),
                    _ => None,
                };
                match slot {
                    // A gateway has no roots of its own.
                    None if askers.is_empty() && method == "roots/list" => {
                        Delivery::Answer(write::result(id, b"{\"roots\":[]}"))
                    }
                    Some(slot) if slot.inbox.event(message) => Delivery::Done,
                    _ => {
                        let reason = "it cannot be told whose call this question belongs to";
                        Delivery::Answer(write::error(Some(id), &RpcError::new(Code::InternalError, reason)))
                    }
                }
            }
            other => Delivery::Answer(write::error(Some(id), &RpcError::method_not_found(other))),
        }
    }

    /// Closes the connection: every call in flight fails with `cause`.
    pub(crate) fn close(&self, cause: Cause) {
        lock(&self.closed).get_or_insert(cause);
        lock(&self.slots).clear();
        self.ended.notify_waiters();
        self.ended.notify_one();
    }

    pub(crate) fn why_closed(&self) -> Option<Cause> {
        lock(&self.closed).clone()
    }

    /// Returns the cause once the connection is closed.
    pub(crate) async fn closed(&self) -> Cause {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if let Some(cause) = self.why_closed() {
                return cause;
            }
            ended.await;
        }
    }
}

impl Seat {
    /// Returns the next message for this call; the response is the last one.
    pub(crate) async fn next(&mut self) -> Result<Message, UpstreamError> {
        let next = poll_fn(|cx| self.inbox.poll_next(cx)).await;
        next.ok_or_else(|| UpstreamError::sent(self.link.why_closed().unwrap_or(Cause::Closed)))
    }

    /// Returns the next message other than the response; `None` once there are no more.
    pub(crate) async fn event(&mut self) -> Option<Message> {
        poll_fn(|cx| self.inbox.poll_event(cx)).await
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        lock(&self.link.slots).remove(&self.id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Message {
        Message::read(text.to_owned()).unwrap()
    }

    /// Returns `true` if a message other than the response has arrived.
    fn has_event(seat: &mut Seat) -> bool {
        let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
        seat.inbox.poll_event(cx).is_ready()
    }

    fn asker(number: u64) -> Option<Asker> {
        Some(Asker::Call(number))
    }

    #[tokio::test]
    async fn an_answer_reaches_the_call_of_its_id_and_no_other() {
        let link = Arc::new(Link::default());
        let (mut one, mut two) = (link.sit(1, None).unwrap(), link.sit(2, None).unwrap());
        link.deliver(message(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#));
        link.deliver(message(r#"{"jsonrpc":"2.0","id":"2","result":{}}"#));
        link.deliver(message(r#"{"jsonrpc":"2.0","id":2,"result":{"n":2}}"#));
        assert_eq!(two.next().await.unwrap().result().unwrap().raw(), r#"{"n":2}"#);
        link.close(Cause::Closed);
        assert!(one.next().await.is_err(), "it was never answered");
        assert!(link.sit(4, None).is_err());
    }

    #[test]
    fn a_question_reaches_somebody_only_if_there_is_one_who_can_have_caused_it() {
        let question = || message(r#"{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{}}"#);
        let link = Arc::new(Link::default());
        assert!(matches!(link.deliver(question()), Delivery::Answer(_)));
        let mut mine = link.sit(1, asker(1)).unwrap();
        assert!(matches!(link.deliver(question()), Delivery::Done));
        assert!(has_event(&mut mine));
        let _also_mine = link.sit(2, asker(1)).unwrap();
        assert!(matches!(link.deliver(question()), Delivery::Done));
        let _yours = link.sit(3, asker(2)).unwrap();
        assert!(matches!(link.deliver(question()), Delivery::Answer(_)));
    }

    #[test]
    fn a_log_message_belongs_to_the_only_call_beside_a_subscription() {
        let note =
            || message(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}"#);
        let link = Arc::new(Link::default());
        let mut subscription = link.sit(1, None).unwrap();
        let mut mine = link.sit(2, asker(1)).unwrap();
        link.deliver(note());
        assert!(has_event(&mut mine) && !has_event(&mut subscription));
        let mut yours = link.sit(3, asker(2)).unwrap();
        link.deliver(note());
        assert!(!has_event(&mut mine) && !has_event(&mut yours), "nobody knows whose");
    }

    #[test]
    fn there_are_never_more_than_upstream_in_flight_max_calls() {
        let link = Arc::new(Link::default());
        let seats: Vec<_> =
            (0..UPSTREAM_IN_FLIGHT_MAX as u64).map(|id| link.sit(id, None).unwrap()).collect();
        let refused = link.sit(u64::MAX, None).err().unwrap();
        assert_eq!((*refused.cause, refused.sent), (Cause::Busy, false));
        drop(seats);
        assert!(link.sit(1, None).is_ok());
    }
}
