//! BM25 over weighted fields: a word in a tool's name weighs more than one in a parameter's description.
//!
//! Guarantees: equal tools give equal rankings; ties are broken by position in the list. A search touches only the
//! tools that share a word or synonym with the query.

use std::collections::HashMap;

use toolcrib_contract::Definition;
use toolcrib_contract::json::Node;

use super::synonyms;
use super::words::{each_stem, each_word, meaning};

const FIELDS: usize = 5;
/// Field weights: name, title, description, parameters, toolset.
const WEIGHTS: [f32; FIELDS] = [3.0, 2.0, 2.0, 0.5, 2.0];
/// Length normalisation of each field (`b` of BM25).
const LENGTH: [f32; FIELDS] = [0.5, 0.4, 0.5, 0.6, 0.3];
/// Term frequency saturation (`k1` of BM25).
const K1: f32 = 2.0;
/// Weight of a synonym relative to the word in the query.
const SYNONYM: f32 = 0.4;

/// Maximum depth of nested parameters that are indexed.
const PARAMETER_DEPTH_MAX: usize = 3;

/// Text of a tool, by field.
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

/// Appends the names, descriptions and enum values of parameters.
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

/// Search result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub at: usize,
    pub score: f32,
}

/// Inverted index with weighted frequencies.
#[derive(Debug, Default)]
pub struct Index {
    stems: HashMap<Box<str>, u32>,
    /// For each stem, the tools that have it with its weighted frequency.
    postings: Vec<Vec<(u32, f32)>>,
    len: usize,
}

/// Numbers of stems, assigned as words are met. Caches the stem of each word.
#[derive(Debug, Default)]
struct Vocabulary {
    stems: HashMap<Box<str>, u32>,
    known: HashMap<Box<str>, Option<u32>>,
}

impl Vocabulary {
    /// Returns the number of a word's stem; `None` for a stop word.
    fn number(&mut self, word: &str) -> Option<u32> {
        if let Some(known) = self.known.get(word) {
            return *known;
        }
        let number = meaning(word).map(|stem| {
            let next = u32::try_from(self.stems.len()).unwrap_or(u32::MAX);
            *self.stems.entry(stem.as_ref().into()).or_insert(next)
        });
        self.known.insert(word.into(), number);
        number
    }
}

/// Occurrences of a stem in a field of one tool.
struct Count {
    stem: u32,
    field: usize,
    count: f32,
}

impl Index {
    #[must_use]
    pub fn build(texts: impl IntoIterator<Item = Text>) -> Self {
        let mut vocabulary = Vocabulary::default();
        let mut counted: Vec<(Vec<Count>, [f32; FIELDS])> = Vec::new();
        for text in texts {
            let mut met: Vec<(u32, usize)> = Vec::new();
            let mut sizes = [0.0_f32; FIELDS];
            for (field, (words, size)) in text.fields().iter().zip(&mut sizes).enumerate() {
                each_word(words, |word| {
                    if let Some(stem) = vocabulary.number(word) {
                        met.push((stem, field));
                        *size += 1.0;
                    }
                });
            }
            met.sort_unstable();
            let same = met.chunk_by(|left, right| left == right);
            let counts = same.filter_map(|run| {
                let (stem, field) = *run.first()?;
                Some(Count { stem, field, count: run.len() as f32 })
            });
            counted.push((counts.collect(), sizes));
        }
        let averages = averages(counted.iter().map(|(_, sizes)| sizes));
        let mut postings: Vec<Vec<(u32, f32)>> = vec![Vec::new(); vocabulary.stems.len()];
        let len = counted.len();
        for (at, (counts, sizes)) in (0_u32..).zip(counted) {
            let mut weights = WEIGHTS;
            for (((weight, length), size), average) in weights.iter_mut().zip(LENGTH).zip(sizes).zip(averages)
            {
                *weight /= 1.0 - length + length * size / average;
            }
            for of_stem in counts.chunk_by(|left, right| left.stem == right.stem) {
                let weighted =
                    of_stem.iter().map(|it| it.count * weights.get(it.field).copied().unwrap_or(0.0));
                let list = of_stem.first().and_then(|it| postings.get_mut(it.stem as usize));
                if let Some(list) = list {
                    list.push((at, weighted.sum()));
                }
            }
        }
        Self { stems: vocabulary.stems, postings, len }
    }

    fn having(&self, stem: &str) -> Option<&[(u32, f32)]> {
        let number = *self.stems.get(stem)?;
        self.postings.get(number as usize).map(Vec::as_slice)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the best tools among those admitted, best first.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize, admits: impl Fn(usize) -> bool) -> Vec<Hit> {
        let mut asked: Vec<(Box<str>, f32)> = Vec::new();
        each_stem(query, |word| match asked.iter_mut().find(|(other, _)| **other == *word) {
            Some((_, count)) => *count += 0.5,
            None => asked.push((word.into(), 1.0)),
        });
        let mut scores: Vec<f32> = vec![0.0; self.len];
        let mut touched: Vec<u32> = Vec::new();
        // Per query word, a tool's best score: of the word itself or of a synonym.
        let mut best: Vec<f32> = vec![0.0; self.len];
        let mut reached: Vec<u32> = Vec::new();
        for (word, count) in &asked {
            let others = synonyms::of(word).iter().map(|other| (other, SYNONYM * count));
            for (word, weight) in std::iter::once((word, *count)).chain(others) {
                let Some(list) = self.having(word) else { continue };
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

/// Returns the average length of each field over the tools that have it: many have no description.
fn averages<'a>(sizes: impl Iterator<Item = &'a [f32; FIELDS]>) -> [f32; FIELDS] {
    let (mut totals, mut having) = ([0.0_f32; FIELDS], [0.0_f32; FIELDS]);
    for sizes in sizes {
        for ((total, have), size) in totals.iter_mut().zip(&mut having).zip(sizes) {
            *total += size;
            *have += if *size > 0.0 { 1.0 } else { 0.0 };
        }
    }
    totals.iter_mut().zip(having).for_each(|(total, have)| *total = (*total / have.max(1.0)).max(1.0));
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, description: &str) -> Text {
        Text { name: name.into(), description: description.into(), ..Text::default() }
    }

    /// R3.1, `search_tools`: a word in the name counts more than one in passing.
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
