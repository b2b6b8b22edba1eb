//! The emergency stop as every call sees it: one flag in memory (R4.7).
//!
//! Guarantees: a call that nothing stops pays one load of an atomic; a stop is in force in its own process before it is
//! durable and stays so until it is; what other processes stop or unlock is seen within the housekeeper's interval; a
//! restart finds what was in force.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use serde_json::{Value, json};

use super::keep::{Scope, Stop};

type All = HashMap<Scope, Arc<Stop>>;

#[derive(Debug, Default)]
pub struct Stops {
    any: AtomicBool,
    all: ArcSwap<All>,
    /// In force, but not known to be durable; also keeps two changes from crossing.
    fresh: Mutex<All>,
}

impl Stops {
    /// What the store holds. True if a caller that was stopped is not any more.
    pub(crate) fn set(&self, stops: Vec<Stop>) -> bool {
        let fresh = self.lock();
        let mut all: All = stops.into_iter().map(|stop| (stop.scope.clone(), Arc::new(stop))).collect();
        for (scope, stop) in fresh.iter() {
            all.entry(scope.clone()).or_insert_with(|| stop.clone());
        }
        let lifted = self.all.load().keys().any(|scope| !all.contains_key(scope));
        let any = !all.is_empty();
        self.all.store(Arc::new(all));
        self.any.store(any, Ordering::Release);
        lifted
    }

    /// In force at once: a stop must not wait for a disk.
    pub(crate) fn add(&self, stop: &Stop) {
        let mut fresh = self.lock();
        fresh.insert(stop.scope.clone(), Arc::new(stop.clone()));
        let mut all = All::clone(&self.all.load());
        all.insert(stop.scope.clone(), Arc::new(stop.clone()));
        self.all.store(Arc::new(all));
        self.any.store(true, Ordering::Release);
    }

    /// The store holds it now.
    pub(crate) fn is_durable(&self, scope: &Scope) {
        self.lock().remove(scope);
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is in force, as tools and the REST interface say it.
    #[must_use]
    pub fn shown(&self) -> Value {
        let all = self.all();
        let stops: Vec<Value> = all
            .iter()
            .map(|stop| {
                let caller = match &stop.scope {
                    Scope::Everybody => Value::Null,
                    Scope::Caller(caller) => caller.as_str().into(),
                };
                json!({"caller": caller, "by": stop.by, "reason": stop.reason, "since_ms": stop.since_ms})
            })
            .collect();
        json!({"stopped": !stops.is_empty(), "stops": stops})
    }

    #[must_use]
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// What stops this caller, if anything does.
    #[must_use]
    pub fn of(&self, caller: &str) -> Option<Arc<Stop>> {
        let all = self.all.load();
        all.get(&Scope::Everybody).or_else(|| all.get(&Scope::Caller(caller.to_owned()))).cloned()
    }

    #[must_use]
    pub fn all(&self) -> Vec<Arc<Stop>> {
        self.all.load().values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(scope: Scope) -> Stop {
        Stop { scope, by: "b".into(), reason: "r".into(), since_ms: 0 }
    }

    /// R4.7: a look at the store that began before the stop was written does not lift it.
    #[test]
    fn a_fresh_stop_outlives_an_older_look_at_the_store() {
        let stops = Stops::default();
        stops.add(&stop(Scope::Everybody));
        assert!(!stops.set(Vec::new()));
        assert!(stops.any() && stops.of("anybody").is_some());
        stops.is_durable(&Scope::Everybody);
        assert!(stops.set(Vec::new()), "it was lifted");
        assert!(!stops.any());
    }

    /// R4.7: one caller's stop is not another's.
    #[test]
    fn a_callers_stop_is_its_own() {
        let stops = Stops::default();
        stops.set(vec![stop(Scope::Caller("a".into()))]);
        assert!(stops.any() && stops.of("a").is_some() && stops.of("b").is_none());
    }
}
