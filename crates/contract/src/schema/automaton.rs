//! Memory estimate of one regular expression, from the NFA it is compiled to.
//!
//! The `regex` crate compiles a pattern to a forward and a reverse NFA, and to a one-pass automaton if it has groups.
//! Matching then builds states of a lazy DFA in a cache per thread. If these states do not fit into the cache,
//! matching falls back to a search whose memory grows with the text and the groups.

use std::collections::HashSet;

use regex_automata::nfa::thompson::{Compiler, Config, NFA, State};

use crate::limits;

/// Threads whose caches are counted: the smallest gateway serves with two.
const THREADS: usize = 2;
/// Bytes of the `regex` crate's backtracking search, its fallback when the lazy DFA gives up.
const BACKTRACK_BYTES: usize = 256 * 1024;
/// Bytes of the largest one-pass automaton that the `regex` crate builds.
const ONE_PASS_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of a compiled pattern besides its automata.
const FIXED_BYTES: usize = 4 * 1024;

/// Reason why a pattern has no automaton.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    TooLarge,
    /// Not a regular expression; the validator's own error is reported.
    Malformed,
}

/// Estimated cost of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weighed {
    pub(super) bytes: usize,
    /// States that matching may follow one by one for each byte of a text; 0 if the DFA fits its cache.
    pub(super) slow_states: usize,
}

/// Estimates the cost of `pattern`, in the syntax of the `regex` crate, whose lazy DFA may use `cache` bytes per
/// thread. Takes the work of counting states from `steps`.
pub(super) fn weigh(pattern: &str, cache: usize, steps: &mut usize) -> Result<Weighed, Fault> {
    let config = Config::new().nfa_size_limit(Some(limits::SCHEMA_PATTERN_COMPILED_BYTES_MAX)).shrink(false);
    let nfa = Compiler::new().configure(config).build(pattern).map_err(|error| match error.size_limit() {
        Some(_) => Fault::TooLarge,
        None => Fault::Malformed,
    })?;
    let state_bytes = nfa.byte_classes().alphabet_len().next_power_of_two() * size_of::<u32>();
    let slots = nfa.group_info().slot_len();
    let one_pass = match slots > 2 {
        true => (2 * state_bytes * nfa.states().len()).min(ONE_PASS_BYTES_MAX),
        false => 0,
    };
    // The reverse NFA has the same states in another order, so both take twice the bytes of one.
    let compiled = FIXED_BYTES + 2 * nfa.memory_usage() + one_pass;
    let states = match nfa.look_set_any().contains_word_unicode() {
        // The lazy DFA gives up at the first character outside ASCII.
        true => None,
        false => states(&nfa, cache / (state_bytes + 64), steps),
    };
    let matching = match states {
        Some(states) => states * (state_bytes + 64),
        None => {
            let per_state = 2 * (size_of::<u64>() + slots * size_of::<usize>());
            cache + BACKTRACK_BYTES + per_state * nfa.states().len()
        }
    };
    let slow_states = match states {
        Some(_) => 0,
        None => width(&nfa, steps).unwrap_or(nfa.states().len()),
    };
    Ok(Weighed { bytes: compiled + THREADS * matching, slow_states })
}

/// Counts the states of the DFA; returns `None` if there are more than `max`, or if the steps are used up.
fn states(nfa: &NFA, max: usize, steps: &mut usize) -> Option<usize> {
    let mut seen: HashSet<Vec<u32>> = HashSet::new();
    let mut waiting = vec![closure(nfa, &[nfa.start_unanchored().as_u32()], steps)?];
    let classes = nfa.byte_classes();
    while let Some(set) = waiting.pop() {
        if set.is_empty() || seen.contains(&set) {
            continue;
        }
        if seen.len() == max {
            return None;
        }
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); classes.alphabet_len()];
        let mut lead = |start: u8, end: u8, to: u32| -> Option<()> {
            for class in classes.get(start)..=classes.get(end) {
                *steps = steps.checked_sub(1)?;
                next.get_mut(usize::from(class))?.push(to);
            }
            Some(())
        };
        for &at in &set {
            match nfa.states().get(at as usize)? {
                State::ByteRange { trans } => lead(trans.start, trans.end, trans.next.as_u32())?,
                State::Sparse(sparse) => {
                    for trans in &*sparse.transitions {
                        lead(trans.start, trans.end, trans.next.as_u32())?;
                    }
                }
                State::Dense(dense) => {
                    for (byte, to) in (0..=u8::MAX).filter_map(|byte| Some((byte, dense.matches_byte(byte)?)))
                    {
                        lead(byte, byte, to.as_u32())?;
                    }
                }
                _ => {}
            }
        }
        for reached in next.into_iter().filter(|reached| !reached.is_empty()) {
            waiting.push(closure(nfa, &reached, steps)?);
        }
        seen.insert(set);
    }
    Some(seen.len())
}

/// Returns an upper bound on the states that any text can have active at once; `None` if the steps do not suffice.
///
/// The search follows all texts of one length in characters together: a pattern like `^.{1,500}$` has one position
/// after each character, whatever the character is.
fn width(nfa: &NFA, steps: &mut usize) -> Option<usize> {
    const ASCII: (u8, u8) = (0x00, 0x7f);
    const CONTINUATION: (u8, u8) = (0x80, 0xbf);
    /// Ranges of the first byte of characters of two, three and four bytes.
    const LEADS: [(u8, u8); 3] = [(0xc2, 0xdf), (0xe0, 0xef), (0xf0, 0xf4)];
    let mut between = closure(nfa, &[nfa.start_unanchored().as_u32()], steps)?;
    let (mut seen, mut widest) = (HashSet::new(), between.len());
    while !between.is_empty() && seen.insert(between.clone()) {
        let mut next = read(nfa, &between, ASCII, steps)?;
        for (continuations, lead) in LEADS.iter().enumerate() {
            let mut inside = read(nfa, &between, *lead, steps)?;
            for _ in 0..=continuations {
                widest = widest.max(inside.len());
                inside = read(nfa, &inside, CONTINUATION, steps)?;
            }
            next.extend(inside);
        }
        next.sort_unstable();
        next.dedup();
        widest = widest.max(next.len());
        between = next;
    }
    // Matching also visits the states that read nothing, about as many again.
    Some(2 * widest)
}

/// Returns the states, closed over empty transitions, that `from` reaches by reading one byte of this range.
fn read(nfa: &NFA, from: &[u32], (first, last): (u8, u8), steps: &mut usize) -> Option<Vec<u32>> {
    let mut reached = Vec::new();
    for &at in from {
        *steps = steps.checked_sub(1)?;
        match nfa.states().get(at as usize)? {
            State::ByteRange { trans } if trans.start <= last && first <= trans.end => {
                reached.push(trans.next.as_u32());
            }
            State::Sparse(sparse) => {
                let transitions = sparse.transitions.iter();
                let met = transitions.filter(|trans| trans.start <= last && first <= trans.end);
                reached.extend(met.map(|trans| trans.next.as_u32()));
            }
            State::Dense(dense) => {
                reached.extend((first..=last).filter_map(|byte| Some(dense.matches_byte(byte)?.as_u32())));
            }
            _ => {}
        }
    }
    closure(nfa, &reached, steps)
}

/// Returns the states that read a byte or match and are reachable from `from` by empty transitions.
fn closure(nfa: &NFA, from: &[u32], steps: &mut usize) -> Option<Vec<u32>> {
    let mut stack = from.to_vec();
    let (mut visited, mut set) = (HashSet::new(), Vec::new());
    while let Some(at) = stack.pop() {
        if !visited.insert(at) {
            continue;
        }
        *steps = steps.checked_sub(1)?;
        match nfa.states().get(at as usize)? {
            State::Look { next, .. } | State::Capture { next, .. } => stack.push(next.as_u32()),
            State::Union { alternates } => {
                stack.extend(alternates.iter().map(regex_automata::util::primitives::StateID::as_u32));
            }
            State::BinaryUnion { alt1, alt2 } => stack.extend([alt1.as_u32(), alt2.as_u32()]),
            State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Match { .. } => {
                set.push(at);
            }
            State::Fail => {}
        }
    }
    set.sort_unstable();
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pattern: &str) -> Option<usize> {
        let nfa = Compiler::new().build(pattern).unwrap();
        states(&nfa, 2_000, &mut limits::SCHEMA_PATTERN_STEPS_MAX.clone())
    }

    #[test]
    fn states_are_counted_where_they_are_few() {
        assert!(count("^[a-z]+(-[a-z]+)*$").unwrap() < 20);
        assert!(count(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$").unwrap() < 100);
        assert_eq!(count("(a|b)*a(a|b){12}$"), None, "a DFA of 8,192 states");
    }

    /// `SCHEMA_PATTERN_STEPS_MAX` ends counting; the pattern is then weighed as if it filled its cache.
    #[test]
    fn counting_ends_after_schema_pattern_steps_max() {
        let nfa = Compiler::new().build("(a|b)*a(a|b){12}$").unwrap();
        let mut steps = limits::SCHEMA_PATTERN_STEPS_MAX;
        assert_eq!(states(&nfa, usize::MAX, &mut steps), None);
        assert_eq!(steps, 0);
    }

    #[test]
    fn the_width_of_a_pattern_is_how_many_places_a_text_can_be_at() {
        let width = |pattern: &str| {
            let nfa = Compiler::new().build(pattern).unwrap();
            width(&nfa, &mut limits::SCHEMA_PATTERN_STEPS_MAX.clone())
        };
        assert!(width("^.{1,500}$").unwrap() < 40, "{:?}", width("^.{1,500}$"));
        assert!(width("^[a-z]{2,8}(-[a-z0-9]{1,8}){0,20}$").unwrap() < 400);
        let explosive = width("^(a|b)*a(a|b){200}$").unwrap();
        assert!((200..1_000).contains(&explosive), "{explosive}");
        assert!(width("x[ab]{200}y").unwrap() >= 2 * 200, "a search can begin anywhere");
        assert_eq!(width("^(a|b)*a(a|b){900}$"), None, "the steps do not suffice");
    }

    #[test]
    fn a_pattern_that_fills_its_cache_weighs_more_than_one_that_does_not() {
        let weigh = |pattern: &str| {
            weigh(pattern, 64 * 1024, &mut limits::SCHEMA_PATTERN_STEPS_MAX.clone()).unwrap().bytes
        };
        let plain = weigh("^[a-z]+(-[a-z]+)*$");
        assert!(plain < 40_000, "{plain}");
        let explosive = weigh("(a|b)*a(a|b){12}$");
        assert!(explosive > 2 * (64 + 256) * 1024, "{explosive}");
    }
}
