//! `subscriptions/listen`, and the stream of unsolicited messages of a legacy session.
//!
//! Guarantees: the first message acknowledges the filters that are honoured; every message carries the subscription's
//! id; only what the client asked for is sent; when the server stops, the subscription ends with its result.

use std::sync::Arc;

use toolcrib_contract::json::{Node, ObjectWriter};
use toolcrib_protocol::{Code, Request, RpcError, meta, write};

use crate::caller::Caller;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::hub::{Subscriber, TooManySubscriptions, Wanted};
use crate::limits::SUBSCRIPTIONS_MAX;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::session::Session;
use crate::stage::caller;
use crate::template::Work;

impl Engine {
    pub(super) async fn listen(&self, caller: &Caller<'_>, request: &Request<'_>) -> Result<Reply, Refusal> {
        if !caller.exchange.streams() {
            return Err(Refusal::NeedsStream);
        }
        let subscriber = self.subscribe(caller, request).await?;
        let tag = tag(request.id);
        let acknowledged = acknowledgement(&tag, &subscriber.wanted());
        let _listening = subscriber.wanted().tools.then(|| self.listeners().enter(caller));
        let mut seen = self.listed(caller).fingerprint();
        self.hub().join(&subscriber);
        caller.exchange.send(acknowledged).map_err(|_| Refusal::Cancelled)?;
        let changed = || {
            let now = self.listed(caller).fingerprint();
            std::mem::replace(&mut seen, now) != now || self.is_plain_for(caller)
        };
        tell(&subscriber, &caller.exchange, Some(&tag), changed).await?;
        let mut result = ObjectWriter::new();
        let both = format!("{},{}", tag.trim_end_matches('}'), self.meta().trim_start_matches('{'));
        result.string("resultType", "complete").raw("_meta", &both);
        Ok(Reply::result(request.id, result.finish().as_bytes()))
    }

    /// Sends a legacy session's unsolicited messages until the session ends or the client is gone.
    pub async fn tell_news(&self, session: &Arc<Session>, exchange: &Exchange) {
        session.hears();
        let caller = caller::legacy(session, Exchange::silent());
        let changed = || {
            let changed = session.sees(self.listed(&caller).fingerprint()) || self.is_plain_for(&caller);
            if changed {
                session.tell_changed();
            }
            changed
        };
        let _ = tell(session.news(), exchange, None, changed).await;
    }

    /// Returns true if the caller sees every tool: it is told of every change, also of one that leaves its list
    /// unchanged.
    fn is_plain_for(&self, caller: &Caller<'_>) -> bool {
        self.registry().load().catalogue.options().is_plain_for(&caller.approach().selection)
    }

    /// Creates a subscriber for the requested notifications that can be delivered.
    async fn subscribe(
        &self,
        caller: &Caller<'_>,
        request: &Request<'_>,
    ) -> Result<Arc<Subscriber>, Refusal> {
        let invalid = |message: &'static str| Refusal::from(RpcError::new(Code::InvalidParams, message));
        let filter = request
            .params
            .get("notifications")
            .filter(|node| node.is_object())
            .ok_or_else(|| invalid("params.notifications must be an object"))?;
        let flag = |name: &str| match filter.get(name) {
            None => Ok(false),
            Some(node) => {
                node.as_bool().ok_or_else(|| invalid("params.notifications: a filter must be a boolean"))
            }
        };
        let subscriber = Subscriber::new(Wanted {
            tools: flag("toolsListChanged")?,
            prompts: flag("promptsListChanged")? && self.offers_prompts(),
            resources: flag("resourcesListChanged")? && self.offers_resources(),
            ..Wanted::default()
        });
        if let Some(uris) = filter.get("resourceSubscriptions") {
            if !uris.is_array() {
                return Err(invalid("params.notifications.resourceSubscriptions must be an array"));
            }
            if uris.len() > SUBSCRIPTIONS_MAX {
                return Err(TooManySubscriptions::Session.into());
            }
            let (mut work, owner) = (Work::default(), caller.owner());
            for uri in uris.elements().map(Node::as_str) {
                let uri = uri.ok_or_else(|| {
                    invalid("params.notifications.resourceSubscriptions: a URI is a string")
                })?;
                if self.offers_resources() {
                    let found = self.find_reader(&uri, &mut work).await?;
                    self.hub().follow(&subscriber, &owner, &uri)?;
                    if let Some((reader, _)) = found {
                        reader.follow(&uri);
                    }
                }
            }
        }
        Ok(subscriber)
    }
}

/// Sends changes as they come; `changed` returns true if this client's list of tools differs from the last one
/// (R3.5).
async fn tell(
    subscriber: &Subscriber,
    exchange: &Exchange,
    tag: Option<&str>,
    mut changed: impl FnMut() -> bool,
) -> Result<(), Refusal> {
    loop {
        let batch = tokio::select! {
            biased;
            () = exchange.cancelled() => return Err(Refusal::Cancelled),
            batch = subscriber.next() => batch,
        };
        let Some(mut batch) = batch else { return Ok(()) };
        batch.tools = batch.tools && changed();
        for message in batch.messages(tag) {
            exchange.send(message).map_err(|_| Refusal::Cancelled)?;
        }
    }
}

/// Returns a `_meta` object with the subscription's id, of the same JSON type as the request's id.
fn tag(id_raw: &str) -> String {
    let mut object = ObjectWriter::new();
    object.raw(meta::SUBSCRIPTION_ID, id_raw);
    object.finish()
}

/// Returns the first message of a subscription, which lists the filters that are honoured.
fn acknowledgement(tag: &str, wanted: &Wanted) -> Vec<u8> {
    let mut params = ObjectWriter::new();
    params.raw("_meta", tag).raw("notifications", &filter_json(wanted));
    write::notification("notifications/subscriptions/acknowledged", Some(&params.finish()))
}

fn filter_json(wanted: &Wanted) -> String {
    let mut object = ObjectWriter::new();
    for (name, set) in [
        ("toolsListChanged", wanted.tools),
        ("promptsListChanged", wanted.prompts),
        ("resourcesListChanged", wanted.resources),
    ] {
        if set {
            object.raw(name, "true");
        }
    }
    if !wanted.uris.is_empty() {
        let uris: Vec<String> = wanted.uris.iter().map(|uri| write::quoted(uri)).collect();
        object.raw("resourceSubscriptions", &format!("[{}]", uris.join(",")));
    }
    object.finish()
}
