//! Unusable schemas, by which nothing can be judged: not a schema, an unknown dialect, a reference without target or
//! out of the schema, a reference loop, or over a limit of admission (R7.3, *compatible* only with a proof).
//!
//! Guarantees: an unusable schema is *unknown*, at its place. It is never counted as proved, even if both sides are
//! equal, and never as breaking, because no value could be a witness. A schema that the prover can still judge, such
//! as one with a look-around pattern, is not unusable. Nothing is fetched.

use serde_json::Value;
use toolcrib_containment::{Dialect, Prover, SchemaFault};
use toolcrib_contract::json::Pointer;
use toolcrib_contract::text::one_line;
use toolcrib_contract::{Definition, PatternFault, Schema, SchemaError, SchemaLimit, SchemaOptions};

use crate::change::{Direction, Note};
use crate::definition::Draft;

/// Maximum characters of a reason that are shown.
const REASON_CHARS_MAX: usize = 240;

/// Members of a definition that are schemas, with the direction in which they are judged.
pub(crate) const SCHEMAS: [(Direction, &str); 2] =
    [(Direction::Input, "inputSchema"), (Direction::Output, "outputSchema")];

/// Sides of a comparison on which a schema is unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// The old side.
    Old,
    /// The new side.
    New,
    /// Both sides, which have the same schema.
    Both,
}

impl Sides {
    /// `true` if the new side is unusable.
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

/// Reason why a schema is unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    /// Admission refuses it, so no server could serve the tool.
    #[error("{}", .0.reason())]
    Refused(SchemaError),
    /// The prover cannot read it.
    #[error(transparent)]
    Unreadable(SchemaFault),
}

/// Unusable schema of a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tool {tool:?}: {}: {}", one_line(.path), self.reason())]
pub struct Unusable {
    /// Name of the tool.
    pub tool: String,
    /// JSON Pointer into the definition.
    pub path: String,
    direction: Direction,
    schema: Value,
    fault: Fault,
}

/// Returns every unusable schema of `definitions`.
#[must_use]
pub fn unusable(definitions: &[Definition]) -> Vec<Unusable> {
    let prover = Prover::default();
    prover.on_large_stack(|| definitions.iter().flat_map(|tool| of_tool(tool, &prover)).collect())
}

/// Returns the unusable schemas of one tool. Runs on the current thread, whose stack must be large.
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
        // If the prover refuses the pattern too, admission's error is reported, because it names place and limit.
        None | Some(Err(SchemaFault::InvalidPattern { .. })) => refused(error),
        Some(Err(fault)) => (placed(&base, &fault), Fault::Unreadable(fault)),
    };
    Some(Unusable { tool: tool.name().to_owned(), path, direction, schema, fault })
}

/// `true` if the prover may read a schema that admission refuses: non-linear patterns, or too many or too large ones.
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
    /// Returns the reason, shortened and with hidden characters escaped, because it may quote the schema.
    fn reason(&self) -> String {
        let text = self.fault.to_string();
        let mut short: String = text.chars().take(REASON_CHARS_MAX).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        one_line(&short)
    }

    /// Builds the finding on this schema.
    pub(crate) fn draft(&self, sides: Sides) -> Draft {
        let mut draft = Draft::new("schema.invalid", self.path.as_str()).named(self.reason());
        draft.direction = self.direction;
        draft.old = (sides != Sides::New).then(|| self.schema.clone());
        draft.new = sides.has_new().then(|| self.schema.clone());
        draft.notes.push(Note::Unusable(sides));
        draft
    }
}
