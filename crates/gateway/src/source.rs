//! One server behind the gateway, with the operator's settings for it.

use toolcrib_engine::{Strictness, Validation};
use toolcrib_upstream::Spec;

use crate::naming;
use crate::pattern::Pattern;

/// Settings for tools whose own name matches; for each setting the first rule that has it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub tools: Pattern,
    pub input: Option<Strictness>,
    pub output: Option<Strictness>,
    /// Maximum bytes of an answer; a longer one is kept as a resource.
    pub result_bytes_max: Option<usize>,
}

/// A server and the operator's settings for its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub spec: Spec,
    /// Prefix of the names of its tools and prompts.
    pub prefix: Option<String>,
    pub toolset: Option<String>,
    /// Only tools that match one of these are served; all if empty.
    pub include: Vec<Pattern>,
    pub exclude: Vec<Pattern>,
    pub rules: Vec<Rule>,
}

/// The filter that decided whether a tool is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filtered<'a> {
    Unfiltered,
    Included(&'a Pattern),
    NotIncluded,
    Excluded(&'a Pattern),
}

impl std::fmt::Display for Filtered<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unfiltered => f.write_str("its server has no include and no exclude that fits it"),
            Self::Included(pattern) => write!(f, "let through by include {:?}", pattern.as_str()),
            Self::NotIncluded => f.write_str("left out: no include fits it"),
            Self::Excluded(pattern) => write!(f, "left out by exclude {:?}", pattern.as_str()),
        }
    }
}

impl Source {
    #[must_use]
    pub fn new(spec: Spec, prefixed: bool) -> Self {
        let prefix = prefixed.then(|| naming::prefix(&spec.name));
        Self { spec, prefix, toolset: None, include: Vec::new(), exclude: Vec::new(), rules: Vec::new() }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Returns the name under which a tool of this server is served.
    #[must_use]
    pub fn served_name(&self, tool: &str) -> String {
        naming::served(self.prefix.as_deref(), tool)
    }

    /// Returns a served name without the prefix; one that was shortened stays as it is.
    #[must_use]
    pub fn own_name<'n>(&self, served: &'n str) -> &'n str {
        let own = self.prefix.as_deref().and_then(|prefix| served.strip_prefix(prefix));
        own.and_then(|rest| rest.strip_prefix(naming::SEPARATOR)).unwrap_or(served)
    }

    pub(crate) fn admits(&self, tool: &str) -> bool {
        self.filter(tool).0
    }

    /// Returns `true` if a tool passes the filters, and the filter that decided.
    pub(crate) fn filter(&self, tool: &str) -> (bool, Filtered<'_>) {
        let fits = |pattern: &&Pattern| pattern.matches(tool);
        let excluded = self.exclude.iter().find(fits);
        match (excluded, self.include.iter().find(fits)) {
            (Some(pattern), _) => (false, Filtered::Excluded(pattern)),
            (None, Some(pattern)) => (true, Filtered::Included(pattern)),
            (None, None) if self.include.is_empty() => (true, Filtered::Unfiltered),
            (None, None) => (false, Filtered::NotIncluded),
        }
    }

    pub(crate) fn validation(&self, tool: &str) -> Validation {
        let mut fitting = self.rules.iter().filter(|rule| rule.tools.matches(tool));
        let input = fitting.clone().find_map(|rule| rule.input).unwrap_or_default();
        let output = fitting.find_map(|rule| rule.output).unwrap_or_default();
        Validation { input, output }
    }

    pub(crate) fn result_bytes_max(&self, tool: &str) -> Option<usize> {
        self.rules.iter().filter(|rule| rule.tools.matches(tool)).find_map(|rule| rule.result_bytes_max)
    }
}
