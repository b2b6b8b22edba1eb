//! [`Receipt`]: writes the record of a call's end when it is dropped, however the call ended.
//!
//! Guarantees: every call that passed the gate leaves exactly one record of its end; a call whose future is dropped
//! (the client left, the process is stopping) ends as *unknown*.

use std::sync::Arc;
use std::time::Instant;

use super::Safety;
use super::audit::{Event, Kind};
use super::trail::Trace;
use crate::caller::Caller;
use crate::ending::Ending;
use crate::entry::Entry;

/// Record of a call's end, written on drop.
#[derive(Debug)]
pub(crate) struct Receipt<'a> {
    /// Boxed, so that the state of calls without a record is not enlarged.
    owed: Option<Box<Owed<'a>>>,
    ending: Ending,
}

#[derive(Debug)]
struct Owed<'a> {
    safety: &'a Safety,
    caller: &'a Caller<'a>,
    entry: Arc<Entry>,
    arguments: Box<str>,
    started: Instant,
    intent: Option<(String, Box<Event>)>,
}

impl<'a> Receipt<'a> {
    /// Creates a receipt that writes nothing.
    pub(crate) fn none() -> Self {
        Self { owed: None, ending: Ending::Unknown }
    }

    /// Creates a receipt for a call without an intent: one record at its end.
    pub(crate) fn call(
        safety: &'a Safety,
        caller: &'a Caller<'a>,
        entry: &Arc<Entry>,
        arguments: &str,
    ) -> Self {
        let owed = Owed {
            safety,
            caller,
            entry: entry.clone(),
            arguments: arguments.into(),
            started: Instant::now(),
            intent: None,
        };
        Self { owed: Some(Box::new(owed)), ending: Ending::Unknown }
    }

    /// Creates a receipt for a call with a durable intent.
    pub(crate) fn intent(
        safety: &'a Safety,
        caller: &'a Caller<'a>,
        entry: &Arc<Entry>,
        id: String,
        event: Event,
    ) -> Self {
        let owed = Owed {
            safety,
            caller,
            entry: entry.clone(),
            arguments: Box::default(),
            started: Instant::now(),
            intent: Some((id, Box::new(event))),
        };
        Self { owed: Some(Box::new(owed)), ending: Ending::Unknown }
    }

    /// Sets the ending that is written when the receipt is dropped.
    pub(crate) fn settle(&mut self, ending: Ending) {
        self.ending = ending;
    }

    /// Cancels the receipt, because its intent was not written.
    pub(crate) fn void(&mut self) {
        self.owed = None;
    }

    /// Sets the name of the ticket that confirmed the call.
    pub(crate) fn confirm_by(&mut self, ticket: Option<String>) {
        if let Some((_, event)) = self.owed.as_mut().and_then(|owed| owed.intent.as_mut()) {
            event.ticket = ticket;
        }
    }

    /// Returns true if the call was confirmed, so that a further round need not ask again.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.owed
            .as_ref()
            .is_some_and(|owed| owed.intent.as_ref().is_some_and(|(_, event)| event.ticket.is_some()))
    }
}

impl Drop for Receipt<'_> {
    fn drop(&mut self) {
        let Some(owed) = self.owed.take() else { return };
        let owed = *owed;
        let latency_us = u64::try_from(owed.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let outcome = self.ending.word();
        match owed.intent {
            None => owed.safety.trail().push(Trace::Call {
                at_ms: owed.safety.now_ms(),
                principal: owed.caller.principal.clone(),
                session: owed
                    .caller
                    .peer
                    .session()
                    .and_then(|session| session.id())
                    .map(|id| id.as_str().into()),
                entry: owed.entry,
                arguments: owed.arguments,
                outcome,
                latency_us,
            }),
            Some((id, event)) => {
                let event = Event {
                    at_ms: owed.safety.now_ms(),
                    kind: Kind::Outcome,
                    outcome: Some(outcome),
                    latency_us: Some(latency_us),
                    ..*event
                };
                owed.safety.store().finish(id, self.ending, event);
            }
        }
    }
}
