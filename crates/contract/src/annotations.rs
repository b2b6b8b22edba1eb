//! Annotations: a tool's claims about itself, in both spellings and with the specification's defaults (R1.2, R1.3),
//! and the *effective* annotations that policy reads (R1.4).
//!
//! An absent hint has its default: not read-only, destructive, not idempotent, open world. Hints never change how a
//! tool executes and grant nothing.

use std::borrow::Cow;

use crate::json::{Node, ObjectWriter};

/// Intended reader of a tool: `annotations.audience`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Audience {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The host program.
    System,
}

impl Audience {
    /// Reads `user`, `assistant` or `system`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            "system" => Some(Self::System),
            _ => None,
        }
    }

    /// `user`, `assistant` or `system`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }
}

/// One of the four behaviour hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hint {
    /// The tool changes nothing.
    ReadOnly,
    /// The tool may destroy or overwrite.
    Destructive,
    /// Another call with the same arguments changes nothing more.
    Idempotent,
    /// The tool reaches beyond a closed domain.
    OpenWorld,
}

impl Hint {
    /// All four, in the specification's order.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Destructive, Self::Idempotent, Self::OpenWorld];

    /// The specification's name, which is written on the wire.
    #[must_use]
    pub const fn spec_name(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnlyHint",
            Self::Destructive => "destructiveHint",
            Self::Idempotent => "idempotentHint",
            Self::OpenWorld => "openWorldHint",
        }
    }

    /// The bare name, which is accepted wherever a definition is read.
    #[must_use]
    pub const fn bare_name(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnly",
            Self::Destructive => "destructive",
            Self::Idempotent => "idempotent",
            Self::OpenWorld => "openWorld",
        }
    }

    /// Returns the value of an absent hint.
    #[must_use]
    pub const fn default_value(self) -> bool {
        matches!(self, Self::Destructive | Self::OpenWorld)
    }

    /// The value that asks for more care; for every hint this is its default.
    #[must_use]
    pub const fn strict_value(self) -> bool {
        self.default_value()
    }

    fn stricter(self, a: bool, b: bool) -> bool {
        if self.strict_value() { a || b } else { a && b }
    }

    fn from_any_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|h| h.spec_name() == name || h.bare_name() == name)
    }
}

/// The four hints as they were written; `None` for an absent one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    /// `readOnlyHint`
    pub read_only: Option<bool>,
    /// `destructiveHint`
    pub destructive: Option<bool>,
    /// `idempotentHint`
    pub idempotent: Option<bool>,
    /// `openWorldHint`
    pub open_world: Option<bool>,
}

impl Hints {
    /// Returns `hint` as it was written.
    #[must_use]
    pub const fn get(&self, hint: Hint) -> Option<bool> {
        match hint {
            Hint::ReadOnly => self.read_only,
            Hint::Destructive => self.destructive,
            Hint::Idempotent => self.idempotent,
            Hint::OpenWorld => self.open_world,
        }
    }

    /// Sets `hint`, or removes it with `None`.
    pub fn set(&mut self, hint: Hint, value: Option<bool>) {
        match hint {
            Hint::ReadOnly => self.read_only = value,
            Hint::Destructive => self.destructive = value,
            Hint::Idempotent => self.idempotent = value,
            Hint::OpenWorld => self.open_world = value,
        }
    }

    /// Returns `hint` as it was written, or its default.
    #[must_use]
    pub fn or_default(&self, hint: Hint) -> bool {
        self.get(hint).unwrap_or(hint.default_value())
    }
}

/// Contents of a definition's `annotations`. Reading never fails: a member of the wrong type counts as absent, and
/// lint reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Annotations {
    /// Title for people.
    pub title: Option<String>,
    /// The four hints.
    pub hints: Hints,
    /// Intended reader of the tool.
    pub audience: Option<Audience>,
    /// Sort key in lists; lower comes first.
    pub priority: Option<i64>,
}

impl Annotations {
    /// Reads an `annotations` member. If both spellings of a hint are present, the stricter value counts.
    #[must_use]
    pub fn read(node: Node<'_>) -> Self {
        let mut read = Self::default();
        for (key, value) in node.members() {
            let key = key.as_str().unwrap_or_default();
            match (Hint::from_any_name(&key), key.as_ref()) {
                (Some(hint), _) => {
                    if let Some(said) = value.as_bool() {
                        let both = read.hints.get(hint).map_or(said, |other| hint.stricter(said, other));
                        read.hints.set(hint, Some(both));
                    }
                }
                (None, "title") => read.title = value.as_str().map(Cow::into_owned),
                (None, "audience") => {
                    read.audience = value.as_str().and_then(|name| Audience::from_name(&name));
                }
                (None, "priority") => read.priority = value.as_i64(),
                _ => {}
            }
        }
        read
    }

    /// Returns the effect of the hints, with defaults for absent ones.
    #[must_use]
    pub fn effect(&self) -> Effect {
        Effect::of(&self.hints)
    }
}

/// Rewrites an `annotations` member for the MCP wire: bare hint names become the specification's, everything else
/// keeps its place and spelling. Returns `None` if nothing changes.
#[must_use]
pub(crate) fn wire(node: Node<'_>) -> Option<String> {
    let is_bare = |key: &str| Hint::ALL.into_iter().any(|h| h.bare_name() == key);
    if !node.members().any(|(key, _)| key.as_str().is_some_and(|k| is_bare(&k))) {
        return None;
    }
    let read = Annotations::read(node);
    let mut written = [false; 4];
    let mut out = ObjectWriter::new();
    for (key, value) in node.members() {
        let name = key.as_str().unwrap_or_default();
        match Hint::from_any_name(&name) {
            Some(hint) => {
                let slot = Hint::ALL.iter().position(|h| *h == hint).and_then(|i| written.get_mut(i));
                if let Some(done) = slot
                    && !std::mem::replace(done, true)
                {
                    match read.hints.get(hint) {
                        Some(said) => out.raw(hint.spec_name(), if said { "true" } else { "false" }),
                        None => out.raw(hint.spec_name(), &value.to_compact()),
                    };
                }
            }
            None => {
                out.copy(key, value);
            }
        }
    }
    Some(out.finish())
}

/// Effect that a call may have, after defaults and the read-only rule: `destructive` and `idempotent` have a meaning
/// only for a tool that is not read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Effect {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy or overwrite. Never with `read_only`.
    pub destructive: bool,
    /// Repeating it changes nothing more. Always with `read_only`.
    pub idempotent: bool,
    /// Reaches beyond a closed domain.
    pub open_world: bool,
}

impl Effect {
    /// Returns the effect that `hints` claim.
    #[must_use]
    pub fn of(hints: &Hints) -> Self {
        let read_only = hints.or_default(Hint::ReadOnly);
        Self {
            read_only,
            destructive: !read_only && hints.or_default(Hint::Destructive),
            idempotent: read_only || hints.or_default(Hint::Idempotent),
            open_world: hints.or_default(Hint::OpenWorld),
        }
    }

    /// Returns the stricter of two effects, hint by hint.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        Self {
            read_only: self.read_only && other.read_only,
            destructive: self.destructive || other.destructive,
            idempotent: self.idempotent && other.idempotent,
            open_world: self.open_world || other.open_world,
        }
    }

    /// Returns the effect that policy reads (R1.4): the operator's override, else the stricter of locked and live
    /// claim.
    #[must_use]
    pub fn effective(overrides: &Hints, locked: Option<&Hints>, live: &Hints) -> Self {
        let claimed = match locked {
            Some(locked) => Self::of(locked).stricter(Self::of(live)),
            None => Self::of(live),
        };
        let read_only = overrides.read_only.unwrap_or(claimed.read_only);
        // An override that removes `read_only` meets a claim that says nothing about the other two: defaults apply.
        let (destructive, idempotent) = if claimed.read_only && !read_only {
            (Hint::Destructive.default_value(), Hint::Idempotent.default_value())
        } else {
            (claimed.destructive, claimed.idempotent)
        };
        Self {
            read_only,
            destructive: !read_only && overrides.destructive.unwrap_or(destructive),
            idempotent: read_only || overrides.idempotent.unwrap_or(idempotent),
            open_world: overrides.open_world.unwrap_or(claimed.open_world),
        }
    }
}

#[cfg(test)]
mod tests;
