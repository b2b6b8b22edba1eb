//! Applicators: keywords that apply subschemas to the value in place, or to its members and elements.

use serde_json::{Map, Value};

use super::super::dialect::Dialect;
use super::report::Report;
use super::trail::Trail;
use super::{Here, Walk};
use crate::json::Node;
use crate::limits;
use crate::violation::{Ended, Nearest, Violation, nearest, quoted};

/// Maximum depth to which branches inside branches are followed: the maximum depth of a value.
const CAUSE_DEPTH_MAX: usize = limits::JSON_DEPTH_MAX;
/// Maximum violations shown of the closest branch.
const CAUSES_MAX: usize = 4;
/// Maximum violations of one branch that are counted to find the closest branch.
const COUNTED_MAX: usize = 16;

impl Walk<'_> {
    /// Applies a keyword that applies subschemas.
    pub(super) fn applicator(
        &mut self,
        here: &Here<'_>,
        keyword: &str,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        match keyword {
            "$ref" | "$dynamicRef" | "$recursiveRef" => self.follow(here, keyword, node, trail, out),
            "allOf" => self.all_of(value, node, trail, out),
            "anyOf" => self.any_of(here, value, node, trail, out),
            "oneOf" => self.one_of(here, value, node, trail, out),
            "not" => match self.graph.find(value) {
                Some(at) if self.accepts(at, node, trail)? => {
                    self.refuse(out, here.at, "not", node, trail, |violation| {
                        violation.expected = "a value that does not match a forbidden schema".to_owned();
                    })
                }
                _ => Ok(true),
            },
            "if" if here.dialect >= Dialect::Draft7 => self.conditional(here, value, node, trail, out),
            "dependentSchemas" | "dependencies" if node.is_object() => {
                self.dependent_schemas(here, keyword, value, node, trail, out)
            }
            "properties" | "patternProperties" | "additionalProperties" | "propertyNames"
                if node.is_object() =>
            {
                self.members(here, keyword, value, node, trail, out)
            }
            "items" | "prefixItems" | "additionalItems" | "contains" if node.is_array() => {
                self.elements(here, keyword, value, node, trail, out)
            }
            "unevaluatedProperties" | "unevaluatedItems" if here.dialect >= Dialect::Draft201909 => {
                self.unevaluated(here, keyword, value, node, trail, out)
            }
            _ => Ok(true),
        }
    }

    /// Applies the target of a reference. Results for containers are memoized, because recursive schemas apply the
    /// same target to the same value repeatedly.
    pub(super) fn follow(
        &mut self,
        here: &Here<'_>,
        keyword: &str,
        node: Node<'_>,
        trail: &Trail<'_>,
        out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        // Only the validator knows a published meta-schema or a dynamic reference with several targets.
        let Some(target) = self.graph.target(here.at, keyword) else {
            self.is_lost = true;
            return Ok(true);
        };
        if out.is_some() || !(node.is_object() || node.is_array()) {
            return self.apply(target, node, trail, out);
        }
        let key = (target, node.identity());
        if let Some(&known) = self.remembered.get(&key) {
            return Ok(known);
        }
        let holds = self.apply(target, node, trail, None)?;
        if self.remembered.len() < super::REMEMBERED_MAX {
            self.remembered.insert(key, holds);
        }
        Ok(holds)
    }

    fn branches(&self, value: &Value) -> Vec<u32> {
        value.as_array().into_iter().flatten().filter_map(|branch| self.graph.find(branch)).collect()
    }

    fn all_of(
        &mut self,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        mut out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        let mut holds = true;
        for at in self.branches(value) {
            holds &= self.apply(at, node, trail, out.as_deref_mut())?;
            if !holds && out.is_none() {
                break;
            }
        }
        Ok(holds)
    }

    fn any_of(
        &mut self,
        here: &Here<'_>,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        let branches = self.branches(value);
        for &at in &branches {
            if self.accepts(at, node, trail)? {
                return Ok(true);
            }
        }
        self.no_branch(here, "anyOf", &branches, node, trail, out)
    }

    fn one_of(
        &mut self,
        here: &Here<'_>,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        let branches = self.branches(value);
        let mut matching = 0;
        for &at in &branches {
            matching += usize::from(self.accepts(at, node, trail)?);
        }
        match matching {
            1 => Ok(true),
            0 => self.no_branch(here, "oneOf", &branches, node, trail, out),
            _ => self.refuse(out, here.at, "oneOf", node, trail, |violation| {
                violation.expected =
                    format!("exactly one of {} alternatives to match, {matching} do", branches.len());
            }),
        }
    }

    /// Reports that no branch accepts, with the violations of the closest branch as causes.
    fn no_branch(
        &mut self,
        here: &Here<'_>,
        keyword: &str,
        branches: &[u32],
        node: Node<'_>,
        trail: &Trail<'_>,
        out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        let Some(report) = out else { return Ok(false) };
        let (causes, ended) = if report.depth < CAUSE_DEPTH_MAX {
            match self.closest(branches, node, trail, report) {
                Ok(causes) => (causes, None),
                // The refusal itself is certain, so it is reported without causes.
                Err(ended) => (Vec::new(), Some(ended)),
            }
        } else {
            (Vec::new(), None)
        };
        self.refuse(Some(report), here.at, keyword, node, trail, |violation| {
            violation.expected = format!("one of {} alternatives to match, none does", branches.len());
            violation.causes = shortened(causes);
        })?;
        ended.map_or(Ok(false), Err)
    }

    /// Returns the violations of the branch that gets furthest into the value; among equals, of that with the fewest.
    fn closest(
        &mut self,
        branches: &[u32],
        node: Node<'_>,
        trail: &Trail<'_>,
        report: &Report,
    ) -> Result<Vec<Violation>, Ended> {
        let place = trail.pointer();
        let mut best: Option<((bool, usize, usize), u32)> = None;
        for &at in branches {
            let mut branch = report.of_branch(COUNTED_MAX, false);
            match self.apply(at, node, trail, Some(&mut branch)) {
                Ok(_) | Err(Ended::Violations | Ended::Bytes) => {}
                Err(ended) => return Err(ended),
            }
            let list = branch.as_slice();
            let depth = |violation: &Violation| violation.instance_path.as_str().matches('/').count();
            let reach = list.iter().map(depth).max().unwrap_or(0);
            let is_other_type = list.iter().any(|v| v.keyword == "type" && v.instance_path == place);
            let key = (is_other_type, usize::MAX - reach, list.len());
            if !list.is_empty() && best.is_none_or(|(least, _)| key < least) {
                best = Some((key, at));
            }
        }
        let Some((_, at)) = best else { return Ok(Vec::new()) };
        let mut causes = report.of_branch(CAUSES_MAX, true);
        match self.apply(at, node, trail, Some(&mut causes)) {
            Ok(_) | Err(Ended::Violations | Ended::Bytes) => Ok(causes.into_list()),
            Err(ended) if causes.as_slice().is_empty() => Err(ended),
            Err(_) => Ok(causes.into_list()),
        }
    }

    fn conditional(
        &mut self,
        here: &Here<'_>,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        let Some(condition) = self.graph.find(value) else { return Ok(true) };
        let chosen = if self.accepts(condition, node, trail)? { "then" } else { "else" };
        match here.members.get(chosen).and_then(|schema| self.graph.find(schema)) {
            Some(at) => self.apply(at, node, trail, out),
            None => Ok(true),
        }
    }

    fn dependent_schemas(
        &mut self,
        here: &Here<'_>,
        keyword: &str,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        mut out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        let mut holds = true;
        for (name, schema) in value.as_object().into_iter().flatten() {
            self.spend(1 + (node.len() as u64 >> 4))?;
            let Some(at) = self.graph.find(schema).filter(|_| node.get(name).is_some()) else { continue };
            holds &= self.apply(at, node, trail, out.as_deref_mut())?;
            if !holds && out.is_none() {
                return Ok(false);
            }
        }
        Ok(holds && (keyword != "dependencies" || self.dependent(here, keyword, value, node, trail, out)?))
    }

    fn members(
        &mut self,
        here: &Here<'_>,
        keyword: &str,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        mut out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        if keyword == "additionalProperties" && *value == Value::Bool(false) {
            return self.no_others(here, node, trail, out);
        }
        let mut holds = true;
        for (key, member) in node.members() {
            self.spend(1)?;
            let trail = &trail.member(key);
            for at in self.schemas_of_member(here, keyword, value, key)? {
                holds &= match keyword {
                    "propertyNames" => self.name(here, at, key, node, trail, out.as_deref_mut())?,
                    _ => self.apply(at, member, trail, out.as_deref_mut())?,
                };
            }
            if !holds && out.is_none() {
                break;
            }
        }
        Ok(holds)
    }

    /// Returns the subschemas that `keyword` applies to the member with this key.
    pub(super) fn schemas_of_member(
        &mut self,
        here: &Here<'_>,
        keyword: &str,
        value: &Value,
        key: Node<'_>,
    ) -> Result<Vec<u32>, Ended> {
        let name = key.as_str().unwrap_or_default();
        let whole = |walk: &Self| walk.graph.find(value).into_iter().collect();
        Ok(match keyword {
            "properties" => {
                value.get(&*name).and_then(|schema| self.graph.find(schema)).into_iter().collect()
            }
            "patternProperties" => {
                let mut matching = Vec::new();
                for (pattern, schema) in value.as_object().into_iter().flatten() {
                    if self.matches(here, pattern, schema, key)? {
                        matching.extend(self.graph.find(schema));
                    }
                }
                matching
            }
            "additionalProperties" if self.is_declared(here, key)? => Vec::new(),
            _ => whole(self),
        })
    }

    /// `true` if `properties` or `patternProperties` of the same subschema cover the member with this key.
    fn is_declared(&mut self, here: &Here<'_>, key: Node<'_>) -> Result<bool, Ended> {
        let name = key.as_str().unwrap_or_default();
        if here.members.get("properties").is_some_and(|declared| declared.get(&*name).is_some()) {
            return Ok(true);
        }
        let patterns = here.members.get("patternProperties").and_then(Value::as_object);
        for (pattern, schema) in patterns.into_iter().flatten() {
            if self.matches(here, pattern, schema, key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns `true` if a key matches a pattern of `patternProperties`.
    fn matches(
        &mut self,
        here: &Here<'_>,
        pattern: &str,
        schema: &Value,
        key: Node<'_>,
    ) -> Result<bool, Ended> {
        let address = std::ptr::from_ref(schema) as usize;
        self.alone(here, "pattern", address, || pattern.into(), key)
    }

    /// Applies `additionalProperties: false`, with one violation for all undeclared members.
    fn no_others(
        &mut self,
        here: &Here<'_>,
        node: Node<'_>,
        trail: &Trail<'_>,
        out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        let mut others = Vec::new();
        for (key, _) in node.members() {
            self.spend(1)?;
            if !self.is_declared(here, key)? {
                others.push(key);
                if out.is_none() || others.len() > limits::VIOLATION_ALLOWED_MAX {
                    break;
                }
            }
        }
        if others.is_empty() {
            return Ok(true);
        }
        self.refuse(out, here.at, "additionalProperties", node, trail, |violation| {
            unexpected(violation, here.members, &others);
        })
    }

    /// Applies `propertyNames` to one key.
    fn name(
        &mut self,
        here: &Here<'_>,
        at: u32,
        key: Node<'_>,
        node: Node<'_>,
        trail: &Trail<'_>,
        out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        if self.accepts(at, key, trail)? {
            return Ok(true);
        }
        let Some(report) = out else { return Ok(false) };
        let mut causes = report.of_branch(1, true);
        // A name has no path of its own, so both violations point to the object.
        let object = trail.before();
        match self.apply(at, key, object, Some(&mut causes)) {
            Ok(_) | Err(Ended::Violations | Ended::Bytes) => {}
            Err(ended) => return Err(ended),
        }
        let causes = causes.into_list();
        self.refuse(Some(report), here.at, "propertyNames", node, object, |violation| {
            let wanted = causes.first().map_or("allowed", |cause| cause.expected.as_str());
            let name = quoted(&key.as_str().unwrap_or_default());
            violation.expected = format!("property names that are {wanted}, not {name}");
            violation.found = None;
            violation.causes = causes;
        })
    }

    fn elements(
        &mut self,
        here: &Here<'_>,
        keyword: &str,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        mut out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        if keyword == "contains" {
            return self.contains(here, value, node, trail, out);
        }
        let mut holds = true;
        for (index, element) in node.elements().enumerate() {
            self.spend(1)?;
            let Some(schema) = schema_of_element(here, keyword, value, index) else { continue };
            let Some(at) = self.graph.find(schema) else { continue };
            holds &= self.apply(at, element, &trail.element(index), out.as_deref_mut())?;
            if !holds && out.is_none() {
                break;
            }
        }
        Ok(holds)
    }

    fn contains(
        &mut self,
        here: &Here<'_>,
        value: &Value,
        node: Node<'_>,
        trail: &Trail<'_>,
        out: Option<&mut Report>,
    ) -> Result<bool, Ended> {
        let Some(at) = self.graph.find(value).filter(|_| here.dialect >= Dialect::Draft6) else {
            return Ok(true);
        };
        let bound = |name: &str| match here.dialect >= Dialect::Draft201909 {
            true => here.members.get(name).and_then(Value::as_f64),
            false => None,
        };
        let (least, most) = (bound("minContains").unwrap_or(1.0), bound("maxContains"));
        let mut matching = 0usize;
        for (index, element) in node.elements().enumerate() {
            matching += usize::from(self.accepts(at, element, &trail.element(index))?);
        }
        if let Some(most) = most.filter(|most| matching as f64 > *most) {
            return self.refuse(out, here.at, "maxContains", node, trail, |violation| {
                violation.expected = format!("at most {most} items that \"contains\" describes");
            });
        }
        if matching as f64 >= least {
            return Ok(true);
        }
        self.refuse(out, here.at, "contains", node, trail, |violation| {
            violation.expected = "an item that the schema asks for".to_owned();
        })
    }
}

/// Skips levels with a single cause: if the closest branch fails only because of a nested choice of branches, the
/// causes of the nested choice are more useful.
fn shortened(mut causes: Vec<Violation>) -> Vec<Violation> {
    match causes.as_mut_slice() {
        [only] if !only.causes.is_empty() => std::mem::take(&mut only.causes),
        _ => causes,
    }
}

/// Returns the subschema that `keyword` applies to the element at `index`.
pub(super) fn schema_of_element<'v>(
    here: &Here<'_>,
    keyword: &str,
    value: &'v Value,
    index: usize,
) -> Option<&'v Value> {
    let listed = |name: &str| here.members.get(name).and_then(Value::as_array).map(Vec::len);
    let has_prefix = here.dialect >= Dialect::Draft202012;
    match (keyword, value) {
        ("prefixItems", Value::Array(list)) if has_prefix => list.get(index),
        ("items", Value::Array(list)) if !has_prefix => list.get(index),
        ("items", _) => {
            let before = if has_prefix { listed("prefixItems").unwrap_or(0) } else { 0 };
            (index >= before).then_some(value)
        }
        // Without a list in `items`, `additionalItems` has no meaning.
        ("additionalItems", _) if !has_prefix => (index >= listed("items")?).then_some(value),
        _ => None,
    }
}

/// Describes members that the schema does not declare.
pub(super) fn unexpected(violation: &mut Violation, members: &Map<String, Value>, others: &[Node<'_>]) {
    let declared = members.get("properties").and_then(Value::as_object);
    let known = || declared.into_iter().flat_map(Map::keys).map(String::as_str);
    let names = || others.iter().take(limits::VIOLATION_ALLOWED_MAX).filter_map(|key| key.as_str());
    violation.nearest = names().find_map(|given| {
        let known = nearest(&given, known())?.to_owned();
        Some(Nearest { given: given.into_owned(), known })
    });
    violation.found = None;
    let more = if others.len() > limits::VIOLATION_ALLOWED_MAX { " and more" } else { "" };
    let listed: Vec<_> = names().map(|name| quoted(&name)).collect();
    let allowed = match known().count() {
        0 => String::new(),
        count => {
            let shown: Vec<_> = known().take(limits::VIOLATION_KNOWN_MAX).collect();
            let rest = count.saturating_sub(shown.len());
            let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            format!(" (known: {}{rest})", shown.join(", "))
        }
    };
    violation.expected = format!("no property {}{more}{allowed}", listed.join(", "));
}
