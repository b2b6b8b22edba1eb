//! Comparison of two lists of tools.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use toolcrib_containment::limits::{PROVER_ALL_MS_MAX, PROVER_PAIR_MS_MAX};
use toolcrib_containment::{Prover, World};
use toolcrib_contract::Definition;

use crate::change::{Change, Note};
use crate::definition::{self, Draft};
use crate::level::Level;
use crate::pairing::{self, Rename};
use crate::report::Report;
use crate::schema;
use crate::unusable::{self, SCHEMAS, Sides};

/// Options of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// Assumption about properties that schemas do not declare.
    pub world: World,
    /// `true` if `format` is an assertion.
    pub assert_formats: bool,
    /// Maximum time for one question to the prover.
    pub timeout: Duration,
    /// Maximum time for all questions to the prover; later questions are answered *unknown*.
    pub budget: Duration,
    /// `true` if safety regressions are breaking.
    pub strict_safety: bool,
    /// `true` if a value added to an output enum is dangerous instead of breaking.
    pub extensible_enums: bool,
    /// `true` if the tools are served over HTTP, where `x-mcp-header` matters.
    pub http: bool,
    /// Aliases: old tool names that still work, with the new name of each.
    pub aliases: BTreeMap<String, String>,
    /// Keys of `_meta` whose change is dangerous, because a policy reads them.
    pub watched_meta: BTreeSet<String>,
    /// Tool names of other servers, for the shadowing rule.
    pub foreign_names: BTreeSet<String>,
    /// Levels by rule id; `None` switches the rule off.
    pub levels: BTreeMap<String, Option<Level>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            world: World::Declared,
            assert_formats: false,
            timeout: Duration::from_millis(PROVER_PAIR_MS_MAX),
            budget: Duration::from_millis(PROVER_ALL_MS_MAX),
            strict_safety: false,
            extensible_enums: false,
            http: true,
            aliases: BTreeMap::new(),
            watched_meta: BTreeSet::new(),
            foreign_names: BTreeSet::new(),
            levels: BTreeMap::new(),
        }
    }
}

/// Compares two lists of tools and judges every change.
pub fn diff(old: &[Definition], new: &[Definition], options: &Options) -> Report {
    let prover = Prover::new(toolcrib_containment::Options {
        world: options.world,
        assert_formats: options.assert_formats,
        timeout: options.timeout,
        ..toolcrib_containment::Options::default()
    })
    .within(options.budget);
    let mut changes = prover.on_large_stack(|| changes(old, new, options, &prover));
    changes.sort_by(|a, b| {
        b.verdict
            .cmp(&a.verdict)
            .then_with(|| a.tool.cmp(&b.tool))
            .then_with(|| a.path.cmp(&b.path))
            .then(a.id.cmp(b.id))
    });
    let names: BTreeSet<&str> = old.iter().chain(new).map(Definition::name).collect();
    Report::new(names.len(), changes)
}

fn changes(old: &[Definition], new: &[Definition], options: &Options, prover: &Prover) -> Vec<Change> {
    let names: Vec<&str> = new.iter().map(Definition::name).collect();
    let pairing = pairing::pair(old, new);
    let mut changes = Vec::new();
    for (before, after) in &pairing.kept {
        changes.extend(of_pair(before, after, options, prover, &names));
    }
    for rename in &pairing.renamed {
        changes.extend(renamed(rename, options).finish(rename.old.name(), options));
        changes.extend(of_pair(rename.old, rename.new, options, prover, &names));
    }
    for tool in &pairing.removed {
        let mut draft = Draft::new("tool.removed", "").named(tool.name());
        if options.aliases.contains_key(tool.name()) {
            draft.level = Some(Level::Dangerous);
        }
        draft.old = Some(Value::from(tool.name()));
        changes.extend(draft.finish(tool.name(), options));
        changes.extend(unusable_alone(tool, Sides::Old, options, prover));
    }
    let taken = if pairing.added.is_empty() { BTreeMap::new() } else { looks(old, options) };
    for tool in &pairing.added {
        let clash = taken.get(&fold(tool.name())).cloned();
        let id = if clash.is_some() { "tool.shadowing" } else { "tool.added" };
        let mut draft = Draft::new(id, "").named(clash.unwrap_or_else(|| tool.name().to_owned()));
        draft.new = Some(Value::from(tool.name()));
        changes.extend(draft.finish(tool.name(), options));
        changes.extend(unusable_alone(tool, Sides::New, options, prover));
    }
    changes
}

/// Returns the findings on unusable schemas of a tool that has no counterpart.
fn unusable_alone(tool: &Definition, sides: Sides, options: &Options, prover: &Prover) -> Vec<Change> {
    let found = unusable::of_tool(tool, prover);
    found.iter().filter_map(|one| one.draft(sides).finish(tool.name(), options)).collect()
}

fn renamed(rename: &Rename<'_>, options: &Options) -> Draft {
    let (from, to) = (Value::from(rename.old.name()), Value::from(rename.new.name()));
    let mut draft = Draft::new("tool.renamed", "/name").parts(Some(&from), Some(&to));
    if options.aliases.get(rename.old.name()).map(String::as_str) == Some(rename.new.name()) {
        draft.level = Some(Level::Dangerous);
    }
    draft.notes.push(Note::Evidence(rename.evidence.clone()));
    draft
}

/// Indexes the names that a new tool could be confused with, by their folded form.
fn looks(old: &[Definition], options: &Options) -> BTreeMap<String, String> {
    let names = old.iter().map(Definition::name).chain(options.foreign_names.iter().map(String::as_str));
    let mut looks = BTreeMap::new();
    for name in names {
        looks.entry(fold(name)).or_insert_with(|| name.to_owned());
    }
    looks
}

/// Folds a name to what a hurried reader sees: without case, separators and look-alike letters.
fn fold(name: &str) -> String {
    name.chars()
        .filter(|character| character.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .map(|character| match character {
            '0' | 'о' | 'ο' => 'o',
            '1' | 'і' | 'ı' | 'l' => 'i',
            'а' | 'α' => 'a',
            'е' | 'ε' => 'e',
            'с' => 'c',
            'р' | 'ρ' => 'p',
            'х' | 'χ' => 'x',
            'у' => 'y',
            'ѕ' => 's',
            other => other,
        })
        .collect()
}

fn of_pair(
    old: &Definition,
    new: &Definition,
    options: &Options,
    prover: &Prover,
    names: &[&str],
) -> Vec<Change> {
    if old.text() == new.text() {
        return unusable_alone(new, Sides::Both, options, prover);
    }
    let others: Vec<&str> =
        names.iter().copied().filter(|name| *name != new.name() && *name != old.name()).collect();
    let mut drafts = definition::changes(old, new, options, &others);
    for (direction, key) in SCHEMAS {
        let part = |tool: &Definition| tool.get(key).map(toolcrib_contract::json::Node::to_value);
        let unusable = |tool: &Definition| unusable::of_schema(tool, direction, key, prover);
        let (before, after) = (part(old), part(new));
        if before == after {
            drafts.extend(unusable(new).map(|one| one.draft(Sides::Both)));
            continue;
        }
        let (bad_before, bad_after) = (unusable(old), unusable(new));
        let is_judged = bad_before.is_none() && bad_after.is_none();
        let place = schema::Place { direction, key, options, prover, others: &others, is_judged };
        drafts.extend(bad_before.map(|one| one.draft(Sides::Old)));
        drafts.extend(bad_after.map(|one| one.draft(Sides::New)));
        drafts.extend(schema::changes(before.as_ref(), after.as_ref(), &place));
    }
    drafts.into_iter().filter_map(|draft| draft.finish(old.name(), options)).collect()
}
