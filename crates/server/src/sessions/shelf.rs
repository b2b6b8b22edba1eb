//! Which sessions are open, by id and by owner, and which of them makes room for another.
//!
//! Guarantees: never more than the bounds; a session that somebody holds, or that was used lately, never makes room; one
//! that was opened and never used goes first, then the one used longest ago. Sessions are ordered lazily: a use only
//! writes the time into the session, and the order is corrected when room is looked for, so each use costs one
//! correction at most.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use toolcrib_engine::quota::Full;
use toolcrib_engine::{SessionId, Share};

use super::HttpSession;
use crate::load::LoadLimits;
use crate::shed::Shed;

/// Owners with most sessions that are asked for room when there are too many sessions in all.
const OWNERS_ASKED_MAX: usize = 16;

/// Open sessions.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    by_id: HashMap<SessionId, Kept>,
    owners: HashMap<u64, Owner>,
    numbers: HashMap<Share, u64>,
    /// Owners by how many sessions they have.
    by_count: BTreeSet<(usize, u64)>,
    /// The last number given to an owner or to a place in the order.
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
    /// Its sessions; those first that make room first.
    order: BTreeMap<Place, SessionId>,
}

/// Where a session stands among those of its owner, as far as was known when it was put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    was_used: bool,
    /// When it was used, or opened, in milliseconds.
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

    /// Puts a session on the shelf. The session that made room for it, if one had to, is for the caller to end.
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

    /// Takes one session of an owner off the shelf; otherwise says after how many milliseconds one may go.
    fn make_room(&mut self, owner: u64, idle_ms_min: u64, now_ms: u64) -> Result<Arc<HttpSession>, u64> {
        // Ends: each turn removes a session, or moves one to where it belongs by now.
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
            // Open streams and requests under way hold it: that is a use.
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

    /// Takes off those that are to end.
    pub(super) fn retain(&mut self, keep: impl Fn(&Arc<HttpSession>) -> bool) -> Vec<Arc<HttpSession>> {
        let ended: Vec<SessionId> =
            self.by_id.iter().filter(|(_, kept)| !keep(&kept.session)).map(|(id, _)| id.clone()).collect();
        ended.iter().filter_map(|id| self.remove(id.as_str())).collect()
    }
}
