//! Schemas that nothing can be judged by: no schema at all, an unknown dialect, a reference that leads nowhere or out of
//! the schema, a loop of references, more than admission lets in (R7.3).
//!
//! Guarantees: what is unusable is never counted as proved, not even where both sides are equal, and never as breaking,
//! because no value could show it: it is *unknown*, at its place. Refuses nothing that the prover can still judge, such as
//! a pattern that looks around. Nothing is fetched.

use serde_json::Value;
use toolcrib_containment::{Dialect, Prover, SchemaFault};
use toolcrib_contract::json::Pointer;
use toolcrib_contract::text::one_line;
use toolcrib_contract::{Definition, PatternFault, Schema, SchemaError, SchemaLimit, SchemaOptions};

use crate::change::{Direction, Note};
use crate::definition::Draft;

/// Characters of a reason that are shown.
const REASON_CHARS_MAX: usize = 240;

/// Where the schemas of a tool stand, and which way they are judged.
pub(crate) const SCHEMAS: [(Direction, &str); 2] =
    [(Direction::Input, "inputSchema"), (Direction::Output, "outputSchema")];

/// On which side of a comparison a schema is unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// Before.
    Old,
    /// Now.
    New,
    /// Before and now, and it is the same schema.
    Both,
}

impl Sides {
    /// Whether what is offered now is unusable.
    pub const fn has_new(self) -> bool {
        matches!(self, Sides::New | Sides::Both)
    }
}

impl std::fmt::Display for Sides {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Sides::Old => "before",
            Sides::New => "now",
            Sides::Both => "before and now",
        })
    }
}

/// What is wrong with a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    /// It would not be admitted by anything that serves the tool.
    #[error("{}", .0.reason())]
    Refused(SchemaError),
    /// The prover cannot read it.
    #[error(transparent)]
    Unreadable(SchemaFault),
}

/// A tool with a schema that nothing can be judged by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tool {tool:?}: {}: {}", one_line(.path), self.reason())]
pub struct Unusable {
    /// The tool.
    pub tool: String,
    /// JSON Pointer into the definition.
    pub path: String,
    direction: Direction,
    schema: Value,
    fault: Fault,
}

/// Every schema of `definitions` that nothing can be judged by.
#[must_use]
pub fn unusable(definitions: &[Definition]) -> Vec<Unusable> {
    let prover = Prover::default();
    prover.on_large_stack(|| definitions.iter().flat_map(|tool| of_tool(tool, &prover)).collect())
}

/// The unusable schemas of one tool, on the current thread, whose stack must be large.
pub(crate) fn of_tool(tool: &Definition, prover: &Prover) -> Vec<Unusable> {
    SCHEMAS.iter().filter_map(|(direction, key)| of_schema(tool, *direction, key, prover)).collect()
}

pub(crate) fn of_schema(
    tool: &Definition,
    direction: Direction,
    key: &str,
    prover: &Prover,
) -> Option<Unusable> {
    let node = tool.get(key).filter(|node| !node.is_null())?;
    let error = Schema::compile(node, &SchemaOptions::default()).err()?;
    let base = Pointer::root().join(key);
    let schema = node.to_value();
    let is_judged = is_for_the_prover(&error);
    let refused = |error: SchemaError| {
        let error = error.within(&base);
        (error.pointer().as_str().to_owned(), Fault::Refused(error))
    };
    let (path, fault) = match is_judged.then(|| prover.examine_here(&schema, Dialect::default())) {
        Some(Ok(())) => return None,
        // A pattern that is too much for the prover as well is named by its place and limit.
        None | Some(Err(SchemaFault::InvalidPattern { .. })) => refused(error),
        Some(Err(fault)) => (placed(&base, &fault), Fault::Unreadable(fault)),
    };
    Some(Unusable { tool: tool.name().to_owned(), path, direction, schema, fault })
}

/// What nobody serves and the prover can read all the same: patterns outside of linear time, or many of them.
fn is_for_the_prover(error: &SchemaError) -> bool {
    match error {
        SchemaError::Pattern { fault, .. } => *fault != PatternFault::Malformed,
        SchemaError::Limit { limit, .. } => matches!(
            limit,
            SchemaLimit::Patterns | SchemaLimit::PatternBytes | SchemaLimit::PatternCompiledBytes
        ),
        _ => false,
    }
}

fn placed(base: &Pointer, fault: &SchemaFault) -> String {
    match fault {
        SchemaFault::NotASchema { path, .. } => format!("{}{path}", base.as_str()),
        _ => base.as_str().to_owned(),
    }
}

impl Unusable {
    /// What is wrong with it, short and with nothing hidden: it may quote the schema.
    fn reason(&self) -> String {
        let text = self.fault.to_string();
        let mut short: String = text.chars().take(REASON_CHARS_MAX).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        one_line(&short)
    }

    /// The finding on it.
    pub(crate) fn draft(&self, sides: Sides) -> Draft {
        let mut draft = Draft::new("schema.invalid", self.path.as_str()).named(self.reason());
        draft.direction = self.direction;
        draft.old = (sides != Sides::New).then(|| self.schema.clone());
        draft.new = sides.has_new().then(|| self.schema.clone());
        draft.notes.push(Note::Unusable(sides));
        draft
    }
}
