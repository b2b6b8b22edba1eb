//! Mutation of an input: of its JSON tree if it is JSON, else of bytes, ranges, dictionary words, and pieces of other
//! inputs.

pub mod tree;

use crate::random::Random;

/// Bytes and words at which text parsers tend to fail.
const EDGES: &[&str] = &[
    "\0",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "-",
    "0",
    "-0",
    "1e400",
    "1E-400",
    "0.1",
    "9007199254740993",
    "18446744073709551616",
    "null",
    "true",
    "\u{feff}",
    "\u{202e}",
    "\u{1f600}",
    "\r\n",
    "\n\n",
];

/// One in this many inputs is made long.
const AMPLIFIED_EVERY: usize = 64;

/// Applies one to eight changes; the result has at most `bytes_max` bytes.
pub fn mutate(
    input: &mut Vec<u8>,
    corpus: &[Vec<u8>],
    dictionary: &[&str],
    bytes_max: usize,
    random: &mut Random,
) {
    let as_json = random.below(3) > 0;
    if random.below(AMPLIFIED_EVERY) == 0 {
        amplify(input, bytes_max, random);
    }
    for _ in 0..=random.below(8) {
        if !(as_json && tree::change(input, corpus, dictionary, random)) {
            change(input, corpus, dictionary, random);
        }
        input.truncate(bytes_max);
    }
}

/// Repeats a part of the input in place, which slows down quadratic code.
fn amplify(input: &mut Vec<u8>, bytes_max: usize, random: &mut Random) {
    let start = random.below(input.len() + 1);
    let end = (start + random.below(64) + 1).min(input.len());
    let part = input.get(start..end).unwrap_or_default().to_vec();
    let room = bytes_max.saturating_sub(input.len());
    let times = random.below(room.checked_div(part.len()).unwrap_or(0) + 1);
    insert(input, start, &part.repeat(times));
}

fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], dictionary: &[&str], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let range = {
        let longest = if random.below(4) == 0 { 256 } else { 8 };
        at..(at + random.below(longest) + 1).min(input.len())
    };
    match random.below(9) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = random.next_u64().to_le_bytes()[0];
            }
        }
        2 => {
            input.drain(range);
        }
        3 => {
            let copy = input.get(range).unwrap_or_default().to_vec();
            for _ in 0..=random.below(4) {
                insert(input, at, &copy);
            }
        }
        4 => {
            let copy = input.get(range).unwrap_or_default().to_vec();
            let elsewhere = random.below(input.len() + 1);
            insert(input, elsewhere, &copy);
        }
        5 | 6 => {
            let word = random.pick(dictionary).map_or("", |word| *word);
            insert(input, at, word.as_bytes());
        }
        7 => {
            let word = random.pick(EDGES).map_or("", |word| *word);
            input.drain(range);
            insert(input, at, word.as_bytes());
        }
        _ => {
            let other = random.pick(corpus).map_or(&[][..], Vec::as_slice);
            let from = random.below(other.len() + 1);
            let to = (from + random.below(64) + 1).min(other.len());
            insert(input, at, other.get(from..to).unwrap_or_default());
        }
    }
}

fn insert(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let at = at.min(input.len());
    input.splice(at..at, bytes.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutation_never_exceeds_the_bound_and_never_panics() {
        let corpus = vec![b"{\"a\":1}".to_vec(), Vec::new()];
        let mut random = Random::from_seed(7);
        let mut input = Vec::new();
        for _ in 0..20_000 {
            mutate(&mut input, &corpus, &["\"type\""], 300, &mut random);
            assert!(input.len() <= 300);
        }
        assert!(!input.is_empty());
    }
}
