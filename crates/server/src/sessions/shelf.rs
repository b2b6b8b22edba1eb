//! Table of open sessions by id and by owner, with eviction.
//!
//! Guarantees: the bounds are never exceeded. A session that is held, or was used lately, is never evicted; one that
//! was opened and never used goes first, then the least recently used. The order is updated lazily: a use only writes
//! its time into the session, and the order is corrected at eviction, so each use costs at most one correction.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use toolcrib_engine::quota::Full;
use toolcrib_engine::{SessionId, Share};

use super::HttpSession;
use crate::load::LoadLimits;
use crate::shed::Shed;

/// Number of owners with the most sessions that are tried for eviction when the total is reached.
const OWNERS_ASKED_MAX: usize = 16;

/// Open sessions.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    by_id: HashMap<SessionId, Kept>,
    owners: HashMap<u64, Owner>,
    numbers: HashMap<Share, u64>,
    /// Owners ordered by their number of sessions.
    by_count: BTreeSet<(usize, u64)>,
    /// Last number that was given to an owner or to a place in the order.
    last: u64,
}

#[derive(Debug)]
struct Kept {
    session: Arc<HttpSession>,
    owner: u64,
    place: Place,
}

#[derive(Debug)]
struct Owner {
    share: Share,
    /// Sessions of the owner in the order of eviction.
    order: BTreeMap<Place, SessionId>,
}

/// Position of a session in its owner's order, as of the time it was placed there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    was_used: bool,
    /// Time of its last use, or of its opening, in milliseconds.
    at_ms: u64,
    number: u64,
}

impl Shelf {
    pub(super) fn find(&self, id: &str) -> Option<&Arc<HttpSession>> {
        self.by_id.get(id).map(|kept| &kept.session)
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Adds a session. Returns the session that was evicted for it, if any; the caller has to end it.
    pub(super) fn open(
        &mut self,
        id: SessionId,
        session: Arc<HttpSession>,
        owner: &Share,
        limits: &LoadLimits,
        now_ms: u64,
    ) -> Result<Option<Arc<HttpSession>>, Shed> {
        let own = self.numbers.get(owner).copied();
        let count = own.and_then(|own| self.owners.get(&own)).map_or(0, |owner| owner.order.len());
        let idle_min = limits.session_idle_ms_min;
        let mut ended = None;
        if count >= limits.sessions.share.max {
            let room = own.ok_or(0).and_then(|own| self.make_room(own, idle_min, now_ms));
            let wait = |ms: u64| Shed::from(Full::Share(limits.sessions.share)).after_s(ms.div_ceil(1_000));
            ended = Some(room.map_err(wait)?);
        } else if self.len() >= limits.sessions.total.max {
            let most: Vec<u64> =
                self.by_count.iter().rev().take(OWNERS_ASKED_MAX).map(|(_, owner)| *owner).collect();
            let mut wait_ms = idle_min;
            for owner in most.into_iter().chain(own) {
                match self.make_room(owner, idle_min, now_ms) {
                    Ok(session) => {
                        ended = Some(session);
                        break;
                    }
                    Err(ms) => wait_ms = wait_ms.min(ms),
                }
            }
            if ended.is_none() {
                let full = Shed::from(Full::Total(limits.sessions.total));
                return Err(full.after_s(wait_ms.div_ceil(1_000)));
            }
        }
        self.insert(id, session, owner, now_ms);
        Ok(ended)
    }

    fn insert(&mut self, id: SessionId, session: Arc<HttpSession>, owner: &Share, now_ms: u64) {
        self.last += 1;
        let place = Place { was_used: false, at_ms: now_ms, number: self.last };
        let number = *self.numbers.entry(owner.clone()).or_insert(self.last);
        let owner = self
            .owners
            .entry(number)
            .or_insert_with(|| Owner { share: owner.clone(), order: BTreeMap::new() });
        self.by_count.remove(&(owner.order.len(), number));
        owner.order.insert(place, id.clone());
        self.by_count.insert((owner.order.len(), number));
        self.by_id.insert(id, Kept { session, owner: number, place });
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Arc<HttpSession>> {
        let kept = self.by_id.remove(id)?;
        if let Some(owner) = self.owners.get_mut(&kept.owner) {
            self.by_count.remove(&(owner.order.len(), kept.owner));
            owner.order.remove(&kept.place);
            if owner.order.is_empty() {
                self.numbers.remove(&owner.share);
                self.owners.remove(&kept.owner);
            } else {
                self.by_count.insert((owner.order.len(), kept.owner));
            }
        }
        Some(kept.session)
    }

    /// Removes one session of an owner, or returns after how many milliseconds one may be evicted.
    fn make_room(&mut self, owner: u64, idle_ms_min: u64, now_ms: u64) -> Result<Arc<HttpSession>, u64> {
        // Terminates: each iteration removes a session or moves one to its current position.
        loop {
            let Some(kept) = self.owners.get_mut(&owner) else { return Err(idle_ms_min) };
            let Some((place, id)) = kept.order.first_key_value() else { return Err(idle_ms_min) };
            let (place, id) = (*place, id.clone());
            let idle_ms = now_ms.saturating_sub(place.at_ms);
            if place.was_used && idle_ms < idle_ms_min {
                return Err(idle_ms_min - idle_ms);
            }
            let Some(found) = self.by_id.get_mut(&id) else {
                kept.order.remove(&place);
                continue;
            };
            // Open streams and requests in flight hold the session, which counts as a use.
            let used_ms =
                if Arc::strong_count(&found.session) > 1 { Some(now_ms) } else { found.session.used_ms() };
            match used_ms {
                Some(at_ms) if !place.was_used || at_ms > place.at_ms => {
                    kept.order.remove(&place);
                    found.place = Place { was_used: true, at_ms, number: place.number };
                    kept.order.insert(found.place, id);
                }
                _ => return self.remove(id.as_str()).ok_or(idle_ms_min),
            }
        }
    }

    /// Removes and returns the sessions for which `keep` returns `false`.
    pub(super) fn retain(&mut self, keep: impl Fn(&Arc<HttpSession>) -> bool) -> Vec<Arc<HttpSession>> {
        let ended: Vec<SessionId> =
            self.by_id.iter().filter(|(_, kept)| !keep(&kept.session)).map(|(id, _)| id.clone()).collect();
        ended.iter().filter_map(|id| self.remove(id.as_str())).collect()
    }
}
