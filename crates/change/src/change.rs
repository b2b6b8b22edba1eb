//! Finding: one change with its verdict.

use serde::Serialize;
use serde_json::Value;

use crate::fingerprint::Fingerprint;
use crate::level::{Bump, Group, Level};
use crate::unusable::Sides;

/// Part of a definition that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The tool itself.
    Definition,
    /// The input schema: what callers send.
    Input,
    /// The output schema: what the server returns.
    Output,
}

impl Direction {
    /// The lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Definition => "definition",
            Direction::Input => "input",
            Direction::Output => "output",
        }
    }
}

/// Additional information on a finding.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// The change is compatible only for callers that send declared properties; the value is an open-world
    /// counterexample.
    DeclaredWorldOnly(Value),
    /// The change alone would break, and another change of the same schema compensates it.
    Absorbed,
    /// Evidence for a suspected rename.
    Evidence(String),
    /// Words that were removed and added.
    WordDiff(String),
    /// Reason why the prover could not decide.
    Obstacle(String),
    /// Error of the validator that refuses the witness.
    Refused(String),
    /// Sides on which the schema is unusable, so that nothing can be judged by it.
    Unusable(Sides),
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::DeclaredWorldOnly(value) => {
                write!(f, "holds in the declared world only; an open-world caller may send {value}")
            }
            Note::Absorbed => f.write_str("made good by another change of the same schema"),
            Note::Evidence(text) => write!(f, "evidence: {text}"),
            Note::WordDiff(text) => write!(f, "words: {text}"),
            Note::Obstacle(text) => write!(f, "undecided: {text}"),
            Note::Refused(text) => write!(f, "refused: {text}"),
            Note::Unusable(sides) => write!(f, "unusable {sides}"),
        }
    }
}

/// One change of a tool and the verdict on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Id of the rule.
    pub id: &'static str,
    /// Name of the tool, the old name if it had one.
    pub tool: String,
    /// JSON Pointer into the definition.
    pub path: String,
    /// Part that changed.
    pub direction: Direction,
    /// Group of the rule, by which findings can be gated separately.
    pub group: Group,
    /// The verdict.
    pub verdict: Level,
    /// Version step that the change requires.
    pub bump: Bump,
    /// One sentence about the consequence.
    pub message: String,
    /// The old value of the changed part.
    pub old: Option<Value>,
    /// The new value of the changed part.
    pub new: Option<Value>,
    /// Value that one side accepts and the other refuses.
    pub witness: Option<Value>,
    /// Additional information.
    pub notes: Vec<Note>,
    /// Identity across runs, to which waivers refer.
    pub fingerprint: Fingerprint,
}

impl Change {
    /// Returns the unusable sides, if the finding is an unusable schema.
    pub fn unusable(&self) -> Option<Sides> {
        self.notes.iter().find_map(|note| match note {
            Note::Unusable(sides) => Some(*sides),
            _ => None,
        })
    }
}
