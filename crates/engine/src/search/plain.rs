//! Plain BM25 over a tool's whole text: the baseline that [`super::Index`] is compared with, and nothing else uses.

use std::collections::HashMap;

use super::index::{Hit, Text};

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Inverted index without fields, stems and synonyms.
#[derive(Debug)]
pub struct PlainIndex {
    postings: HashMap<String, Vec<(u32, f32)>>,
    lengths: Vec<f32>,
    average: f32,
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

impl PlainIndex {
    #[must_use]
    pub fn build(texts: impl IntoIterator<Item = Text>) -> Self {
        let mut postings: HashMap<String, Vec<(u32, f32)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (at, text) in (0_u32..).zip(texts) {
            let Text { name, title, description, parameters, toolset } = text;
            let whole = [name, title, description, parameters, toolset].join(" ");
            let mut counts: HashMap<String, f32> = HashMap::new();
            words(&whole).for_each(|word| *counts.entry(word).or_default() += 1.0);
            lengths.push(counts.values().sum());
            for (word, count) in counts {
                postings.entry(word).or_default().push((at, count));
            }
        }
        let average = (lengths.iter().sum::<f32>() / lengths.len().max(1) as f32).max(1.0);
        Self { postings, lengths, average }
    }

    #[must_use]
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        let mut scores: HashMap<u32, f32> = HashMap::new();
        for word in words(query) {
            let Some(list) = self.postings.get(&word) else { continue };
            let having = list.len() as f32;
            let rarity = (1.0 + (self.lengths.len() as f32 - having + 0.5) / (having + 0.5)).ln();
            for (at, count) in list {
                let length = self.lengths.get(*at as usize).copied().unwrap_or_default();
                let norm = K1 * (1.0 - B + B * length / self.average);
                *scores.entry(*at).or_default() += rarity * count * (K1 + 1.0) / (count + norm);
            }
        }
        let mut hits: Vec<Hit> =
            scores.into_iter().map(|(at, score)| Hit { at: at as usize, score }).collect();
        hits.sort_by(|left, right| right.score.total_cmp(&left.score).then(left.at.cmp(&right.at)));
        hits.truncate(limit);
        hits
    }
}
