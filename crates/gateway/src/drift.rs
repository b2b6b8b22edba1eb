//! Drift of servers from the lock (R5.7: drift is judged by the rules of R7, with a policy per class), with the code
//! of `toolcrib check`.
//!
//! Guarantees: a tool is judged before it is served, at every connect and every change of its list. A quarantined tool
//! returns only when it equals its pin again, or when its new definition has been pinned.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use toolcrib_change::{Level, Lock, Options, Sides, diff, pinned_digest};
use toolcrib_contract::{Definition, Hints};

use crate::limits::DRIFT_JUDGED_MS_MAX;

/// Names of tools that a log line about kept pins shows.
const KEPT_SHOWN_MAX: usize = 20;

/// Action on one class of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Served.
    Pass,
    /// Served and reported.
    Warn,
    /// Kept aside until its digest is approved; the reason says how.
    Approve,
    /// Kept aside.
    Quarantine,
}

/// Action per class of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classes {
    /// Changes that make an existing caller fail.
    pub breaking: Action,
    /// A safety regression, an argument that is ignored now, or text that a model reads.
    pub dangerous: Action,
    /// Changes that harm no caller.
    pub compatible: Action,
    /// Changes that could not be decided.
    pub unknown: Action,
    /// A tool that the lock does not have.
    pub unpinned: Action,
}

impl Default for Classes {
    fn default() -> Self {
        Self {
            breaking: Action::Quarantine,
            dangerous: Action::Approve,
            compatible: Action::Pass,
            unknown: Action::Approve,
            unpinned: Action::Warn,
        }
    }
}

impl Action {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Approve => "approve",
            Self::Quarantine => "quarantine",
        }
    }
}

impl Classes {
    fn of(&self, level: Level) -> Action {
        match level {
            Level::Breaking => self.breaking,
            Level::Dangerous => self.dangerous,
            Level::Unknown => self.unknown,
            Level::Compatible => self.compatible,
        }
    }
}

/// The lock, and the action per class of change.
#[derive(Debug, Clone)]
pub struct Drift {
    lock: Lock,
    classes: Classes,
}

/// Action for one tool, and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) action: Action,
    pub(crate) reason: String,
    /// Class of the worst change; `None` for a tool that only one side has.
    pub(crate) level: Option<Level>,
}

impl Drift {
    #[must_use]
    pub fn new(lock: Lock, classes: Classes) -> Self {
        Self { lock, classes }
    }

    /// Keeps the pins of the lock before that this one lacks: a pin that vanishes while the gateway runs approves
    /// nothing.
    pub(crate) fn keeping(mut self, before: Option<&Self>) -> Self {
        let mut gone: BTreeMap<&str, Vec<Definition>> = BTreeMap::new();
        {
            let pinned: HashSet<(&str, &str)> =
                self.pinned().map(|(server, definition)| (server, definition.name())).collect();
            for (server, definition) in before.into_iter().flat_map(Self::pinned) {
                if !pinned.contains(&(server, definition.name())) {
                    gone.entry(server).or_default().push(definition.clone());
                }
            }
        }
        for (server, definitions) in gone {
            let tools: Vec<&str> = definitions.iter().map(Definition::name).take(KEPT_SHOWN_MAX).collect();
            tracing::warn!(
                target: "toolcrib",
                "the lock no longer pins {} tools of {server} ({}): their pins hold until the next start",
                definitions.len(),
                tools.join(", ")
            );
            self.lock.extend(server, definitions);
        }
        self
    }

    /// Returns the pinned definitions, each with its server's name.
    pub(crate) fn pinned(&self) -> impl Iterator<Item = (&str, &Definition)> {
        self.lock.tools().iter().map(|own| (own.server.as_str(), &own.definition))
    }

    /// Returns the pinned hints of each tool of a server. Policy reads the stricter of these and the live ones (R1.4:
    /// hints grant nothing).
    pub(crate) fn pinned_hints(&self, server: &str) -> HashMap<&str, Hints> {
        let pinned = self.lock.tools().iter().filter(|own| own.server == server);
        pinned.map(|own| (own.definition.name(), own.definition.annotations().hints)).collect()
    }

    /// Returns the action for each tool from `judge`, for fuzz targets.
    #[doc(hidden)]
    #[must_use]
    pub fn judged(&self, server: &str, live: &[Definition]) -> Vec<(String, Action)> {
        let found = self.judge(server, live.iter());
        found.into_iter().map(|(tool, finding)| (tool, finding.action)).collect()
    }

    /// Returns a finding for each tool of a server that differs from its pin, by name. A pinned tool that the server
    /// no longer lists is reported too.
    pub(crate) fn judge<'a>(
        &self,
        server: &str,
        live: impl Iterator<Item = &'a Definition>,
    ) -> HashMap<String, Finding> {
        let pinned = self.lock.tools().iter().filter(|own| own.server == server);
        let mut pinned: HashMap<&str, &Definition> =
            pinned.map(|own| (own.definition.name(), &own.definition)).collect();
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let mut found = HashMap::new();
        for definition in live {
            match pinned.remove(definition.name()) {
                // Most tools are unchanged; equal text needs no comparison.
                Some(known) if known.text() == definition.text() => {}
                Some(known) => {
                    old.push(known.clone());
                    new.push(definition.clone());
                }
                None => {
                    let (action, reason) = (self.classes.unpinned, "the lock does not have it".to_owned());
                    let finding = Finding { action, reason, level: None };
                    found.insert(definition.name().to_owned(), finding);
                }
            }
        }
        for gone in pinned.into_keys() {
            let (action, reason) = (Action::Warn, "pinned, and no longer offered".to_owned());
            let finding = Finding { action, reason, level: None };
            found.insert(gone.to_owned(), finding);
        }
        // Bounds the time, so that a server whose tools are all hard to compare delays nobody for longer.
        let budget = Duration::from_millis(DRIFT_JUDGED_MS_MAX);
        let report = diff(&old, &new, &Options { budget, ..Options::default() });
        // A report lists the worst change first.
        for change in report.changes.iter().rev() {
            // An unusable schema is never served, so there is nothing to approve. It is judged again once repaired.
            let is_unusable = change.unusable().is_some_and(Sides::has_new);
            let action = if is_unusable { Action::Quarantine } else { self.classes.of(change.verdict) };
            let level = change.verdict.name();
            let worse = found.get(&change.tool).is_none_or(|known: &Finding| known.action <= action);
            if worse {
                let reason = format!("{level} since it was pinned: {}", change.message);
                found.insert(change.tool.clone(), Finding { action, reason, level: Some(change.verdict) });
            }
        }
        for definition in &new {
            if let Some(finding) = found.get_mut(definition.name())
                && finding.action == Action::Approve
            {
                finding.reason.push_str(&format!("; once reviewed: {}", approval(server, definition)));
            }
        }
        found
    }
}

/// Returns the command that pins the current definition of a tool.
pub(crate) fn approval(server: &str, definition: &Definition) -> String {
    format!("toolcrib lock --approve '{server}/{}@{}'", definition.name(), pinned_digest(definition))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(text: &str) -> Definition {
        Definition::parse(text).expect("a definition")
    }

    const OLD: &str = r#"{"name":"send","description":"Sends.","annotations":{"readOnlyHint":false,"destructiveHint":true},
        "inputSchema":{"type":"object","required":["to"],"properties":{"to":{"type":"string"}}}}"#;

    fn judged(live: &[Definition]) -> HashMap<String, Finding> {
        let drift = Drift::new(Lock::new("mail", [tool(OLD)]), Classes::default());
        drift.judge("mail", live.iter())
    }

    /// R5.7: a tool that equals its pin is served.
    /// R5.7: a pin that a newer lock lacks stays in force: its tool is not approved by that.
    #[test]
    fn a_pin_that_vanishes_approves_nothing() {
        let broken = OLD.replace("\"to\"", "\"recipient\"");
        let before = Drift::new(Lock::new("mail", [tool(OLD)]), Classes::default());
        let judged = |drift: &Drift| drift.judged("mail", &[tool(&broken)]);
        assert_ne!(OLD, broken);
        let emptied = Drift::new(Lock::default(), Classes::default()).keeping(Some(&before));
        assert_eq!(judged(&emptied), judged(&before));
        let approved =
            Drift::new(Lock::new("mail", [tool(&broken)]), Classes::default()).keeping(Some(&before));
        assert!(judged(&approved).is_empty(), "a newer pin takes the place of the old one");
    }

    #[test]
    fn what_is_pinned_is_served_as_it_is() {
        assert!(judged(&[tool(OLD)]).is_empty());
    }

    /// R5.7: each class of change gets the action of its policy.
    #[test]
    fn each_class_of_change_meets_its_policy() {
        let breaking = OLD.replace(r#""required":["to"]"#, r#""required":["to","subject"]"#);
        let found = judged(&[tool(&breaking)]);
        assert_eq!(found["send"].action, Action::Quarantine, "{found:?}");
        assert!(found["send"].reason.contains("breaking since it was pinned"), "{found:?}");

        let tamer = OLD.replace(r#""destructiveHint":true"#, r#""destructiveHint":false"#);
        let found = judged(&[tool(&tamer)]);
        assert_eq!(found["send"].action, Action::Approve, "{found:?}");
        let digest = pinned_digest(&tool(&tamer)).to_string();
        assert!(found["send"].reason.contains(&format!("--approve 'mail/send@{digest}'")), "{found:?}");

        let other = r#"{"name":"delete","inputSchema":{"type":"object"}}"#;
        let found = judged(&[tool(OLD), tool(other)]);
        assert_eq!(found["delete"].action, Action::Warn, "{found:?}");
        assert_eq!(judged(&[])["send"].action, Action::Warn);
    }

    /// R5.7: a schema that became unusable is quarantined whatever the policy is, and cannot be approved. If a pinned
    /// unusable schema is repaired, the tool waits for an approval.
    #[test]
    fn an_unusable_schema_is_quarantined_and_its_repair_is_approved() {
        let broken = OLD.replace(r#""type":"string""#, r#""type":"strin""#);
        let found = judged(&[tool(&broken)]);
        assert_eq!(found["send"].action, Action::Quarantine, "{found:?}");
        assert!(found["send"].reason.contains("the schema is unusable"), "{found:?}");
        assert!(!found["send"].reason.contains("--approve"), "{found:?}");

        let lax = Classes { unknown: Action::Pass, ..Classes::default() };
        let found = Drift::new(Lock::new("mail", [tool(OLD)]), lax).judge("mail", [tool(&broken)].iter());
        assert_eq!(found["send"].action, Action::Quarantine, "{found:?}");

        let pinned = Drift::new(Lock::new("mail", [tool(&broken)]), Classes::default());
        assert!(pinned.judge("mail", [tool(&broken)].iter()).is_empty(), "it is what was pinned");
        let found = pinned.judge("mail", [tool(OLD)].iter());
        assert_eq!(found["send"].action, Action::Approve, "{found:?}");
    }

    /// R5.7: a server whose tools all became hard to compare is judged for at most DRIFT_JUDGED_MS_MAX; none of them
    /// passes.
    #[test]
    fn riddles_are_judged_for_a_bounded_time() {
        let riddle = |n: usize, least: usize| {
            let choice = |a: usize| {
                let names: Vec<String> = (0..12).map(|b| format!(r#"{{"required":["p{a}_{b}"]}}"#)).collect();
                format!(r#"{{"anyOf":[{}]}}"#, names.join(","))
            };
            let all: Vec<String> = (0..40).map(choice).collect();
            let schema =
                format!(r#"{{"type":"object","minProperties":{least},"allOf":[{}]}}"#, all.join(","));
            tool(&format!(r#"{{"name":"t{n}","inputSchema":{schema}}}"#))
        };
        let drift = Drift::new(Lock::new("mail", (0..24).map(|n| riddle(n, 0))), Classes::default());
        let live: Vec<Definition> = (0..24).map(|n| riddle(n, 1)).collect();
        let begun = std::time::Instant::now();
        let found = drift.judge("mail", live.iter());
        assert!(begun.elapsed() < Duration::from_millis(3 * DRIFT_JUDGED_MS_MAX), "{:?}", begun.elapsed());
        assert!(found.len() == 24 && found.values().all(|one| one.action == Action::Approve), "{found:?}");
    }

    /// R1.4: pinned hints are available to the policy.
    #[test]
    fn pinned_hints_are_remembered() {
        let drift = Drift::new(Lock::new("mail", [tool(OLD)]), Classes::default());
        assert_eq!(drift.pinned_hints("mail")["send"].destructive, Some(true));
        assert!(drift.pinned_hints("other").is_empty());
    }
}
