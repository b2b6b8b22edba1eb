//! What one caller can reach and sees listed: the one place where every choice is put together (R3.2, R3.4).
//!
//! ```text
//! reach  = always loaded ∪ (operator's limit ∩ credential's limit ∩ the request's choice)
//! loaded = always loaded ∪ (reach ∩ (the request's choice, else what the caller enabled, else the start's selection))
//! ```
//! Guarantees: a request only narrows; for a modern caller nothing here comes from a connection or, unless the
//! operator lets calls change profiles, from an earlier call.

use std::sync::Arc;

use super::bits::Bits;
use super::callers::Vendor;
use super::catalogue::Catalogue;
use super::profile::Enabled;
use super::selection::{Names, Selection, UnknownToolset};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::entry::Entry;
use crate::peer::Peer;
use crate::principal::Principal;
use crate::safety::policy::Demand;
use crate::view::View;

/// Everything a view depends on, within one catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Standing {
    pub reach: Bits,
    pub loaded: Bits,
    pub read_only: bool,
    pub vendor: Option<Vendor>,
    /// Gated tools are shown with the argument that takes a token (R4.2).
    pub tokens: Option<Demand>,
}

impl Engine {
    /// Puts together what the operator allows and what the caller chose.
    #[must_use]
    pub fn standing(&self, caller: &Caller<'_>, catalogue: &Catalogue) -> Standing {
        let options = &self.options().toolsets;
        let selection = &caller.approach.selection;
        let bits = |names: &Names| match names {
            Names::All => Bits::all(catalogue.kits().len()),
            Names::These(names) => catalogue.bits(names.iter().map(|name| &**name)),
        };
        let always = catalogue.always();
        let mut reach = options.allowed.as_ref().map_or_else(|| bits(&Names::All), bits);
        if let Principal::Subject(subject) = &caller.principal
            && let Some((_, names)) = options.principals.iter().find(|(glob, _)| glob.matches(subject))
        {
            reach = reach.and(&bits(names));
        }
        if let Some(chosen) = &selection.toolsets {
            reach = reach.and(&bits(chosen));
        }
        let reach = reach.or(always);
        let loaded = match (&selection.toolsets, self.enabled_by(caller)) {
            (Some(_), _) => reach.clone(),
            (None, Some(enabled)) => catalogue.bits(enabled.iter().map(|name| &**name)).and(&reach),
            (None, None) => {
                self.start_of(caller).map_or_else(|| reach.clone(), |names| bits(names).and(&reach))
            }
        };
        Standing {
            loaded: loaded.or(always),
            reach,
            read_only: options.read_only || selection.read_only,
            vendor: self.vendor(caller),
            tokens: None,
        }
    }

    /// The tools this caller sees.
    #[must_use]
    pub fn view_of(&self, caller: &Caller<'_>) -> Arc<View> {
        let snapshot = self.registry().load();
        if !self.options().toolsets.is_on() {
            return snapshot.tools.clone();
        }
        let catalogue = &snapshot.catalogue;
        catalogue.view(&self.standing(caller, catalogue), &self.options().toolsets.callers)
    }

    /// The tools this caller sees, in the form they are listed in.
    #[must_use]
    pub fn listed(&self, caller: &Caller<'_>) -> Arc<View> {
        let Some(tokens) = self.safety().and_then(|safety| safety.tokens_from(caller)) else {
            return self.view_of(caller);
        };
        let snapshot = self.registry().load();
        let catalogue = &snapshot.catalogue;
        let standing = Standing { tokens: Some(tokens), ..self.standing(caller, catalogue) };
        catalogue.view(&standing, &self.options().toolsets.callers)
    }

    /// A tool that the caller can reach, listed or not.
    #[must_use]
    pub fn reachable(&self, caller: &Caller<'_>, name: &str) -> Option<Arc<Entry>> {
        let snapshot = self.registry().load();
        let catalogue = &snapshot.catalogue;
        let standing = self.standing(caller, catalogue);
        let at = catalogue.place(name)?;
        let admitted = catalogue.admits(at, &standing.reach, standing.read_only);
        catalogue.entry(at).filter(|_| admitted).cloned()
    }

    /// What the caller enabled itself: in its session, or in its profile.
    pub(crate) fn enabled_by(&self, caller: &Caller<'_>) -> Option<Arc<Enabled>> {
        match &caller.peer {
            Peer::Legacy(session) => session.enabled(),
            Peer::Modern(_) if caller.principal == Principal::Anonymous => None,
            Peer::Modern(_) => self.options().toolsets.profiles.get(&caller.principal),
        }
    }

    /// What is loaded for a caller that chose nothing; absent: everything.
    pub(crate) fn start_of(&self, caller: &Caller<'_>) -> Option<&Names> {
        let options = &self.options().toolsets;
        let by_client = caller.peer.client_info().and_then(|info| {
            options.clients.iter().find(|(glob, _)| glob.matches(&info.name)).map(|(_, names)| names)
        });
        by_client.or(options.start.as_ref())
    }

    /// Whether every toolset that the configuration selects exists. To be asked when all tools are there.
    pub fn check_toolsets(&self) -> Result<(), UnknownToolset> {
        let snapshot = self.registry().load();
        let unknown = self.options().toolsets.named().find(|name| snapshot.catalogue.find(name).is_none());
        match unknown {
            None => Ok(()),
            Some(name) => Err(UnknownToolset { name: name.into(), known: self.known_toolsets() }),
        }
    }

    /// Whether everything a request names exists and is allowed.
    pub fn check_selection(&self, selection: &Selection) -> Result<(), UnknownToolset> {
        let known = self.known_toolsets();
        let unknown =
            selection.toolsets.iter().flat_map(Names::iter).find(|name| !known.iter().any(|k| **k == **name));
        match unknown {
            None => Ok(()),
            Some(name) => Err(UnknownToolset { name: name.into(), known }),
        }
    }

    /// The names of the toolsets that the operator allows.
    fn known_toolsets(&self) -> Vec<Box<str>> {
        let snapshot = self.registry().load();
        let allowed = |name: &str| match &self.options().toolsets.allowed {
            Some(Names::These(names)) => names.contains(name),
            Some(Names::All) | None => true,
        };
        let kits = snapshot.catalogue.kits().iter();
        kits.filter(|kit| kit.always_loaded || allowed(&kit.name)).map(|kit| (&*kit.name).into()).collect()
    }
}
