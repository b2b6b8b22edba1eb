//! The emergency stop as every call sees it: one flag in memory (R4.7).
//!
//! Guarantees: a call that nothing stops pays one load of an atomic; what other processes stop or unlock is seen
//! within the housekeeper's interval; a restart finds what was in force.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;

use super::keep::{Scope, Stop};

#[derive(Debug, Default)]
pub struct Stops {
    any: AtomicBool,
    all: ArcSwap<HashMap<Scope, Arc<Stop>>>,
}

impl Stops {
    pub(crate) fn set(&self, stops: Vec<Stop>) {
        let all: HashMap<_, _> = stops.into_iter().map(|stop| (stop.scope.clone(), Arc::new(stop))).collect();
        let any = !all.is_empty();
        self.all.store(Arc::new(all));
        self.any.store(any, Ordering::Release);
    }

    /// In force at once, before it is durable: a stop must not wait for a disk.
    pub(crate) fn add(&self, stop: Stop) {
        self.all.rcu(|all| {
            let mut all = HashMap::clone(all);
            all.insert(stop.scope.clone(), Arc::new(stop.clone()));
            all
        });
        self.any.store(true, Ordering::Release);
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
