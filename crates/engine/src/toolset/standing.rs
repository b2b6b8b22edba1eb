//! [`Standing`]: the toolsets that one caller reaches and has loaded. The only place where all choices are combined
//! (R3.2, selection at start; R3.4, a limit is never widened by a request).
//!
//! ```text
//! reach  = always loaded ∪ (operator's limit ∩ credential's limit ∩ the request's choice)
//! loaded = always loaded ∪ (reach ∩ (what the caller enabled, else the request's choice, else the start's
//! selection))
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

/// Everything that a view depends on, within one catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Standing {
    pub reach: Bits,
    pub loaded: Bits,
    pub read_only: bool,
    pub vendor: Option<Vendor>,
    /// Least demand from which tools are listed with the confirmation token property (R4.2); `None` for no tools.
    pub tokens: Option<Demand>,
}

impl Catalogue {
    /// Returns the toolsets that these names select.
    fn chosen(&self, names: &Names) -> Bits {
        match names {
            Names::All => Bits::all(self.kits().len()),
            Names::These(names) => self.bits(names.iter().map(|name| &**name)),
        }
    }
}

impl Engine {
    /// Combines the operator's limits with the caller's choices.
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

    /// Returns the tools that this caller sees.
    #[must_use]
    pub fn view_of(&self, caller: &Caller<'_>) -> Arc<View> {
        let snapshot = self.registry().load();
        let catalogue = &snapshot.catalogue;
        if catalogue.options().is_plain_for(&caller.approach().selection) {
            return snapshot.tools.clone();
        }
        catalogue.view(&self.standing(caller, catalogue))
    }

    /// Returns the tool of this name among those that the caller sees.
    #[must_use]
    pub fn seen(&self, caller: &Caller<'_>, name: &str) -> Option<Arc<Entry>> {
        let snapshot = self.registry().load();
        let catalogue = &snapshot.catalogue;
        if catalogue.options().is_plain_for(&caller.approach().selection) {
            return snapshot.tools.get(name).cloned();
        }
        catalogue.view(&self.standing(caller, catalogue)).get(name).cloned()
    }

    /// Returns the tools that this caller sees, in the form in which they are listed.
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

    /// Returns a tool that the caller can reach, listed or not.
    #[must_use]
    pub fn reachable(&self, caller: &Caller<'_>, name: &str) -> Option<Arc<Entry>> {
        let snapshot = self.registry().load();
        let catalogue = &snapshot.catalogue;
        let standing = self.standing(caller, catalogue);
        let at = catalogue.place(name)?;
        let admitted = catalogue.admits(at, &standing.reach, standing.read_only);
        catalogue.entry(at).filter(|_| admitted).cloned()
    }

    /// Refuses a configuration that selects an unknown toolset. Called once all tools are registered.
    pub fn check_toolsets(&self) -> Result<(), UnknownToolset> {
        let snapshot = self.registry().load();
        let catalogue = &snapshot.catalogue;
        let unknown = catalogue.options().named().find(|name| catalogue.find(name).is_none());
        unknown.map_or(Ok(()), |name| Err(unknown_toolset(name, catalogue, |_| true)))
    }

    /// Refuses a request that selects a toolset which does not exist or is not allowed to its sender.
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

/// Source that decides which of the reachable toolsets are loaded.
#[derive(Debug)]
pub(super) enum Choice<'a> {
    /// Toolsets that the caller enabled, in its session or profile.
    Enabled(Arc<Enabled>),
    /// URL or headers of the request.
    Request,
    /// Operator's selection at the start.
    Start(&'a Names),
    /// No selection: all reachable toolsets are loaded.
    Nobody,
}

/// Returns the source of the choice. A legacy client enables toolsets on top of its URL's selection; for a modern
/// client the URL's selection takes precedence over its profile.
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
