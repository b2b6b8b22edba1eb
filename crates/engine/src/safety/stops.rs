//! [`Stops`]: the emergency stops in memory, read by every call (R4.7).
//!
//! Guarantees: a call that no stop applies to pays one atomic load; a stop is in force in its own process before it
//! is durable, and stays so until it is; changes by other processes are seen within the housekeeper's interval; a
//! restart finds the stops that were in force. At most `STOPS_MAX` stops with an end are kept. A scope that is
//! stopped again has the newest reason. Each process logs when a stop begins, changes and ends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use serde_json::{Value, json};

use super::keep::{Scope, Stop};
use crate::limits::STOPS_MAX;
use crate::principal::Principal;
use crate::share::Share;

type All = HashMap<Scope, Arc<Stop>>;

/// Emergency stops in force.
#[derive(Debug, Default)]
pub struct Stops {
    any: AtomicBool,
    all: ArcSwap<All>,
    /// Stops in force that may not be durable yet; its lock also serialises changes.
    fresh: Mutex<All>,
    /// Stops in force that the store could not write; they are retried.
    unkept: Mutex<All>,
}

impl Stops {
    /// Replaces the stops by those of the store. Returns the scopes that are not stopped any more.
    pub(crate) fn set(&self, stops: Vec<Stop>) -> Vec<Scope> {
        let fresh = self.lock();
        let mut all: All = stops.into_iter().map(|stop| (stop.scope.clone(), Arc::new(stop))).collect();
        for stop in fresh.values() {
            insert(&mut all, stop);
        }
        let before = self.all.load();
        let ended: Vec<&Arc<Stop>> = before.values().filter(|stop| !all.contains_key(&stop.scope)).collect();
        for stop in &ended {
            log(stop, "an emergency stop has ended");
        }
        for stop in all.values() {
            log_begin(before.get(&stop.scope), stop);
        }
        let lifted = ended.iter().map(|stop| stop.scope.clone()).collect();
        let any = !all.is_empty();
        self.all.store(Arc::new(all));
        self.any.store(any, Ordering::Release);
        lifted
    }

    /// Puts a stop in force at once, before it is durable.
    pub(crate) fn add(&self, stop: &Stop) {
        let mut fresh = self.lock();
        let mut all = All::clone(&self.all.load());
        insert(&mut fresh, stop);
        insert(&mut all, stop);
        if let Some(stop) = all.get(&stop.scope) {
            log_begin(self.all.load().get(&stop.scope), stop);
        }
        self.all.store(Arc::new(all));
        self.any.store(true, Ordering::Release);
    }

    /// Marks a stop as durable.
    pub(crate) fn is_durable(&self, scope: &Scope) {
        self.lock().remove(scope);
        self.unkept.lock().unwrap_or_else(PoisonError::into_inner).remove(scope);
    }

    /// Remembers a stop that the store could not write. It stays in force in this process.
    pub(crate) fn is_unkept(&self, stop: &Stop) {
        let mut unkept = self.unkept.lock().unwrap_or_else(PoisonError::into_inner);
        insert(&mut unkept, stop);
    }

    /// Takes the stops that the store could not write, to retry them.
    pub(crate) fn take_unkept(&self) -> Vec<Arc<Stop>> {
        let mut unkept = self.unkept.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *unkept).into_values().collect()
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the stops in force as JSON for tools and the REST interface. If `sees` is false for a stop, only its
    /// kind is told: a caller's address, session and tools are hidden from other callers.
    #[must_use]
    pub fn shown(&self, now_ms: u64, sees: impl Fn(&Scope) -> bool) -> Value {
        let all = self.all();
        let stops: Vec<Value> = all
            .iter()
            .filter(|stop| !stop.is_over(now_ms))
            .map(|stop| {
                let (scope, seen) = (&stop.scope, sees(&stop.scope));
                let caller = match scope {
                    Scope::Everybody => Value::Null,
                    Scope::Caller(caller) if seen => caller.as_str().into(),
                    Scope::Caller(_) => scope.discreet().into(),
                };
                let who = if seen { scope.words() } else { scope.discreet().into() };
                let reason = if seen { &*stop.reason } else { "not shown to other callers" };
                json!({"caller": caller, "who": who, "by": stop.by, "reason": reason, "since_ms": stop.since_ms,
                    "expires_ms": stop.expires_ms})
            })
            .collect();
        json!({"stopped": !stops.is_empty(), "stops": stops})
    }

    #[must_use]
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Returns true if a stop has ended by itself and is still in memory.
    pub(crate) fn has_ended(&self, now_ms: u64) -> bool {
        self.any() && self.all.load().values().any(|stop| stop.is_over(now_ms))
    }

    /// Returns the stop that applies to this caller, if any.
    #[must_use]
    pub fn of(&self, principal: &Principal, share: &Share, now_ms: u64) -> Option<Arc<Stop>> {
        let all = self.all.load();
        let scopes = [Scope::Everybody, Scope::Caller(principal.key()), Scope::of(share)];
        scopes.iter().find_map(|scope| all.get(scope).filter(|stop| !stop.is_over(now_ms))).cloned()
    }

    #[must_use]
    pub fn all(&self) -> Vec<Arc<Stop>> {
        self.all.load().values().cloned().collect()
    }
}

fn log(stop: &Stop, message: &str) {
    let (scope, by, reason) = (stop.scope.words(), &*stop.by, &*stop.reason);
    tracing::warn!(target: "toolcrib", scope = &*scope, by, reason, "{message}");
}

/// Logs a stop that was not in force before or had another reason.
fn log_begin(before: Option<&Arc<Stop>>, stop: &Stop) {
    match before {
        Some(before) if before.by == stop.by && before.reason == stop.reason => {}
        Some(_) => log(stop, "an emergency stop has a new reason"),
        None => log(stop, "an emergency stop is in force"),
    }
}

/// Puts a stop in force. A scope that is stopped already keeps its beginning and gets the newest reason; a stop with
/// an end never replaces one without.
fn insert(all: &mut All, stop: &Stop) {
    if let Some(old) = all.get(&stop.scope).filter(|old| !old.is_over(stop.since_ms)) {
        if old.expires_ms.is_none() && stop.expires_ms.is_some() {
            return;
        }
        let since_ms = old.since_ms.min(stop.since_ms);
        all.insert(stop.scope.clone(), Arc::new(Stop { since_ms, ..stop.clone() }));
        return;
    }
    let passing = all.values().filter(|stop| stop.expires_ms.is_some());
    if stop.expires_ms.is_some() && passing.count() >= STOPS_MAX {
        let oldest = all.values().filter(|stop| stop.expires_ms.is_some()).min_by_key(|stop| stop.since_ms);
        if let Some(scope) = oldest.map(|stop| stop.scope.clone()) {
            all.remove(&scope);
        }
    }
    all.insert(stop.scope.clone(), Arc::new(stop.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(scope: Scope) -> Stop {
        Stop { scope, by: "b".into(), reason: "r".into(), since_ms: 0, expires_ms: None }
    }

    fn address(last: u8) -> Share {
        Share::Address(std::net::IpAddr::from([127, 0, 0, last]))
    }

    fn session() -> Share {
        Share::Session(crate::session::SessionId::random().unwrap())
    }

    fn is_stopped(stops: &Stops, share: &Share, now_ms: u64) -> bool {
        stops.of(&Principal::Anonymous, share, now_ms).is_some()
    }

    /// R4.7: a read of the store that began before the stop was written does not lift it.
    #[test]
    fn a_fresh_stop_outlives_an_older_look_at_the_store() {
        let stops = Stops::default();
        stops.add(&stop(Scope::Everybody));
        assert!(stops.set(Vec::new()).is_empty());
        assert!(stops.any() && is_stopped(&stops, &Share::Unknown, 0));
        stops.is_durable(&Scope::Everybody);
        assert_eq!(stops.set(Vec::new()), [Scope::Everybody], "it was lifted");
        assert!(!stops.any());
    }

    /// R12.5: a scope that is stopped again shows the newest reason, set here or read from the store.
    #[test]
    fn a_repeated_stop_has_the_newest_reason() {
        let stops = Stops::default();
        let told =
            |reason: &str, since_ms| Stop { reason: reason.into(), since_ms, ..stop(Scope::Everybody) };
        let shown = |stops: &Stops| {
            let stop = stops.of(&Principal::Local, &Share::Unknown, 9).unwrap();
            (stop.reason.clone(), stop.since_ms)
        };
        stops.add(&told("smoke", 1));
        stops.add(&told("fire", 2));
        assert_eq!(shown(&stops), ("fire".to_owned(), 1));
        stops.set(vec![told("smoke", 1)]);
        assert_eq!(shown(&stops), ("fire".to_owned(), 1), "the store was read before the second was written");
        stops.is_durable(&Scope::Everybody);
        stops.set(vec![told("flood", 1)]);
        assert_eq!(shown(&stops), ("flood".to_owned(), 1));
    }

    /// R4.7: a stop of one session or address does not stop other anonymous callers.
    #[test]
    fn a_callers_stop_is_its_own() {
        let stops = Stops::default();
        let (ann, looping) = (Share::Subject("ann".into()), session());
        stops.set(vec![
            stop(Scope::Caller("subject:ann".into())),
            stop(Scope::of(&looping)),
            stop(Scope::of(&address(2))),
        ]);
        assert!(stops.of(&Principal::subject("ann"), &ann, 0).is_some());
        assert!(stops.of(&Principal::subject("bob"), &Share::Subject("bob".into()), 0).is_none());
        assert!(is_stopped(&stops, &looping, 0) && is_stopped(&stops, &address(2), 0));
        assert!(!is_stopped(&stops, &session(), 0) && !is_stopped(&stops, &address(1), 0));
        stops.add(&stop(Scope::Caller("anonymous".into())));
        assert!(is_stopped(&stops, &session(), 0) && is_stopped(&stops, &address(1), 0));
    }

    /// R4.7: a stop with an end ends by itself, and an operator's stop replaces it.
    #[test]
    fn a_stop_with_an_end_ends_and_an_operators_takes_its_place() {
        let stops = Stops::default();
        let scope = Scope::of(&address(1));
        let passing = Stop { expires_ms: Some(100), ..stop(scope.clone()) };
        stops.add(&passing);
        assert!(is_stopped(&stops, &address(1), 99) && !is_stopped(&stops, &address(1), 100));
        assert!(!stops.has_ended(99) && stops.has_ended(100));
        stops.add(&stop(scope.clone()));
        stops.add(&passing);
        assert!(is_stopped(&stops, &address(1), 100), "the operator's stop stays");
    }

    /// `STOPS_MAX`: callers that loop in ever new sessions neither fill the memory nor lift an operator's stop.
    #[test]
    fn no_more_than_stops_max_stops_with_an_end_are_kept() {
        let stops = Stops::default();
        let kept = Stop { since_ms: 0, ..stop(Scope::Caller("subject:ann".into())) };
        stops.add(&kept);
        let first = session();
        for number in 0..=STOPS_MAX {
            let share = if number == 0 { first.clone() } else { session() };
            let since_ms = number as u64;
            stops.add(&Stop { since_ms, expires_ms: Some(u64::MAX), ..stop(Scope::of(&share)) });
        }
        assert_eq!(stops.all().len(), STOPS_MAX + 1);
        assert!(!is_stopped(&stops, &first, 0), "the first made room");
        assert!(stops.of(&Principal::subject("ann"), &Share::Subject("ann".into()), 0).is_some());
    }

    /// R4.7: other callers learn that somebody is stopped, but not who.
    #[test]
    fn a_stop_is_named_in_words_and_only_by_its_kind_to_others() {
        let stops = Stops::default();
        stops.add(&Stop { expires_ms: Some(9), ..stop(Scope::of(&address(2))) });
        let seen = &stops.shown(0, |_| true)["stops"][0];
        assert_eq!(seen["caller"], "anonymous@127.0.0.2");
        assert_eq!(seen["who"], "anonymous callers without a session from address 127.0.0.2");
        let hidden = stops.shown(0, |_| false);
        assert_eq!(hidden["stopped"], true);
        assert!(!hidden.to_string().contains("127.0.0.2"), "{hidden}");
        assert_eq!(stops.shown(9, |_| true)["stopped"], false, "it is over");
    }
}
