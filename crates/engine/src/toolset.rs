//! Toolsets: named groups of tools that are shown together, declared in code or in the configuration.
//!
//! A tool belongs to the toolset it was registered with and to every one whose patterns it fits; a tool that has
//! neither belongs to its server's own, or to `core`. `core`, `discovery` and those marked so are always loaded.

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

/// The toolset of the tools that find other tools.
pub const DISCOVERY: &str = "discovery";

/// One declared toolset. As configuration: a table under `[toolsets]`, whose key is the name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Toolset {
    #[serde(skip)]
    pub name: Box<str>,
    pub description: Box<str>,
    /// In every view, whatever a caller chooses.
    pub always_loaded: bool,
    /// Its read-only tools may be called from code (R10.1).
    pub programmatic: bool,
    /// Patterns over tool names; any of them is enough.
    pub tools: Vec<Glob>,
    /// Patterns over the names of servers.
    pub servers: Vec<Glob>,
    /// What the tool's effect must be.
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

    /// Takes in tools whose name fits a pattern; `*` is any text, `?` one character.
    #[must_use]
    pub fn tools(mut self, patterns: &[&str]) -> Self {
        self.tools.extend(patterns.iter().map(|pattern| Glob::new(pattern)));
        self
    }

    /// Takes in tools of servers whose name fits a pattern.
    #[must_use]
    pub fn servers(mut self, patterns: &[&str]) -> Self {
        self.servers.extend(patterns.iter().map(|pattern| Glob::new(pattern)));
        self
    }

    /// Takes in only tools that are, or are not, read-only.
    #[must_use]
    pub fn read_only(mut self, wanted: bool) -> Self {
        self.read_only = Some(wanted);
        self
    }

    /// True where a pattern is given and all given kinds of pattern fit.
    #[must_use]
    pub fn takes_in(&self, entry: &Entry) -> bool {
        let effect = entry.contract().effect();
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

/// A name that cannot be a toolset's: it goes into addresses and headers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be a toolset's name: 1 to 64 of A-Z a-z 0-9 _ . - and not \"all\"")]
pub struct BadToolsetName(pub Box<str>);

/// Whether a name can be a toolset's.
pub fn check_name(name: &str) -> Result<(), BadToolsetName> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if name.is_empty() || name.len() > 64 || name == "all" || !name.bytes().all(good) {
        return Err(BadToolsetName(name.into()));
    }
    Ok(())
}

/// Everything a server's author or operator decides about toolsets.
#[derive(Debug, Clone)]
pub struct ToolsetOptions {
    pub declared: Vec<Toolset>,
    /// Toolsets whose tools come later, such as those of servers that are not connected yet: they can be selected.
    pub expected: Vec<Box<str>>,
    /// Whether the discovery tools are there; absent: where anything here is declared or selected.
    pub discovery: Option<bool>,
    /// The operator's limit: no request reaches beyond it. Absent: everything.
    pub allowed: Option<Names>,
    /// The operator's limit per credential, by pattern over its subject.
    pub principals: Vec<(Glob, Names)>,
    /// What is loaded for a caller that chose nothing. Absent: everything.
    pub start: Option<Names>,
    /// The same for clients by name; the first that fits counts.
    pub clients: Vec<(Glob, Names)>,
    /// Nobody sees a tool that is not read-only.
    pub read_only: bool,
    /// `enable_toolset` may change a modern principal's stored profile.
    pub profiles_change: bool,
    pub profiles: Arc<dyn Profiles>,
    /// Settles every client's mode.
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
    /// Whether a caller that chose this gets every tool, like everybody else.
    #[must_use]
    pub fn is_plain_for(&self, selection: &Selection) -> bool {
        *selection == Selection::default() && !self.is_on()
    }

    /// Whether callers that choose nothing may see different tools.
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

    /// What a credential is limited to, besides what everybody is.
    pub(crate) fn limit_of(&self, principal: &Principal) -> Option<&Names> {
        let Principal::Subject(subject) = principal else { return None };
        self.principals.iter().find(|(glob, _)| glob.matches(subject)).map(|(_, names)| names)
    }

    /// Whether the operator lets this principal reach a toolset.
    pub(crate) fn allows(&self, principal: &Principal, toolset: &str) -> bool {
        [self.allowed.as_ref(), self.limit_of(principal)]
            .into_iter()
            .flatten()
            .all(|names| names.has(toolset))
    }

    /// What is loaded for a client that chose nothing; absent: everything.
    pub(crate) fn start_of(&self, client: Option<&str>) -> Option<&Names> {
        let by_client = client.and_then(|client| {
            self.clients.iter().find(|(glob, _)| glob.matches(client)).map(|(_, names)| names)
        });
        by_client.or(self.start.as_ref())
    }

    /// Every name that selects something, and where it stands, for checking against what is known.
    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        let one = self.allowed.iter().chain(&self.start);
        let many = self.principals.iter().chain(&self.clients).map(|(_, names)| names);
        one.chain(many).flat_map(Names::iter)
    }
}

/// Loaded in every view.
pub(crate) fn is_always_loaded(name: &str, declared: Option<&Toolset>) -> bool {
    name == DEFAULT_TOOLSET || name == DISCOVERY || declared.is_some_and(|toolset| toolset.always_loaded)
}
