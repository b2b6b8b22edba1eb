//! Client modes: whether a client re-reads its tool list, and whether it calls tools from code (R3.3).
//!
//! Guarantees: evidence is weighed in one order, and the reason can be read. No list depends on what happened on a
//! connection: only the vendor, which each request shows by itself, shapes a list.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use toolcrib_contract::json::{Document, Limits, Node};

use crate::caller::Caller;
use crate::engine::Engine;
use crate::peer::Peer;
use crate::toolset::ToolsetOptions;
use crate::toolset::callers::Vendor;
use crate::toolset::glob::Glob;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Re-reads its list after `list_changed`.
    Dynamic,
    /// Reads its list once.
    Static,
    /// Dynamic, and calls tools from code that the model wrote.
    Anthropic,
}

impl Mode {
    /// Parses a mode; `auto` gives `Some(None)`, an unknown word `None`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Option<Self>> {
        Some(match text {
            "auto" => None,
            "dynamic" => Some(Self::Dynamic),
            "static" => Some(Self::Static),
            "anthropic" => Some(Self::Anthropic),
            _ => return None,
        })
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dynamic => "dynamic",
            Self::Static => "static",
            Self::Anthropic => "anthropic",
        }
    }

    #[must_use]
    pub const fn relists(self) -> bool {
        !matches!(self, Self::Static)
    }
}

/// Evidence that a mode was decided from, strongest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    Configured,
    Listening,
    Relisted,
    Capability,
    Name { name: Box<str>, pattern: Glob },
    UserAgent { text: Box<str>, pattern: Glob },
    Nothing,
}

/// Mode and its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub mode: Mode,
    pub evidence: Evidence,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configured => f.write_str("the operator configured it (TOOLCRIB_CLIENT_MODE)"),
            Self::Listening => {
                f.write_str("the client has a subscriptions/listen open with toolsListChanged")
            }
            Self::Relisted => f.write_str("the client listed again after a list_changed"),
            Self::Capability => f.write_str("the client declares that it follows list changes"),
            Self::Name { name, pattern } => write!(f, "the client calls itself {name:?} (table: {pattern})"),
            Self::UserAgent { text, pattern } => write!(f, "its user agent is {text:?} (table: {pattern})"),
            Self::Nothing => f.write_str("nothing shows that the client lists again"),
        }
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.mode.name(), self.evidence)
    }
}

/// Known clients, by a pattern over their name or user agent in lower case; the first match counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeTable(Vec<(Glob, Mode)>);

/// Reported behaviour of clients, the newest report where reports differ. claude.ai and ChatGPT list once per
/// connection.
const KNOWN: [(&str, Mode); 17] = [
    ("claude-ai*", Mode::Static),
    ("claude.ai*", Mode::Static),
    ("*claude*", Mode::Anthropic),
    ("*anthropic*", Mode::Anthropic),
    ("visual studio code*", Mode::Dynamic),
    ("*vscode*", Mode::Dynamic),
    ("*copilot*", Mode::Dynamic),
    ("gemini*", Mode::Dynamic),
    ("opencode*", Mode::Dynamic),
    ("codex*", Mode::Static),
    ("chatgpt*", Mode::Static),
    ("openai*", Mode::Static),
    ("roo*", Mode::Static),
    ("cline*", Mode::Static),
    ("cursor*", Mode::Static),
    ("windsurf*", Mode::Static),
    ("zed*", Mode::Static),
];

impl Default for ModeTable {
    fn default() -> Self {
        Self(KNOWN.iter().map(|(pattern, mode)| (Glob::new(pattern), *mode)).collect())
    }
}

impl ModeTable {
    /// Adds a pattern before all others.
    pub fn insert(&mut self, pattern: &str, mode: Mode) {
        self.0.insert(0, (Glob::new(&pattern.to_lowercase()), mode));
    }

    fn find(&self, text: &str) -> Option<&(Glob, Mode)> {
        let lower = text.to_lowercase();
        self.0.iter().find(|(pattern, _)| pattern.matches(&lower))
    }
}

/// Number of open `subscriptions/listen` streams with `toolsListChanged`, by caller.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<HashMap<Box<str>, usize>>);

impl Listeners {
    /// Counts a stream until the returned guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>, caller: &Caller<'_>) -> Listening {
        let key = key(caller);
        *self.lock().entry(key.clone()).or_default() += 1;
        Listening { listeners: self.clone(), key }
    }

    fn has(&self, caller: &Caller<'_>) -> bool {
        let open = self.lock();
        !open.is_empty() && open.contains_key(&key(caller))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the key of a stateless client: its credential, and its self-reported name and version.
fn key(caller: &Caller<'_>) -> Box<str> {
    let info = caller.peer.client_info();
    let (name, version) = info.map_or(("", ""), |info| (&info.name, &info.version));
    format!("{}\n{name}\n{version}", caller.principal.key()).into()
}

/// Guard that counts an open stream.
#[derive(Debug)]
pub(crate) struct Listening {
    listeners: Arc<Listeners>,
    key: Box<str>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut open = self.listeners.lock();
        if let Some(count) = open.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.key);
            }
        }
    }
}

impl Engine {
    /// Returns the client's mode with its evidence, in the order of R3.3.
    #[must_use]
    pub fn client_mode(&self, caller: &Caller<'_>) -> Judged {
        let snapshot = self.registry().load();
        let options = snapshot.catalogue.options();
        if let Some(mode) = options.mode {
            return Judged { mode, evidence: Evidence::Configured };
        }
        // A client that is seen to follow changes may also call tools from code.
        let named = named_mode(options, caller);
        let seen = if self.listeners().has(caller) {
            Some(Evidence::Listening)
        } else if caller.peer.session().is_some_and(|session| session.has_relisted()) {
            Some(Evidence::Relisted)
        } else if declares_changes(&caller.peer) {
            Some(Evidence::Capability)
        } else {
            None
        };
        match (seen, named) {
            (Some(evidence), Some(Judged { mode: Mode::Anthropic, .. })) => {
                Judged { mode: Mode::Anthropic, evidence }
            }
            (Some(evidence), _) => Judged { mode: Mode::Dynamic, evidence },
            (None, Some(judged)) => judged,
            (None, None) => Judged { mode: Mode::Static, evidence: Evidence::Nothing },
        }
    }
}

/// Returns the vendor whose caller names the client's list carries; depends on the request alone.
pub(crate) fn vendor(options: &ToolsetOptions, caller: &Caller<'_>) -> Option<Vendor> {
    let mode = match options.mode {
        Some(mode) => mode,
        None => named_mode(options, caller)?.mode,
    };
    (mode == Mode::Anthropic).then_some(Vendor::Anthropic)
}

fn named_mode(options: &ToolsetOptions, caller: &Caller<'_>) -> Option<Judged> {
    let table = &options.modes;
    if let Some(info) = caller.peer.client_info()
        && let Some((pattern, mode)) = table.find(&info.name)
    {
        let evidence = Evidence::Name { name: info.name.clone(), pattern: pattern.clone() };
        return Some(Judged { mode: *mode, evidence });
    }
    let text = caller.approach().user_agent.as_ref()?;
    let (pattern, mode) = table.find(text)?;
    let evidence = Evidence::UserAgent { text: text.clone(), pattern: pattern.clone() };
    Some(Judged { mode: *mode, evidence })
}

/// Returns true if the client declares `tools.listChanged`. No revision has this client capability, but some declare
/// it.
fn declares_changes(peer: &Peer) -> bool {
    let raw = match peer {
        Peer::Modern(peer) => peer.capabilities.raw(),
        Peer::Legacy(session) => session.capabilities().raw(),
    };
    if raw == "{}" {
        return false;
    }
    let Ok(document) = Document::parse(raw.as_bytes(), &Limits::message()) else { return false };
    let root = document.root();
    [root.get("tools"), root.get("experimental").and_then(|node| node.get("tools"))]
        .into_iter()
        .flatten()
        .any(|tools| tools.get("listChanged").and_then(Node::as_bool) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R3.3: known clients are recognised by name, the operator's own entries first.
    #[test]
    fn known_clients_are_told_by_name() {
        let mut table = ModeTable::default();
        let mode = |table: &ModeTable, name: &str| table.find(name).map(|(_, mode)| *mode);
        assert_eq!(mode(&table, "claude-code"), Some(Mode::Anthropic));
        assert_eq!(mode(&table, "Anthropic/Toolbox"), Some(Mode::Anthropic));
        assert_eq!(mode(&table, "claude-ai"), Some(Mode::Static));
        assert_eq!(mode(&table, "Visual Studio Code"), Some(Mode::Dynamic));
        assert_eq!(mode(&table, "codex-mcp-client"), Some(Mode::Static));
        assert_eq!(mode(&table, "something else"), None);
        table.insert("Codex*", Mode::Dynamic);
        assert_eq!(mode(&table, "codex-mcp-client"), Some(Mode::Dynamic));
    }

    #[test]
    fn only_known_modes_are_read() {
        assert_eq!(Mode::parse("auto"), Some(None));
        assert_eq!(Mode::parse("static"), Some(Some(Mode::Static)));
        assert_eq!(Mode::parse("Static"), None);
    }
}
