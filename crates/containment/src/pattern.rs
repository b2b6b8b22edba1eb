//! Patterns: compiled once for matching, with the validator's own translation, and converted to automata on demand. A
//! pattern without an automaton (look-around, back-references, word boundaries, or over budget) is opaque: it can be
//! matched, and it contradicts its own negation, but nothing is concluded about its language.

use ahash::AHashMap;
use regexsolver::fast_automaton::FastAutomaton;

use crate::language;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PatternId(u32);

/// Maximum steps of the backtracking matcher; beyond it a match is undecided.
const BACKTRACK_LIMIT: usize = 100_000;

#[derive(Debug)]
struct Entry {
    source: Box<str>,
    matcher: Option<fancy_regex::Regex>,
    automaton: Option<Option<FastAutomaton>>,
}

/// All patterns of both documents.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    entries: Vec<Entry>,
    index: AHashMap<Box<str>, PatternId>,
    products: AHashMap<(Vec<PatternId>, Vec<PatternId>), Option<FastAutomaton>>,
}

impl Patterns {
    /// Returns the pattern's identity; `None` if it is not a regular expression.
    pub(crate) fn intern(&mut self, source: &str) -> Option<PatternId> {
        if let Some(id) = self.index.get(source) {
            return Some(*id);
        }
        let translated = jsonschema_regex::to_rust_regex(source).ok()?;
        let matcher =
            fancy_regex::RegexBuilder::new(&translated).backtrack_limit(BACKTRACK_LIMIT).build().ok();
        matcher.as_ref()?;
        let id = PatternId(u32::try_from(self.entries.len()).ok()?);
        self.entries.push(Entry { source: source.into(), matcher, automaton: None });
        self.index.insert(source.into(), id);
        Some(id)
    }

    pub(crate) fn source(&self, id: PatternId) -> &str {
        self.entries.get(id.0 as usize).map_or("", |entry| &entry.source)
    }

    /// `true` if the pattern matches; `None` if the matcher gave up.
    pub(crate) fn matches(&self, id: PatternId, text: &str) -> Option<bool> {
        self.entries.get(id.0 as usize)?.matcher.as_ref()?.is_match(text).ok()
    }

    fn automaton(&mut self, id: PatternId) -> Option<&FastAutomaton> {
        let entry = self.entries.get_mut(id.0 as usize)?;
        if entry.automaton.is_none() {
            entry.automaton = Some(language::automaton(&entry.source));
        }
        entry.automaton.as_ref()?.as_ref()
    }

    pub(crate) fn is_opaque(&mut self, id: PatternId) -> bool {
        self.automaton(id).is_none()
    }

    /// Returns the automaton of strings that match every pattern of `within` and none of `without`; `None` if it is
    /// over budget or one of them is opaque.
    pub(crate) fn product(&mut self, within: &[PatternId], without: &[PatternId]) -> Option<&FastAutomaton> {
        let key = (within.to_vec(), without.to_vec());
        if !self.products.contains_key(&key) {
            let made = self.make_product(within, without);
            self.products.insert(key.clone(), made);
        }
        self.products.get(&key)?.as_ref()
    }

    fn make_product(&mut self, within: &[PatternId], without: &[PatternId]) -> Option<FastAutomaton> {
        let mut product: Option<FastAutomaton> = None;
        for id in within {
            let own = self.automaton(*id)?;
            product = Some(match product {
                None => own.clone(),
                Some(product) => language::within_budget(|| product.intersection(own).ok())?,
            });
        }
        let mut product = product.unwrap_or_else(FastAutomaton::new_total);
        for id in without {
            let own = self.automaton(*id)?;
            product = language::within_budget(|| {
                let own = own.determinize().ok()?;
                product.difference(&own).ok()
            })?;
        }
        Some(product)
    }
}
