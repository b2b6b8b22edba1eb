//! Regular languages of patterns. A JSON Schema pattern matches anywhere in a string, so its language is `Σ*·p·Σ*`,
//! with anchors moved to the ends; an anchor in the middle of a string matches nothing. `.` excludes the newline, as
//! in the validator's engine.

use std::collections::VecDeque;

use ahash::AHashMap;
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use regexsolver::CharRange;
use regexsolver::execution_profile::{ExecutionProfile, ExecutionProfileBuilder};
use regexsolver::fast_automaton::FastAutomaton;
use regexsolver::regex::RegularExpression as Regular;
use regexsolver::regex_charclass::{AnyRange, Char};

use crate::limits::{PROVER_AUTOMATON_MS_MAX, PROVER_AUTOMATON_STATES_MAX};

/// Maximum length of a string that is built to reach a minimum length.
const LENGTH_MAX: u64 = 20_000;
/// Maximum alternatives that are kept separate while anchors are moved to the ends.
const PIECES_MAX: usize = 64;

fn profile() -> ExecutionProfile {
    ExecutionProfileBuilder::new()
        .execution_timeout(PROVER_AUTOMATON_MS_MAX)
        .max_number_of_states(PROVER_AUTOMATON_STATES_MAX)
        .implicit_determinization(true)
        .build()
}

pub(crate) fn within_budget<T>(operation: impl FnOnce() -> T) -> T {
    profile().run(operation)
}

/// Returns the deterministic automaton of a pattern; `None` if it has none or is over budget.
pub(crate) fn automaton(source: &str) -> Option<FastAutomaton> {
    if let Some((checks, rest)) = leading_lookaheads(source) {
        let mut language = plain(&rest)?;
        for (positive, check) in checks {
            let other = plain(&check)?;
            language = within_budget(|| {
                if positive { language.intersection(&other).ok() } else { language.difference(&other).ok() }
            })?;
        }
        return within_budget(|| language.determinize().ok().map(std::borrow::Cow::into_owned));
    }
    plain(source)
}

fn plain(source: &str) -> Option<FastAutomaton> {
    let translated = jsonschema_regex::to_rust_regex(source).ok()?;
    let hir = regex_syntax::parse(&translated).ok()?;
    let regular = search(&hir)?;
    within_budget(|| {
        let automaton = regular.to_automaton().ok()?;
        let mut automaton = automaton.determinize().ok()?.into_owned();
        automaton.minimize().ok()?;
        Some(automaton)
    })
}

/// Splits `^(?!a)(?=b)rest` into its look-aheads and `^rest`; `None` if an alternation could bypass them.
fn leading_lookaheads(source: &str) -> Option<(Vec<(bool, String)>, String)> {
    let mut rest = source.strip_prefix('^')?;
    let mut checks = Vec::new();
    loop {
        let positive = if rest.starts_with("(?!") {
            false
        } else if rest.starts_with("(?=") {
            true
        } else {
            break;
        };
        let close = closing_parenthesis(rest)?;
        let inner = rest.get(3..close)?;
        checks.push((positive, format!("^(?:{inner})")));
        rest = rest.get(close + 1..)?;
        if rest.starts_with(['*', '+', '?', '{']) {
            return None;
        }
    }
    if checks.is_empty() || top_level_bar(rest) {
        return None;
    }
    Some((checks, format!("^{rest}")))
}

fn closing_parenthesis(text: &str) -> Option<usize> {
    let (mut depth, mut class, mut escaped) = (0usize, false, false);
    for (at, character) in text.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match character {
            '\\' => escaped = true,
            '[' if !class => class = true,
            ']' if class => class = false,
            '(' if !class => depth += 1,
            ')' if !class => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn top_level_bar(text: &str) -> bool {
    let (mut depth, mut class, mut escaped) = (0usize, false, false);
    for character in text.chars() {
        if escaped {
            escaped = false;
            continue;
        }
        match character {
            '\\' => escaped = true,
            '[' if !class => class = true,
            ']' if class => class = false,
            '(' if !class => depth += 1,
            ')' if !class => depth = depth.saturating_sub(1),
            '|' if !class && depth == 0 => return true,
            _ => {}
        }
    }
    false
}

/// Alternative of an expression, with `true` for an anchor at the start or end.
struct Piece {
    start: bool,
    end: bool,
    regular: Regular,
}

fn search(hir: &Hir) -> Option<Regular> {
    let pieces = pieces(hir)?;
    let mut branches = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let mut parts = VecDeque::new();
        if !piece.start {
            parts.push_back(Regular::new_total());
        }
        parts.push_back(piece.regular);
        if !piece.end {
            parts.push_back(Regular::new_total());
        }
        branches.push(Regular::Concat(parts));
    }
    Some(Regular::Alternation(branches))
}

fn free(regular: Regular) -> Vec<Piece> {
    vec![Piece { start: false, end: false, regular }]
}

fn pieces(hir: &Hir) -> Option<Vec<Piece>> {
    Some(match hir.kind() {
        HirKind::Empty => free(Regular::new_empty_string()),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            let parts = text.chars().map(|character| Regular::Character(single(character))).collect();
            free(Regular::Concat(parts))
        }
        HirKind::Class(Class::Unicode(class)) => {
            let ranges: Vec<AnyRange<Char>> = class
                .ranges()
                .iter()
                .map(|range| AnyRange::from(Char::new(range.start())..=Char::new(range.end())))
                .collect();
            free(Regular::Character(CharRange::new_from_ranges(&ranges)))
        }
        HirKind::Class(Class::Bytes(_)) => return None,
        HirKind::Look(Look::Start) => {
            vec![Piece { start: true, end: false, regular: Regular::new_empty_string() }]
        }
        HirKind::Look(Look::End) => {
            vec![Piece { start: false, end: true, regular: Regular::new_empty_string() }]
        }
        HirKind::Look(_) => return None,
        HirKind::Repetition(repetition) => {
            let inner = pieces(&repetition.sub)?;
            match (repetition.min, repetition.max, inner.iter().any(|piece| piece.start || piece.end)) {
                (min, max, false) => {
                    let body = Regular::Alternation(inner.into_iter().map(|piece| piece.regular).collect());
                    free(Regular::Repetition(Box::new(body), min, max))
                }
                (0, Some(1), true) => {
                    let mut inner = inner;
                    inner.extend(free(Regular::new_empty_string()));
                    inner
                }
                (1, Some(1), true) => inner,
                _ => return None,
            }
        }
        HirKind::Capture(capture) => pieces(&capture.sub)?,
        HirKind::Concat(parts) => {
            let mut joined = free(Regular::new_empty_string());
            for part in parts {
                joined = concatenate(&joined, &pieces(part)?)?;
            }
            joined
        }
        HirKind::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(pieces(branch)?);
                if all.len() > PIECES_MAX {
                    return None;
                }
            }
            all
        }
    })
}

fn concatenate(left: &[Piece], right: &[Piece]) -> Option<Vec<Piece>> {
    let mut joined = Vec::new();
    for a in left {
        for b in right {
            // Nothing may be consumed before a start anchor or after an end anchor.
            if (b.start && !nullable(&a.regular)) || (a.end && !nullable(&b.regular)) {
                continue;
            }
            let regular = match (b.start, a.end) {
                (true, true) => Regular::new_empty_string(),
                (true, false) => b.regular.clone(),
                (false, true) => a.regular.clone(),
                (false, false) => {
                    Regular::Concat([a.regular.clone(), b.regular.clone()].into_iter().collect())
                }
            };
            joined.push(Piece { start: a.start || b.start, end: a.end || b.end, regular });
        }
    }
    (joined.len() <= PIECES_MAX).then_some(joined)
}

fn nullable(regular: &Regular) -> bool {
    match regular {
        Regular::Character(_) => false,
        Regular::Repetition(body, min, _) => *min == 0 || nullable(body),
        Regular::Concat(parts) => parts.iter().all(nullable),
        Regular::Alternation(branches) => branches.iter().any(nullable),
    }
}

fn single(character: char) -> CharRange {
    CharRange::new_from_range(Char::new(character)..=Char::new(character))
}

/// Returns the automaton of finitely many strings.
fn finite(texts: &[Box<str>]) -> Option<FastAutomaton> {
    let branches = texts
        .iter()
        .map(|text| Regular::Concat(text.chars().map(|c| Regular::Character(single(c))).collect()))
        .collect();
    within_budget(|| {
        let automaton = Regular::Alternation(branches).to_automaton().ok()?;
        automaton.determinize().ok().map(std::borrow::Cow::into_owned)
    })
}

/// Result of searching a language for a string.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Text(String),
    /// Proof that there is none.
    Nothing,
    /// The search is too long or over budget.
    Undecided,
}

/// Returns a shortest string of the language within the length bounds that is not excluded.
pub(crate) fn shortest(
    automaton: &FastAutomaton,
    min: u64,
    max: Option<u64>,
    excluded: &[Box<str>],
) -> Found {
    let found = shortest_of(automaton, min, max);
    let Found::Text(text) = &found else { return found };
    if !excluded.iter().any(|own| **own == **text) {
        return found;
    }
    let Some(other) = finite(excluded) else { return Found::Undecided };
    match within_budget(|| automaton.difference(&other)) {
        Ok(rest) => shortest_of(&rest, min, max),
        Err(_) => Found::Undecided,
    }
}

fn shortest_of(automaton: &FastAutomaton, min: u64, max: Option<u64>) -> Found {
    if automaton.is_empty() {
        return Found::Nothing;
    }
    // From the states reachable at the minimum length, an accepting one is at most |states| steps away.
    let steps = u64::try_from(automaton.number_of_states()).unwrap_or(u64::MAX);
    let reach = min.saturating_add(steps);
    let last = max.map_or(reach, |max| max.min(reach));
    if last > LENGTH_MAX {
        return Found::Undecided;
    }
    let mut layers: Vec<AHashMap<usize, (usize, char)>> = Vec::new();
    let mut layer: AHashMap<usize, (usize, char)> = AHashMap::new();
    layer.insert(automaton.start_state(), (0, '\0'));
    let mut length = 0;
    loop {
        if length > last {
            return Found::Nothing;
        }
        if length >= min
            && let Some(state) = layer.keys().filter(|state| automaton.is_accepted(**state)).min()
        {
            let state = *state;
            layers.push(layer);
            return Found::Text(spell(&layers, state));
        }
        let mut next: AHashMap<usize, (usize, char)> = AHashMap::new();
        let mut states: Vec<usize> = layer.keys().copied().collect();
        states.sort_unstable();
        for state in states {
            for (condition, to) in automaton.transitions_from(state) {
                let Ok(range) = condition.to_range(automaton.spanning_set()) else { continue };
                if let Some(character) = readable(&range) {
                    let entry = next.entry(*to).or_insert((state, character));
                    if rank(character) < rank(entry.1) {
                        *entry = (state, character);
                    }
                }
            }
        }
        if next.is_empty() {
            return Found::Nothing;
        }
        layers.push(std::mem::replace(&mut layer, next));
        length += 1;
    }
}

fn spell(layers: &[AHashMap<usize, (usize, char)>], state: usize) -> String {
    let mut characters = Vec::with_capacity(layers.len());
    let mut state = state;
    for layer in layers.iter().skip(1).rev() {
        let Some((before, character)) = layer.get(&state) else { break };
        characters.push(*character);
        state = *before;
    }
    characters.iter().rev().collect()
}

fn rank(character: char) -> u32 {
    match character {
        'a'..='z' => 0,
        '0'..='9' => 1,
        'A'..='Z' => 2,
        '_' | '-' | '.' => 3,
        ' '..='~' => 4,
        _ => 5,
    }
}

fn readable(range: &CharRange) -> Option<char> {
    const FIRST: &str = "abcxyz01289ABCXYZ_-. /:@#";
    if let Some(character) = FIRST.chars().find(|c| range.contains(Char::new(*c))) {
        return Some(character);
    }
    (' '..='~').find(|c| range.contains(Char::new(*c))).or_else(|| range.0.first().map(Char::to_char))
}

#[cfg(test)]
mod tests {
    use regexsolver::error::EngineError;

    use super::*;

    fn member(pattern: &str, text: &str) -> bool {
        automaton(pattern).unwrap().is_match(text)
    }

    #[test]
    fn a_pattern_matches_anywhere_and_anchors_bind_at_the_ends() {
        assert!(member("b", "abc") && !member("^b", "abc") && member("^b|c$", "abc"));
        assert!(member("^(a|$)", "") && !member("a^b", "ab"));
        assert!(!member("^.$", "\n") && member("^\\w$", "a") && !member("^\\w$", "é"));
    }

    #[test]
    fn a_leading_lookahead_is_a_difference() {
        assert!(member("^(?!ab)a", "ac") && !member("^(?!ab)a", "abc"));
        assert!(automaton("(?<!a)b").is_none());
    }

    #[test]
    fn the_shortest_string_keeps_the_bounds_and_the_exclusions() {
        let language = automaton("^a*$").unwrap();
        assert_eq!(shortest(&language, 3, None, &[]), Found::Text("aaa".into()));
        assert_eq!(shortest(&language, 0, Some(1), &["".into(), "a".into()]), Found::Nothing);
        assert_eq!(shortest(&automaton("^(aa)*$").unwrap(), 3, Some(3), &[]), Found::Nothing);
    }

    /// R7.3: an automaton over `PROVER_AUTOMATON_STATES_MAX` states is not built.
    #[test]
    fn an_automaton_over_prover_automaton_states_max_is_not_built() {
        let patient = profile().with_execution_timeout(60_000);
        let states = |count: usize| {
            let hir = regex_syntax::parse(&format!("^a{{{count}}}$")).unwrap();
            let regular = search(&hir).unwrap();
            patient.run(|| regular.to_automaton().map(|automaton| automaton.number_of_states()))
        };
        // A word of n letters takes n + 1 states.
        assert_eq!(states(PROVER_AUTOMATON_STATES_MAX - 1), Ok(PROVER_AUTOMATON_STATES_MAX));
        assert_eq!(states(PROVER_AUTOMATON_STATES_MAX), Err(EngineError::AutomatonHasTooManyStates));
        assert!(automaton(&format!("^a{{{}}}$", 2 * PROVER_AUTOMATON_STATES_MAX)).is_none());
    }

    /// R7.3: an operation on automata ends after `PROVER_AUTOMATON_MS_MAX`.
    #[test]
    fn an_operation_over_prover_automaton_ms_max_ends() {
        // The determinized automaton would have 2^20 states.
        let hir = regex_syntax::parse("(a|b)*a(a|b){20}$").unwrap();
        let automaton = within_budget(|| search(&hir).unwrap().to_automaton()).unwrap();
        let spacious = profile().with_max_number_of_states(usize::MAX);
        let start = std::time::Instant::now();
        let ended = spacious.run(|| automaton.determinize().map(|_| ()));
        assert_eq!(ended, Err(EngineError::OperationTimeOutError));
        let (waited, limit) = (start.elapsed().as_millis(), u128::from(PROVER_AUTOMATON_MS_MAX));
        assert!(waited >= limit && waited < 100 * limit, "{waited} ms");
    }
}
