//! One finding.

use serde::Serialize;
use serde_json::Value;

use crate::fingerprint::Fingerprint;
use crate::level::{Bump, Group, Level};
use crate::unusable::Sides;

/// What part of a definition changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The tool itself.
    Definition,
    /// What callers send.
    Input,
    /// What the server answers.
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

/// Something that must be said beside the verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// Compatible only for callers that keep to declared properties; the value shows the difference.
    DeclaredWorldOnly(Value),
    /// A break by itself that another change of the same schema makes good.
    Absorbed,
    /// Why a rename is suspected.
    Evidence(String),
    /// Words removed and added.
    WordDiff(String),
    /// What could not be decided.
    Obstacle(String),
    /// What the refusing validator said of the witness.
    Refused(String),
    /// On which side a schema is such that nothing can be judged by it.
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

/// A change and the verdict on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The rule.
    pub id: &'static str,
    /// The tool, by its old name where it has one.
    pub tool: String,
    /// JSON Pointer into the definition.
    pub path: String,
    /// What changed.
    pub direction: Direction,
    /// Which team it is for.
    pub group: Group,
    /// The verdict.
    pub verdict: Level,
    /// The version step it asks for.
    pub bump: Bump,
    /// One sentence on the consequence.
    pub message: String,
    /// The part before.
    pub old: Option<Value>,
    /// The part after.
    pub new: Option<Value>,
    /// A value one side accepts and the other refuses.
    pub witness: Option<Value>,
    /// What else must be said.
    pub notes: Vec<Note>,
    /// Stable over runs, for approvals.
    pub fingerprint: Fingerprint,
}

impl Change {
    /// On which side the schema is unusable, if that is the finding.
    pub fn unusable(&self) -> Option<Sides> {
        self.notes.iter().find_map(|note| match note {
            Note::Unusable(sides) => Some(*sides),
            _ => None,
        })
    }
}
