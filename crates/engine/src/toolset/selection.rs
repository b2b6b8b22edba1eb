//! Selections of toolsets by an operator or a request.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};

/// Names of toolsets, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    All,
    These(BTreeSet<Box<str>>),
}

impl Names {
    /// Parses `a,b` or `all`; empty parts are ignored.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::from_parts(text.split(',').map(str::trim).filter(|part| !part.is_empty()))
    }

    pub fn from_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let names: BTreeSet<Box<str>> = parts.into_iter().map(Into::into).collect();
        if names.contains("all") { Self::All } else { Self::These(names) }
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let names = match self {
            Self::All => None,
            Self::These(names) => Some(names),
        };
        names.into_iter().flatten().map(|name| &**name)
    }

    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => names.contains(name),
        }
    }

    /// Returns the names that are in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, names) | (names, Self::All) => names,
            (Self::These(left), Self::These(right)) => {
                Self::These(left.intersection(&right).cloned().collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let parts = Vec::<String>::deserialize(from)?;
        Ok(Self::from_parts(parts.iter().map(String::as_str)))
    }
}

/// Selection by the URL and headers of a request (R3.4). It only narrows what the caller can reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// `None` if the request selected nothing.
    pub toolsets: Option<Names>,
    pub read_only: bool,
}

impl Selection {
    /// Narrows by another selection.
    pub fn narrow_by(&mut self, other: &Self) {
        if let Some(names) = &other.toolsets {
            self.narrow(names.clone());
        }
        self.read_only |= other.read_only;
    }

    /// Narrows by another set of names.
    pub fn narrow(&mut self, names: Names) {
        self.toolsets = Some(match self.toolsets.take() {
            Some(chosen) => chosen.and(names),
            None => names,
        });
    }
}

/// URL and headers of a request, as far as they matter for the caller's view: its selection and its user agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approach {
    pub selection: Selection,
    pub user_agent: Option<Box<str>>,
}

/// Approach without a selection and a user agent.
static UNKNOWN: Approach =
    Approach { selection: Selection { toolsets: None, read_only: false }, user_agent: None };

impl Approach {
    /// Returns the approach, or the shared empty one if there is none.
    #[must_use]
    pub fn known(approach: Option<&Arc<Self>>) -> &Self {
        approach.map_or(&UNKNOWN, |approach| approach)
    }

    /// Returns the approach narrowed by one request's selection; a request cannot widen what its session was opened
    /// with.
    #[must_use]
    pub fn narrowed(self: Arc<Self>, by: &Selection) -> Arc<Self> {
        let mut selection = self.selection.clone();
        selection.narrow_by(by);
        if selection == self.selection {
            return self;
        }
        Arc::new(Self { selection, user_agent: self.user_agent.clone() })
    }
}

/// Unknown toolset name, with the known ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown toolset {name:?}; known: {}", known.join(", "))]
pub struct UnknownToolset {
    pub name: Box<str>,
    pub known: Vec<Box<str>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R3.4: several selections of one request narrow each other.
    #[test]
    fn choices_only_narrow() {
        let mut selection = Selection::default();
        selection.narrow(Names::parse("all"));
        assert_eq!(selection.toolsets, Some(Names::All));
        selection.narrow(Names::parse(" a, b ,"));
        selection.narrow(Names::parse("b,c"));
        assert_eq!(selection.toolsets, Some(Names::parse("b")));
        selection.narrow(Names::All);
        assert_eq!(selection.toolsets, Some(Names::parse("b")));
    }
}
