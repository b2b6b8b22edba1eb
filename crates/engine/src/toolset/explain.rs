//! [`Explanation`]: why a caller can or cannot see and call a tool, from the decisions of [`super::standing`] and
//! [`crate::mode`].
//!
//! For operators only: it names tools and toolsets that the caller must not learn of (R3.6: a hidden tool is refused
//! like an unknown one).

use std::fmt;

use serde_json::{Value, json};

use super::callers::{CODE_EXECUTION, is_callable_from_code};
use super::catalogue::{Catalogue, Kit};
use super::standing::{Choice, Standing, choice};
use crate::caller::Caller;
use crate::discovery::enable::obstacle;
use crate::engine::Engine;
use crate::mode::Judged;
use crate::safety::way::Gate;
use crate::validation::Validation;

/// Membership of the tool in one toolset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    pub toolset: Box<str>,
    pub always_loaded: bool,
    pub reachable: bool,
    pub loaded: bool,
}

/// Way in which a caller can call the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callable {
    Directly,
    /// Not listed, but reachable with `call_tool`.
    ThroughCallTool,
    /// Refused like an unknown tool.
    No,
}

/// Explanation of one tool for one caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub tool: Box<str>,
    /// Upstream server that the tool comes from, if any.
    pub server: Option<Box<str>>,
    pub effect: &'static str,
    pub mode: Judged,
    /// Reason why `enable_toolset` does not work for this caller; `None` if it works.
    pub obstacle: Option<Box<str>>,
    pub toolsets: Vec<Membership>,
    /// Source of the choice of loaded toolsets, in words.
    pub chosen_by: Box<str>,
    /// `true` if the caller sees only read-only tools.
    pub read_only: bool,
    pub callable: Callable,
    pub reason: Box<str>,
    /// Neutral names of callers besides the model.
    pub callers: Vec<&'static str>,
    /// Value of `allowed_callers` in this caller's list.
    pub allowed_callers: Option<Box<str>>,
    /// Validation modes of arguments and answers.
    pub validation: Validation,
    pub answers_have_schema: bool,
    /// Confirmation that a call needs, if any.
    pub gate: Gate,
}

impl Engine {
    /// Explains a tool to the operator; `None` if there is no tool of that name.
    #[must_use]
    pub fn explain(&self, caller: &Caller<'_>, tool: &str) -> Option<Explanation> {
        let snapshot = self.registry().load_full();
        let catalogue = &snapshot.catalogue;
        let at = catalogue.place(tool)?;
        let entry = catalogue.entry(at)?;
        let standing = self.standing(caller, catalogue);
        let toolsets: Vec<Membership> =
            catalogue.toolsets_of(at).map(|kit| membership(catalogue, kit, &standing)).collect();
        let read_only = entry.judged().effect.read_only;
        let filtered = standing.read_only && !read_only;
        let (callable, reason) = match &toolsets {
            _ if filtered && catalogue.options().read_only => {
                (Callable::No, "the operator serves read-only tools alone, and it is none")
            }
            _ if filtered => (Callable::No, "the request asks for read-only tools alone, and it is none"),
            sets if sets.iter().any(|set| set.loaded) => (Callable::Directly, "a toolset of it is loaded"),
            sets if sets.iter().any(|set| set.reachable) => {
                let through = if catalogue.options().has_discovery() {
                    Callable::ThroughCallTool
                } else {
                    Callable::No
                };
                (through, "no toolset of it is loaded")
            }
            _ => (Callable::No, "no toolset of it is allowed to this caller, or chosen by the request"),
        };
        let listed = self.view_of(caller);
        let allowed_callers =
            listed.listing().items().iter().find(|item| *item.key == *tool).and_then(|item| {
                let shown: Value = serde_json::from_str(&item.modern).ok()?;
                Some(shown.get("allowed_callers")?.to_string().into())
            });
        let from_code = catalogue.toolsets_of(at).any(|kit| kit.programmatic) && is_callable_from_code(entry);
        let first = toolsets.first().map_or("", |set| &*set.toolset);
        Some(Explanation {
            tool: tool.into(),
            server: entry.server().map(Into::into),
            effect: crate::discovery::effect_class(entry.judged().effect),
            mode: self.client_mode(caller),
            obstacle: obstacle(self, caller, first).map(Into::into),
            chosen_by: chosen_by(catalogue, caller),
            read_only: standing.read_only,
            toolsets,
            callable,
            reason: reason.into(),
            callers: from_code.then_some(CODE_EXECUTION).into_iter().collect(),
            allowed_callers,
            validation: entry.validation(),
            answers_have_schema: entry.contract().definition().output_schema().is_some(),
            gate: self.gate(caller, entry),
        })
    }
}

fn membership(catalogue: &Catalogue, kit: &Kit, standing: &Standing) -> Membership {
    let at = catalogue.find(&kit.name);
    Membership {
        toolset: (&*kit.name).into(),
        always_loaded: kit.always_loaded,
        reachable: at.is_some_and(|at| standing.reach.has(at)),
        loaded: at.is_some_and(|at| standing.loaded.has(at)),
    }
}

fn chosen_by(catalogue: &Catalogue, caller: &Caller<'_>) -> Box<str> {
    let list = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join(", ");
    match choice(catalogue.options(), caller) {
        Choice::Enabled(enabled) => {
            format!("the caller enabled: {}", list(&mut enabled.iter().map(|name| &**name))).into()
        }
        Choice::Request => "the request's address or headers".into(),
        Choice::Start(super::Names::All) => "the operator: all".into(),
        Choice::Start(names) => format!("the operator: {}", list(&mut names.iter())).into(),
        Choice::Nobody => "nobody: everything within reach is loaded".into(),
    }
}

impl Callable {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Directly => "directly",
            Self::ThroughCallTool => "through call_tool",
            Self::No => "no",
        }
    }
}

impl Explanation {
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.callable == Callable::Directly
    }

    #[must_use]
    pub fn as_json(&self) -> Value {
        let toolsets: Vec<Value> = self
            .toolsets
            .iter()
            .map(|set| {
                json!({"name": &*set.toolset, "always_loaded": set.always_loaded, "reachable": set.reachable,
                    "loaded": set.loaded})
            })
            .collect();
        let callers: Option<Value> =
            self.allowed_callers.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
        json!({
            "tool": &*self.tool, "server": self.server.as_deref(), "effect": self.effect,
            "mode": self.mode.mode.name(), "mode_reason": self.mode.evidence.to_string(),
            "enable_toolset": self.obstacle.as_deref().unwrap_or("works"),
            "toolsets": toolsets, "chosen_by": &*self.chosen_by, "read_only_filter": self.read_only,
            "listed": self.is_listed(), "callable": self.callable.name(), "reason": &*self.reason,
            "callers": self.callers, "allowed_callers": callers,
            "schema": {"state": "admitted", "input": self.validation.input.name(), "output": self.validation.output.name()},
            "gate": self.gate.as_json()})
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tool      {} ({})", self.tool, self.effect)?;
        if let Some(server) = &self.server {
            writeln!(f, "server    {server}")?;
        }
        writeln!(f, "mode      {}", self.mode)?;
        for set in &self.toolsets {
            let state = match set {
                Membership { always_loaded: true, .. } => "always loaded",
                Membership { loaded: true, .. } => "loaded",
                Membership { reachable: true, .. } => "within reach, not loaded",
                _ => "out of reach",
            };
            writeln!(f, "toolset   {}: {state}", set.toolset)?;
        }
        writeln!(f, "chosen    by {}", self.chosen_by)?;
        if self.read_only {
            writeln!(f, "filter    read-only tools alone")?;
        }
        let Validation { input, output } = self.validation;
        let output = if self.answers_have_schema { output.words() } else { "without a schema" };
        writeln!(f, "schema    admitted; arguments {}, answers {output}", input.words())?;
        writeln!(f, "gate      {}", self.gate)?;
        writeln!(f, "listed    {}", if self.is_listed() { "yes" } else { "no" })?;
        writeln!(f, "callable  {}: {}", self.callable.name(), self.reason)?;
        if let Some(callers) = &self.allowed_callers {
            writeln!(f, "callers   {callers}")?;
        }
        let enable = match &self.obstacle {
            _ if self.is_listed() => "not needed: it is listed",
            Some(obstacle) => obstacle,
            None => "works for this client",
        };
        writeln!(f, "enable    {enable}")
    }
}
