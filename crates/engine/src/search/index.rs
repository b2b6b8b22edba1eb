//! BM25 over fields: a word in a tool's name weighs more than one in a parameter's description.
//!
//! Guarantees: same tools, same ranking; ties are broken by place in the list. A search touches only the tools that
//! share a word with the question.

use std::collections::HashMap;

use toolcrib_contract::Definition;
use toolcrib_contract::json::Node;

use super::synonyms;
use super::words::each_stem;

const FIELDS: usize = 5;
/// Name, title, description, parameters, toolset.
const WEIGHTS: [f32; FIELDS] = [3.0, 2.0, 2.0, 0.5, 2.0];
/// How much a field's length counts against it.
const LENGTH: [f32; FIELDS] = [0.5, 0.4, 0.5, 0.6, 0.3];
/// How soon repeating a word stops to matter.
const K1: f32 = 2.0;
/// How much a word counts that only stands for the one that was asked.
const SYNONYM: f32 = 0.4;

/// Depth to which parameters' own members are read.
const PARAMETER_DEPTH_MAX: usize = 3;

/// A tool's text by field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    pub name: String,
    pub title: String,
    pub description: String,
    pub parameters: String,
    pub toolset: String,
}

impl Text {
    #[must_use]
    pub fn of(definition: &Definition, toolset: &str) -> Self {
        let mut parameters = String::new();
        if let Some(schema) = definition.input_schema() {
            read_parameters(schema, 0, &mut parameters);
        }
        let title = definition.title().or_else(|| definition.annotations().title.map(Into::into));
        Self {
            name: definition.name().to_owned(),
            title: title.unwrap_or_default().into_owned(),
            description: definition.description().unwrap_or_default().into_owned(),
            parameters,
            toolset: toolset.to_owned(),
        }
    }

    fn fields(&self) -> [&str; FIELDS] {
        [&self.name, &self.title, &self.description, &self.parameters, &self.toolset]
    }
}

/// Names, descriptions and literals of parameters.
fn read_parameters(schema: Node<'_>, depth: usize, out: &mut String) {
    let mut add = |text: Option<std::borrow::Cow<'_, str>>| {
        if let Some(text) = text {
            out.push_str(&text);
            out.push(' ');
        }
    };
    if depth > 0 {
        add(schema.get("description").and_then(Node::as_str));
    }
    schema.get("enum").into_iter().flat_map(Node::elements).for_each(|value| add(value.as_str()));
    if depth >= PARAMETER_DEPTH_MAX {
        return;
    }
    for (name, property) in schema.get("properties").into_iter().flat_map(Node::members) {
        if let Some(name) = name.as_str() {
            out.push_str(&name);
            out.push(' ');
        }
        read_parameters(property, depth + 1, out);
    }
    if let Some(items) = schema.get("items") {
        read_parameters(items, depth + 1, out);
    }
}

/// A tool that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub at: usize,
    pub score: f32,
}

#[derive(Debug, Default)]
pub struct Index {
    /// For each stem, the tools that have it and its weighted frequency there.
    postings: HashMap<Box<str>, Vec<(u32, f32)>>,
    len: usize,
}

impl Index {
    #[must_use]
    pub fn build(texts: impl IntoIterator<Item = Text>) -> Self {
        let mut counted: Vec<[HashMap<Box<str>, f32>; FIELDS]> = Vec::new();
        // A field's usual length is that of tools that have it: many have no description.
        let (mut totals, mut having) = ([0.0_f32; FIELDS], [0.0_f32; FIELDS]);
        for text in texts {
            let mut fields: [HashMap<Box<str>, f32>; FIELDS] = Default::default();
            for ((field, counts), total) in text.fields().iter().zip(&mut fields).zip(&mut totals) {
                each_stem(field, |word| {
                    *total += 1.0;
                    match counts.get_mut(word) {
                        Some(count) => *count += 1.0,
                        None => {
                            counts.insert(word.into(), 1.0);
                        }
                    }
                });
            }
            having
                .iter_mut()
                .zip(&fields)
                .filter(|(_, counts)| !counts.is_empty())
                .for_each(|(have, _)| *have += 1.0);
            counted.push(fields);
        }
        let len = counted.len();
        let mut averages = totals;
        averages.iter_mut().zip(having).for_each(|(total, have)| *total = (*total / have.max(1.0)).max(1.0));
        let mut postings: HashMap<Box<str>, Vec<(u32, f32)>> = HashMap::new();
        for (at, fields) in (0_u32..).zip(counted) {
            let mut weighted: HashMap<Box<str>, f32> = HashMap::new();
            for (((counts, weight), length), average) in
                fields.into_iter().zip(WEIGHTS).zip(LENGTH).zip(averages)
            {
                let size: f32 = counts.values().sum();
                let norm = 1.0 - length + length * size / average;
                for (word, count) in counts {
                    *weighted.entry(word).or_default() += weight * count / norm;
                }
            }
            for (word, frequency) in weighted {
                postings.entry(word).or_default().push((at, frequency));
            }
        }
        Self { postings, len }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The best tools among those admitted, best first.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize, admits: impl Fn(usize) -> bool) -> Vec<Hit> {
        let mut asked: Vec<(Box<str>, f32)> = Vec::new();
        each_stem(query, |word| match asked.iter_mut().find(|(other, _)| **other == *word) {
            Some((_, count)) => *count += 0.5,
            None => asked.push((word.into(), 1.0)),
        });
        let mut scores: Vec<f32> = vec![0.0; self.len];
        let mut touched: Vec<u32> = Vec::new();
        // For each word asked, the best that a tool has for it: the word itself or one that stands for it.
        let mut best: Vec<f32> = vec![0.0; self.len];
        let mut reached: Vec<u32> = Vec::new();
        for (word, count) in &asked {
            let others = synonyms::of(word).iter().map(|other| (other, SYNONYM * count));
            for (word, weight) in std::iter::once((word, *count)).chain(others) {
                let Some(list) = self.postings.get(word) else { continue };
                let having = list.len() as f32;
                let rarity = (1.0 + (self.len as f32 - having + 0.5) / (having + 0.5)).ln();
                for (at, frequency) in list {
                    let Some(known) = best.get_mut(*at as usize) else { continue };
                    if *known == 0.0 {
                        reached.push(*at);
                    }
                    *known = known.max(weight * rarity * frequency * (K1 + 1.0) / (K1 + frequency));
                }
            }
            for at in reached.drain(..) {
                let (Some(score), Some(best)) = (scores.get_mut(at as usize), best.get_mut(at as usize))
                else {
                    continue;
                };
                if *score == 0.0 {
                    touched.push(at);
                }
                *score += std::mem::take(best);
            }
        }
        let mut hits: Vec<Hit> = touched
            .into_iter()
            .map(|at| at as usize)
            .filter(|at| admits(*at))
            .map(|at| Hit { at, score: scores.get(at).copied().unwrap_or_default() })
            .collect();
        let order = |left: &Hit, right: &Hit| right.score.total_cmp(&left.score).then(left.at.cmp(&right.at));
        if hits.len() > limit && limit > 0 {
            hits.select_nth_unstable_by(limit - 1, order);
            hits.truncate(limit);
        }
        hits.sort_by(order);
        hits.truncate(limit);
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, description: &str) -> Text {
        Text { name: name.into(), description: description.into(), ..Text::default() }
    }

    /// R3.1: a word in the name counts more than one in passing.
    #[test]
    fn a_name_outranks_a_mention() {
        let index = Index::build([
            text("close_window", "Closes it; merging is not done here, merge elsewhere"),
            text("merge_branch", "Joins two lines of work"),
        ]);
        let hits = index.search("merging branches", 5, |_| true);
        assert_eq!(hits.iter().map(|hit| hit.at).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn what_is_not_admitted_is_not_found_and_the_limit_holds() {
        let index = Index::build((0..50).map(|number| text(&format!("tool_{number}"), "reads a file")));
        let hits = index.search("read file", 7, |at| at % 2 == 1);
        assert_eq!(hits.iter().map(|hit| hit.at).collect::<Vec<_>>(), [1, 3, 5, 7, 9, 11, 13]);
        assert!(index.search("the of and", 7, |_| true).is_empty());
        assert!(index.search("unheard", 7, |_| true).is_empty());
    }
}
