//! Pairing of old and new tools: by name first, then by evidence of a rename. A rename is still breaking.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use toolcrib_contract::Definition;

use crate::edit_distance::{shared_words, similarity};

/// Minimum similarity at which a removed and an added tool count as a rename.
const RENAME_MIN: f64 = 0.62;
/// Maximum removed or added tools for which renames are searched; the search is quadratic.
const CANDIDATES_MAX: usize = 400;

/// Suspected rename.
#[derive(Debug)]
pub(crate) struct Rename<'d> {
    pub(crate) old: &'d Definition,
    pub(crate) new: &'d Definition,
    pub(crate) evidence: String,
}

/// Result of pairing two lists of tools.
#[derive(Debug, Default)]
pub(crate) struct Pairing<'d> {
    pub(crate) kept: Vec<(&'d Definition, &'d Definition)>,
    pub(crate) renamed: Vec<Rename<'d>>,
    pub(crate) removed: Vec<&'d Definition>,
    pub(crate) added: Vec<&'d Definition>,
}

pub(crate) fn pair<'d>(old: &'d [Definition], new: &'d [Definition]) -> Pairing<'d> {
    let mut pairing = Pairing::default();
    let mut by_name: HashMap<&str, &Definition> = HashMap::with_capacity(new.len());
    for tool in new {
        by_name.entry(tool.name()).or_insert(tool);
    }
    for tool in old {
        match by_name.get(tool.name()) {
            Some(other) => pairing.kept.push((tool, other)),
            None => pairing.removed.push(tool),
        }
    }
    let known: HashSet<&str> = old.iter().map(Definition::name).collect();
    pairing.added = new.iter().filter(|tool| !known.contains(tool.name())).collect();
    if pairing.removed.len().max(pairing.added.len()) <= CANDIDATES_MAX {
        renames(&mut pairing);
    }
    pairing
}

fn renames(pairing: &mut Pairing<'_>) {
    let mut scored: Vec<(f64, usize, usize, String)> = Vec::new();
    let removed: Vec<Traits<'_>> = pairing.removed.iter().map(|tool| Traits::of(tool)).collect();
    let added: Vec<Traits<'_>> = pairing.added.iter().map(|tool| Traits::of(tool)).collect();
    for (from, old) in removed.iter().enumerate() {
        for (to, new) in added.iter().enumerate() {
            let (score, evidence) = likeness(old, new);
            if score >= RENAME_MIN {
                scored.push((score, from, to, evidence));
            }
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    for (_, from, to, evidence) in scored {
        if gone.contains(&from) || come.contains(&to) {
            continue;
        }
        if let (Some(old), Some(new)) = (pairing.removed.get(from), pairing.added.get(to)) {
            pairing.renamed.push(Rename { old, new, evidence });
            gone.push(from);
            come.push(to);
        }
    }
    let keep = |tools: &[&_], taken: &[usize]| -> Vec<usize> {
        (0..tools.len()).filter(|at| !taken.contains(at)).collect()
    };
    let removed = keep(&pairing.removed, &gone);
    let added = keep(&pairing.added, &come);
    pairing.removed = removed.iter().filter_map(|at| pairing.removed.get(*at).copied()).collect();
    pairing.added = added.iter().filter_map(|at| pairing.added.get(*at).copied()).collect();
}

/// Properties of a tool that are compared, computed once per tool.
struct Traits<'d> {
    name: &'d str,
    description: String,
    schema: Option<Value>,
}

impl<'d> Traits<'d> {
    fn of(tool: &'d Definition) -> Traits<'d> {
        Traits {
            name: tool.name(),
            description: tool.description().unwrap_or_default().into_owned(),
            schema: tool.input_schema().map(toolcrib_contract::json::Node::to_value),
        }
    }

    /// `true` if the schema has properties; equal schemas without any are no evidence.
    fn telling(&self) -> bool {
        let properties =
            self.schema.as_ref().and_then(|own| own.get("properties")).and_then(Value::as_object);
        properties.is_some_and(|own| !own.is_empty())
    }
}

/// Returns the similarity of two tools and the evidence for it.
fn likeness(old: &Traits<'_>, new: &Traits<'_>) -> (f64, String) {
    let mut evidence = Vec::new();
    if old.name.to_lowercase() == new.name.to_lowercase() {
        return (1.0, "the names differ by case only".to_owned());
    }
    let names = similarity(old.name, new.name);
    let mut score = 0.35 * names;
    if old.telling() && old.schema == new.schema {
        score += 0.45;
        evidence.push("equal input schema".to_owned());
    } else if let (Some(before), Some(after)) = (&old.schema, &new.schema) {
        let shared = shared_properties(before, after);
        score += 0.3 * shared;
        if shared > 0.5 {
            evidence.push(format!("{:.0} % of the properties shared", shared * 100.0));
        }
    }
    let words = if old.description.is_empty() || new.description.is_empty() {
        0.0
    } else {
        shared_words(&old.description, &new.description)
    };
    score += 0.35 * words;
    if words > 0.6 {
        evidence.push(format!("{:.0} % alike description", words * 100.0));
    }
    if names > 0.6 {
        evidence.push(format!("{:.0} % alike name", names * 100.0));
    }
    (score, evidence.join(", "))
}

#[allow(clippy::cast_precision_loss)]
fn shared_properties(old: &Value, new: &Value) -> f64 {
    let (Some(a), Some(b)) = (properties_of(old), properties_of(new)) else { return 0.0 };
    let all = a.len().max(b.len());
    if all == 0 {
        return 0.0;
    }
    a.keys().filter(|key| b.contains_key(*key)).count() as f64 / all as f64
}

fn properties_of(schema: &Value) -> Option<&serde_json::Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}
