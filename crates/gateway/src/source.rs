//! One server behind the gateway, with what the operator wants of it.

use toolcrib_engine::{Strictness, Validation};
use toolcrib_upstream::Spec;

use crate::naming;
use crate::pattern::Pattern;

/// Other modes for the tools whose own name fits; the first rule that says something counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub tools: Pattern,
    pub input: Option<Strictness>,
    pub output: Option<Strictness>,
    /// Bytes of an answer; what is longer is kept as a resource.
    pub result_bytes_max: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub spec: Spec,
    /// Put before the names of its tools and prompts.
    pub prefix: Option<String>,
    pub toolset: Option<String>,
    /// Only these; all if empty.
    pub include: Vec<Pattern>,
    pub exclude: Vec<Pattern>,
    pub rules: Vec<Rule>,
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

    pub(crate) fn admits(&self, tool: &str) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(tool));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
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
