//! What one caller can reach and sees listed: the one place where every choice is put together (R3.2, R3.4).
//!
//! ```text
//! reach  = always loaded ∪ (operator's limit ∩ credential's limit ∩ the request's choice)
//! loaded = always loaded ∪ (reach ∩ (what the caller enabled, else the request's choice, else the start's selection))
//! ```
//! Guarantees: a request only narrows; for a modern caller nothing here comes from a connection or, unless the
//! operator lets calls change profiles, from an earlier call.

use std::sync::Arc;

use super::ToolsetOptions;
use super::bits::Bits;
use super::callers::Vendor;
use super::catalogue::{Catalogue, Kit};
use super::profile::Enabled;
use super::selection::{Names, Selection, UnknownToolset};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::entry::Entry;
use crate::mode;
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

impl Catalogue {
    /// Places of the toolsets that these names select.
    fn chosen(&self, names: &Names) -> Bits {
        match names {
            Names::All => Bits::all(self.kits().len()),
            Names::These(names) => self.bits(names.iter().map(|name| &**name)),
        }
    }
}

impl Engine {
    /// Puts together what the operator allows and what the caller chose.
    #[must_use]
    pub fn standing(&self, caller: &Caller<'_>, catalogue: &Catalogue) -> Standing {
        let options = catalogue.options();
        let selection = &caller.approach().selection;
        let always = catalogue.always();
        let limits =
            [options.allowed.as_ref(), options.limit_of(&caller.principal), selection.toolsets.as_ref()];
        let reach = limits
            .into_iter()
            .flatten()
            .fold(Bits::all(catalogue.kits().len()), |reach, names| reach.and(&catalogue.chosen(names)))
            .or(always);
        let loaded = match choice(options, caller) {
            Choice::Enabled(enabled) => catalogue.bits(enabled.iter().map(|name| &**name)),
            Choice::Request => reach.clone(),
            Choice::Start(names) => catalogue.chosen(names),
            Choice::Nobody => reach.clone(),
        };
        Standing {
            loaded: loaded.and(&reach).or(always),
            reach,
            read_only: options.read_only || selection.read_only,
            vendor: mode::vendor(options, caller),
            tokens: None,
        }
    }

    /// The tools this caller sees.
    #[must_use]
    pub fn view_of(&self, caller: &Caller<'_>) -> Arc<View> {
        let snapshot = self.registry().load();
        let catalogue = &snapshot.catalogue;
        if catalogue.options().is_plain_for(&caller.approach().selection) {
            return snapshot.tools.clone();
        }
        catalogue.view(&self.standing(caller, catalogue))
    }

    /// The tool of this name among those that the caller sees.
    #[must_use]
    pub fn seen(&self, caller: &Caller<'_>, name: &str) -> Option<Arc<Entry>> {
        let snapshot = self.registry().load();
        let catalogue = &snapshot.catalogue;
        if catalogue.options().is_plain_for(&caller.approach().selection) {
            return snapshot.tools.get(name).cloned();
        }
        catalogue.view(&self.standing(caller, catalogue)).get(name).cloned()
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
        catalogue.view(&standing)
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

    /// Whether every toolset that the configuration selects exists. To be asked when all tools are there.
    pub fn check_toolsets(&self) -> Result<(), UnknownToolset> {
        let snapshot = self.registry().load();
        let catalogue = &snapshot.catalogue;
        let unknown = catalogue.options().named().find(|name| catalogue.find(name).is_none());
        unknown.map_or(Ok(()), |name| Err(unknown_toolset(name, catalogue, |_| true)))
    }

    /// Whether everything a request names exists and is allowed to whoever sent it.
    pub fn check_selection(
        &self,
        principal: &Principal,
        selection: &Selection,
    ) -> Result<(), UnknownToolset> {
        let Some(names) = &selection.toolsets else { return Ok(()) };
        let snapshot = self.registry().load();
        let catalogue = &snapshot.catalogue;
        let allowed = |kit: &Kit| kit.always_loaded || catalogue.options().allows(principal, &kit.name);
        let known =
            |name: &str| catalogue.find(name).and_then(|at| catalogue.kits().get(at)).is_some_and(allowed);
        let unknown = names.iter().find(|name| !known(name));
        unknown.map_or(Ok(()), |name| Err(unknown_toolset(name, catalogue, allowed)))
    }
}

fn unknown_toolset(name: &str, catalogue: &Catalogue, shown: impl Fn(&Kit) -> bool) -> UnknownToolset {
    let known = catalogue.kits().iter().filter(|kit| shown(kit)).map(|kit| (&*kit.name).into()).collect();
    UnknownToolset { name: name.into(), known }
}

/// What decides which of the toolsets within reach are loaded.
#[derive(Debug)]
pub(super) enum Choice<'a> {
    /// What the caller enabled: in its session, or in its profile.
    Enabled(Arc<Enabled>),
    /// The request's address or headers.
    Request,
    /// The operator, at the start.
    Start(&'a Names),
    Nobody,
}

/// A legacy client enables on top of the address it came by; for a modern one the address says it all.
pub(super) fn choice<'a>(options: &'a ToolsetOptions, caller: &Caller<'_>) -> Choice<'a> {
    let by_request = caller.approach().selection.toolsets.is_some();
    let enabled = match &caller.peer {
        Peer::Legacy(session) => session.enabled(),
        Peer::Modern(_) if by_request || caller.principal == Principal::Anonymous => None,
        Peer::Modern(_) => options.profiles.get(&caller.principal),
    };
    let client = caller.peer.client_info().map(|info| &*info.name);
    match (enabled, options.start_of(client)) {
        (Some(enabled), _) => Choice::Enabled(enabled),
        (None, _) if by_request => Choice::Request,
        (None, Some(names)) => Choice::Start(names),
        (None, None) => Choice::Nobody,
    }
}
