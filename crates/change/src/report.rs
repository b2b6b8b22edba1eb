//! Report of a comparison: all findings and their counts.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::change::{Change, Note};
use crate::level::{Bump, Level};
use crate::unusable::Sides;
use crate::waiver::Waived;

/// Number of changes by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Some caller or consumer fails.
    pub breaking: usize,
    /// Needs review.
    pub dangerous: usize,
    /// Harmless.
    pub compatible: usize,
    /// Not decided.
    pub unknown: usize,
}

/// Minimum verdict at which a check fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailOn {
    /// Breaking changes only.
    #[default]
    Breaking,
    /// Also dangerous and unknown changes.
    Dangerous,
    /// Any change.
    Any,
}

/// Findings of a comparison of two lists of tools.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of tool names on either side.
    pub tools: usize,
    /// Findings, most severe first.
    pub changes: Vec<Change>,
    /// Findings covered by a waiver.
    pub waived: Vec<Waived>,
    /// Waivers that have expired or cover nothing.
    pub stale: Vec<String>,
}

impl Report {
    pub(crate) fn new(tools: usize, changes: Vec<Change>) -> Report {
        Report { tools, changes, waived: Vec::new(), stale: Vec::new() }
    }

    /// Adds the report of another server. With a server name, its tools are renamed to `server/tool`.
    pub fn join(&mut self, other: Report, server: Option<&str>) {
        let named = |mut change: Change| {
            if let Some(server) = server {
                change.tool = format!("{server}/{}", change.tool);
            }
            change
        };
        self.tools += other.tools;
        self.changes.extend(other.changes.into_iter().map(named));
        self.changes.sort_by_key(|change| std::cmp::Reverse(change.verdict));
        self.waived.extend(other.waived);
        self.stale.extend(other.stale);
    }

    /// Returns the findings on unusable schemas.
    pub fn unusable(&self) -> impl Iterator<Item = (&Change, Sides)> {
        self.changes.iter().filter_map(|change| Some((change, change.unusable()?)))
    }

    /// Counts the changes by verdict.
    pub fn summary(&self) -> Summary {
        let count = |level| self.changes.iter().filter(|change| change.verdict == level).count();
        Summary {
            breaking: count(Level::Breaking),
            dangerous: count(Level::Dangerous),
            compatible: count(Level::Compatible),
            unknown: count(Level::Unknown),
        }
    }

    /// The most severe verdict.
    pub fn verdict(&self) -> Level {
        self.changes.iter().map(|change| change.verdict).max().unwrap_or_default()
    }

    /// The largest version step of all changes, including waived ones.
    pub fn suggested_bump(&self) -> Bump {
        let waived = self.waived.iter().map(|waived| waived.change.bump);
        self.changes.iter().map(|change| change.bump).chain(waived).max().unwrap_or_default()
    }

    /// `true` if the check fails: because of a verdict at or over `fail_on`, or because of unknown verdicts or stale
    /// waivers under `strict` or a `fail_on` stricter than breaking.
    pub fn fails(&self, fail_on: FailOn, strict: bool) -> bool {
        let least = match fail_on {
            FailOn::Breaking => Level::Breaking,
            FailOn::Dangerous => Level::Dangerous,
            FailOn::Any => Level::Compatible,
        };
        self.changes.iter().any(|change| match change.verdict {
            Level::Unknown => strict || fail_on != FailOn::Breaking,
            level => level >= least,
        }) || (!self.stale.is_empty() && (strict || fail_on != FailOn::Breaking))
    }

    /// One line that counts tools by their most severe verdict.
    pub fn headline(&self) -> String {
        let mut worst: std::collections::BTreeMap<&str, (Level, bool)> = std::collections::BTreeMap::new();
        for change in &self.changes {
            let declared = change.notes.iter().any(|note| matches!(note, Note::DeclaredWorldOnly(_)));
            let entry = worst.entry(&change.tool).or_default();
            *entry = (entry.0.max(change.verdict), entry.1 || declared);
        }
        let count = |level| worst.values().filter(|(own, _)| *own == level).count();
        let (breaking, dangerous, unknown) =
            (count(Level::Breaking), count(Level::Dangerous), count(Level::Unknown));
        let declared =
            worst.values().filter(|(level, declared)| *level == Level::Compatible && *declared).count();
        let compatible = self.tools.saturating_sub(breaking + dangerous + unknown);
        format!(
            "{} tools: {breaking} breaking, {dangerous} dangerous, {unknown} unknown, {compatible} compatible ({} proved, {declared} declared-world); suggested step: {}",
            self.tools,
            compatible.saturating_sub(declared),
            self.suggested_bump().name()
        )
    }

    /// The report as JSON in its documented, stable form.
    pub fn to_json(&self) -> Value {
        let changes: Vec<Value> = self.changes.iter().map(written).collect();
        let summary = self.summary();
        let mut report = json!({
            "verdict": self.verdict().name(),
            "suggested_bump": self.suggested_bump().name(),
            "summary": {"breaking": summary.breaking, "dangerous": summary.dangerous,
                "compatible": summary.compatible, "unknown": summary.unknown},
            "changes": changes,
        });
        if !self.waived.is_empty() || !self.stale.is_empty() {
            let waived = self.waived.iter();
            let waived: Vec<Value> =
                waived.map(|one| json!({"change": written(&one.change), "reason": one.reason})).collect();
            if let Some(members) = report.as_object_mut() {
                members.insert("waived".to_owned(), waived.into());
                members.insert("stale_waivers".to_owned(), json!(self.stale));
            }
        }
        report
    }
}

/// One finding as JSON in its documented, stable form.
fn written(change: &Change) -> Value {
    let mut map = Map::new();
    map.insert("id".to_owned(), json!(change.id));
    map.insert("tool".to_owned(), json!(change.tool));
    map.insert("path".to_owned(), json!(change.path));
    map.insert("direction".to_owned(), json!(change.direction.name()));
    map.insert("verdict".to_owned(), json!(change.verdict.name()));
    map.insert("message".to_owned(), json!(change.message));
    if let Some(witness) = &change.witness {
        map.insert("witness".to_owned(), witness.clone());
    }
    if !change.notes.is_empty() {
        let notes: Vec<String> = change.notes.iter().map(ToString::to_string).collect();
        map.insert("notes".to_owned(), json!(notes));
    }
    map.insert("fingerprint".to_owned(), json!(change.fingerprint.as_str()));
    Value::Object(map)
}
