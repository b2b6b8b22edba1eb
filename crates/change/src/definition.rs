//! Comparison of two versions of a tool, except for name and schemas.

use serde_json::Value;
use toolcrib_contract::Definition;

use crate::change::{Change, Direction, Note};
use crate::diff::Options;
use crate::fingerprint::Fingerprint;
use crate::hints;
use crate::level::{Bump, Group, Level};
use crate::rule::rule;
use crate::text::{dangers, word_diff};

/// Maximum characters of a value shown in a message.
const SHOWN_MAX: usize = 120;

/// Finding before its rule is applied.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) id: &'static str,
    pub(crate) path: String,
    pub(crate) direction: Direction,
    pub(crate) name: String,
    pub(crate) old: Option<Value>,
    pub(crate) new: Option<Value>,
    pub(crate) level: Option<Level>,
    pub(crate) witness: Option<Value>,
    pub(crate) notes: Vec<Note>,
}

impl Draft {
    pub(crate) fn new(id: &'static str, path: impl Into<String>) -> Draft {
        Draft {
            id,
            path: path.into(),
            direction: Direction::Definition,
            name: String::new(),
            old: None,
            new: None,
            level: None,
            witness: None,
            notes: Vec::new(),
        }
    }

    pub(crate) fn parts(mut self, old: Option<&Value>, new: Option<&Value>) -> Draft {
        self.old = old.cloned();
        self.new = new.cloned();
        self
    }

    pub(crate) fn named(mut self, name: impl Into<String>) -> Draft {
        self.name = name.into();
        self
    }

    /// Applies the rule and the configured levels; returns `None` if the rule is switched off. A finding without a
    /// rule is an internal error and is reported as breaking, so that nothing passes because of it.
    pub(crate) fn finish(self, tool: &str, options: &Options) -> Option<Change> {
        let rule = rule(self.id);
        let level = self.level.or(rule.and_then(|rule| rule.level.fixed()));
        let mut verdict = if rule.is_some() { level.unwrap_or(Level::Unknown) } else { Level::Breaking };
        let regression = matches!(
            self.id,
            "safety.readonly-lost"
                | "safety.destructive-gained"
                | "safety.idempotent-lost"
                | "safety.openworld-gained"
        );
        if options.strict_safety && regression {
            verdict = Level::Breaking;
        }
        match options.levels.get(self.id) {
            Some(None) => return None,
            Some(Some(level)) => verdict = *level,
            None => {}
        }
        let declared_only = self.notes.iter().any(|note| matches!(note, Note::DeclaredWorldOnly(_)));
        let bump = match verdict {
            Level::Breaking | Level::Unknown => Bump::Major,
            _ if declared_only => Bump::Minor,
            _ => rule.map_or(Bump::Major, |rule| rule.bump),
        };
        let fingerprint = Fingerprint::of(
            self.id,
            tool,
            self.direction.name(),
            &self.path,
            self.old.as_ref(),
            self.new.as_ref(),
        );
        let message = match rule {
            Some(rule) => rule
                .message
                .replace("{name}", &self.name)
                .replace("{old}", &shown(self.old.as_ref()))
                .replace("{new}", &shown(self.new.as_ref())),
            None => {
                format!("internal error: no rule is called {:?}, so the change counts as breaking", self.id)
            }
        };
        Some(Change {
            id: self.id,
            tool: tool.to_owned(),
            path: self.path,
            direction: self.direction,
            group: rule.map_or(Group::Compatibility, |rule| rule.group),
            verdict,
            bump,
            message,
            old: self.old,
            new: self.new,
            witness: self.witness,
            notes: self.notes,
            fingerprint,
        })
    }
}

/// Formats a value for a message: shortened, with hidden characters escaped.
pub(crate) fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    let mut short: String = text.chars().take(SHOWN_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    toolcrib_contract::text::escaped(&short)
}

/// Builds the finding for a text that the model reads; if the added words are suspicious, its rule is
/// `security.text`.
pub(crate) fn prose(
    id: &'static str,
    path: String,
    old: Option<&Value>,
    new: Option<&Value>,
    others: &[&str],
) -> Draft {
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let (before, after) = (text(old), text(new));
    let found = dangers(&before, &after, others.iter().copied());
    let id = if found.is_empty() { id } else { "security.text" };
    let names: Vec<&str> = found.iter().map(|danger| danger.name()).collect();
    let mut draft = Draft::new(id, path).parts(old, new).named(names.join(", "));
    draft.notes.push(Note::WordDiff(word_diff(&before, &after)));
    draft
}

/// Returns every finding on the tool except those on name and schemas.
pub(crate) fn changes(old: &Definition, new: &Definition, options: &Options, others: &[&str]) -> Vec<Draft> {
    let (before, after) = (old.root().to_value(), new.root().to_value());
    let mut drafts = hints::changes(old, new);
    let mut keys: Vec<&String> =
        before.as_object().into_iter().chain(after.as_object()).flat_map(|map| map.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let (was, is) = (before.get(key), after.get(key));
        if was == is {
            continue;
        }
        let path = format!("/{}", crate::schema::escaped(key));
        match key.as_str() {
            "name" | "inputSchema" | "outputSchema" => {}
            "description" => drafts.push(prose("text.description", path, was, is, others)),
            "title" => drafts.push(Draft::new("title.changed", path).parts(was, is)),
            "icons" => drafts.push(Draft::new("icons.changed", path).parts(was, is)),
            "_meta" => drafts.extend(meta(was, is, options)),
            "execution" => {
                let support = |value: Option<&Value>| value.and_then(|own| own.get("taskSupport")).cloned();
                let (from, to) = (support(was), support(is));
                // Absent means forbidden.
                let forbidden = Value::from("forbidden");
                if from.as_ref().unwrap_or(&forbidden) == to.as_ref().unwrap_or(&forbidden) {
                    drafts.push(Draft::new("vendor.changed", path).parts(was, is).named(key.as_str()));
                } else {
                    let free = to.as_ref().and_then(Value::as_str) == Some("optional");
                    let mut draft = Draft::new("task.changed", "/execution/taskSupport")
                        .parts(from.as_ref(), to.as_ref());
                    draft.level = Some(if free { Level::Compatible } else { Level::Breaking });
                    drafts.push(draft);
                }
            }
            "annotations" => drafts.extend(annotations(was, is)),
            _ => drafts.push(Draft::new("vendor.changed", path).parts(was, is).named(key.as_str())),
        }
    }
    drafts
}

fn meta(was: Option<&Value>, is: Option<&Value>, options: &Options) -> Vec<Draft> {
    let entry = |value: Option<&Value>, key: &str| value.and_then(|own| own.get(key)).cloned();
    let watched = options.watched_meta.iter().find(|key| entry(was, key) != entry(is, key));
    let mut draft = Draft::new("meta.changed", "/_meta").parts(was, is);
    if watched.is_some() {
        draft.level = Some(Level::Dangerous);
    }
    vec![draft]
}

fn annotations(was: Option<&Value>, is: Option<&Value>) -> Vec<Draft> {
    const HINTS: [&str; 8] = [
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
        "readOnly",
        "destructive",
        "idempotent",
        "openWorld",
    ];
    let members = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
    let (before, after) = (members(was), members(is));
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter()
        .filter(|key| before.get(*key) != after.get(*key) && !HINTS.contains(&key.as_str()))
        .map(|key| {
            let id = match key.as_str() {
                "title" => "title.changed",
                "audience" => "audience.changed",
                "priority" => "priority.changed",
                _ => "vendor.changed",
            };
            let path = format!("/annotations/{}", crate::schema::escaped(key));
            Draft::new(id, path).parts(before.get(key), after.get(key)).named(key.as_str())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R7.3: a finding without a rule is breaking and names the missing rule; earlier it was dropped.
    #[test]
    fn a_finding_without_a_rule_is_breaking() {
        let change = Draft::new("no.such-rule", "/x").finish("tool", &Options::default()).unwrap();
        assert_eq!((change.verdict, change.bump), (Level::Breaking, Bump::Major));
        assert!(change.message.contains("no.such-rule"), "{}", change.message);
    }

    /// R7.4: the path of a vendor member is a JSON Pointer, with special characters escaped.
    #[test]
    fn the_path_of_a_vendor_member_is_escaped() {
        let definition = |text: &str| Definition::from_value(&serde_json::from_str(text).unwrap()).unwrap();
        let old = definition(r#"{"name":"t","inputSchema":{"type":"object"},"x/y~z":1}"#);
        let new = definition(r#"{"name":"t","inputSchema":{"type":"object"},"x/y~z":2}"#);
        let report = crate::diff(&[old], &[new], &Options::default());
        let paths: Vec<&str> = report.changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["/x~1y~0z"]);
    }
}
