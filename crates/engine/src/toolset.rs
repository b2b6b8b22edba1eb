//! Toolsets: named groups of tools that are loaded together, declared in code or in the configuration.
//!
//! A tool belongs to the toolset it was registered with and to every declared toolset that it matches; a tool with
//! neither belongs to the toolset named after its server, or to `core`. `core`, `discovery` and toolsets marked
//! `always_loaded` are in every view.

pub mod bits;
pub mod callers;
pub mod catalogue;
pub mod config;
pub mod explain;
mod forms;
pub mod glob;
mod prepared;
pub mod profile;
pub mod selection;
pub mod standing;

use std::sync::Arc;

use serde::Deserialize;

use crate::entry::{DEFAULT_TOOLSET, Entry};
use crate::mode::{Mode, ModeTable};
use crate::principal::Principal;
use callers::CallerTable;
use glob::Glob;
use profile::{MemoryProfiles, Profiles};
use selection::{Names, Selection};

/// Toolset of the discovery tools and the safety tools.
pub const DISCOVERY: &str = "discovery";

/// Declared toolset. In the configuration: a table under `[toolsets]`, whose key is the name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Toolset {
    #[serde(skip)]
    pub name: Box<str>,
    pub description: Box<str>,
    /// Loaded in every view, whatever a caller chooses.
    pub always_loaded: bool,
    /// Its read-only tools may be called from code (R10.1: `allowed_callers`).
    pub programmatic: bool,
    /// Patterns over tool names; a match of any suffices.
    pub tools: Vec<Glob>,
    /// Patterns over names of upstream servers; a match of any suffices.
    pub servers: Vec<Glob>,
    /// Required values of the hints in the definition's own annotations, with the spec's defaults; `None` accepts
    /// both.
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

impl Toolset {
    #[must_use]
    pub fn new(name: &str, description: &str) -> Self {
        Self { name: name.into(), description: description.into(), ..Self::default() }
    }

    #[must_use]
    pub fn always_loaded(mut self) -> Self {
        self.always_loaded = true;
        self
    }

    #[must_use]
    pub fn programmatic(mut self) -> Self {
        self.programmatic = true;
        self
    }

    /// Adds patterns over tool names; `*` matches any text, `?` one character.
    #[must_use]
    pub fn tools(mut self, patterns: &[&str]) -> Self {
        self.tools.extend(patterns.iter().map(|pattern| Glob::new(pattern)));
        self
    }

    /// Adds patterns over names of upstream servers.
    #[must_use]
    pub fn servers(mut self, patterns: &[&str]) -> Self {
        self.servers.extend(patterns.iter().map(|pattern| Glob::new(pattern)));
        self
    }

    /// Requires tools that are, or are not, read-only.
    #[must_use]
    pub fn read_only(mut self, wanted: bool) -> Self {
        self.read_only = Some(wanted);
        self
    }

    /// Returns true if at least one condition is set and the tool meets all that are set.
    #[must_use]
    pub fn takes_in(&self, entry: &Entry) -> bool {
        let effect = entry.judged().effect;
        let conditions = [
            (self.read_only, effect.read_only),
            (self.destructive, effect.destructive),
            (self.idempotent, effect.idempotent),
            (self.open_world, effect.open_world),
        ];
        let says_something = !self.tools.is_empty()
            || !self.servers.is_empty()
            || conditions.iter().any(|(wanted, _)| wanted.is_some());
        let fits = |patterns: &[Glob], text: Option<&str>| {
            patterns.is_empty() || text.is_some_and(|text| patterns.iter().any(|glob| glob.matches(text)))
        };
        says_something
            && fits(&self.tools, Some(entry.name()))
            && fits(&self.servers, entry.server())
            && conditions.iter().all(|(wanted, is)| wanted.is_none_or(|wanted| wanted == *is))
    }
}

/// Invalid name for a toolset. Names are restricted because they stand in URLs and headers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be a toolset's name: 1 to 64 of A-Z a-z 0-9 _ . - and not \"all\"")]
pub struct BadToolsetName(pub Box<str>);

/// Refuses a name that a toolset cannot have.
pub fn check_name(name: &str) -> Result<(), BadToolsetName> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if name.is_empty() || name.len() > 64 || name == "all" || !name.bytes().all(good) {
        return Err(BadToolsetName(name.into()));
    }
    Ok(())
}

/// Settings of the author or operator about toolsets.
#[derive(Debug, Clone)]
pub struct ToolsetOptions {
    pub declared: Vec<Toolset>,
    /// Toolsets whose tools are registered later, such as those of servers that are not connected yet; they can be
    /// selected now.
    pub expected: Vec<Box<str>>,
    /// Registers the discovery tools; `None` means if anything here is declared or selected.
    pub discovery: Option<bool>,
    /// Operator's limit: no request reaches other toolsets. `None` means no limit.
    pub allowed: Option<Names>,
    /// Operator's limits per credential, by a pattern over its subject; the first match counts.
    pub principals: Vec<(Glob, Names)>,
    /// Toolsets loaded for a caller that chose none. `None` means all.
    pub start: Option<Names>,
    /// Toolsets loaded at the start, by a pattern over the client's name; the first match counts and overrides
    /// `start`.
    pub clients: Vec<(Glob, Names)>,
    /// Hides every tool that is not read-only, from all callers.
    pub read_only: bool,
    /// Lets `enable_toolset` change a modern principal's stored profile.
    pub profiles_change: bool,
    pub profiles: Arc<dyn Profiles>,
    /// Mode of every client; `None` decides per client from evidence.
    pub mode: Option<Mode>,
    pub modes: ModeTable,
    pub callers: CallerTable,
}

impl Default for ToolsetOptions {
    fn default() -> Self {
        Self {
            declared: Vec::new(),
            expected: Vec::new(),
            discovery: None,
            allowed: None,
            principals: Vec::new(),
            start: None,
            clients: Vec::new(),
            read_only: false,
            profiles_change: false,
            profiles: Arc::new(MemoryProfiles::default()),
            mode: None,
            modes: ModeTable::default(),
            callers: CallerTable::default(),
        }
    }
}

impl ToolsetOptions {
    /// Returns true if a caller with this selection sees every tool.
    #[must_use]
    pub fn is_plain_for(&self, selection: &Selection) -> bool {
        *selection == Selection::default() && !self.is_on()
    }

    /// Returns true if callers without a selection may see different tools.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.discovery == Some(true)
            || self.read_only
            || !self.declared.is_empty()
            || !self.principals.is_empty()
            || !self.clients.is_empty()
            || self.allowed.is_some()
            || self.start.is_some()
    }

    #[must_use]
    pub fn has_discovery(&self) -> bool {
        self.discovery.unwrap_or_else(|| self.is_on())
    }

    /// Returns the limit of a credential, in addition to `allowed`.
    pub(crate) fn limit_of(&self, principal: &Principal) -> Option<&Names> {
        let Principal::Subject(subject) = principal else { return None };
        self.principals.iter().find(|(glob, _)| glob.matches(subject)).map(|(_, names)| names)
    }

    /// Returns true if the operator lets this principal reach a toolset.
    pub(crate) fn allows(&self, principal: &Principal, toolset: &str) -> bool {
        [self.allowed.as_ref(), self.limit_of(principal)]
            .into_iter()
            .flatten()
            .all(|names| names.has(toolset))
    }

    /// Returns the toolsets loaded for a client that chose none; `None` means all.
    pub(crate) fn start_of(&self, client: Option<&str>) -> Option<&Names> {
        let by_client = client.and_then(|client| {
            self.clients.iter().find(|(glob, _)| glob.matches(client)).map(|(_, names)| names)
        });
        by_client.or(self.start.as_ref())
    }

    /// Returns every toolset name that these options select, for checking that it exists.
    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        let one = self.allowed.iter().chain(&self.start);
        let many = self.principals.iter().chain(&self.clients).map(|(_, names)| names);
        one.chain(many).flat_map(Names::iter)
    }
}

/// Returns true if the toolset is in every view.
pub(crate) fn is_always_loaded(name: &str, declared: Option<&Toolset>) -> bool {
    name == DEFAULT_TOOLSET || name == DISCOVERY || declared.is_some_and(|toolset| toolset.always_loaded)
}
