//! Mutation of an input as JSON, because most changes of bytes make text that every parser refuses early.
//!
//! An input may contain several texts separated by a record separator; one of them is changed.

use serde_json::{Map, Value};

use crate::random::Random;

pub const SEPARATOR: u8 = 0x1e;

/// Changes one value somewhere in the tree; returns `false` if the input contains no JSON.
pub(super) fn change(
    input: &mut Vec<u8>,
    corpus: &[Vec<u8>],
    dictionary: &[&str],
    random: &mut Random,
) -> bool {
    let Some((range, mut tree)) = pick_text(input, random) else { return false };
    let mut wanted = random.below(size(&tree));
    let graft = graft(corpus, dictionary, random);
    if let Some(node) = nth(&mut tree, &mut wanted) {
        edit(node, graft, random);
    }
    input.splice(range, tree.to_string().into_bytes());
    true
}

fn pick_text(input: &[u8], random: &mut Random) -> Option<(std::ops::Range<usize>, Value)> {
    let mut texts = Vec::new();
    let mut start = 0;
    for text in input.split(|byte| *byte == SEPARATOR) {
        if let Ok(tree) = serde_json::from_slice(text) {
            texts.push((start..start + text.len(), tree));
        }
        start += text.len() + 1;
    }
    if texts.is_empty() {
        return None;
    }
    Some(texts.swap_remove(random.below(texts.len())))
}

/// Returns a name and a value to insert: a member from the dictionary, or any value of another input.
fn graft(corpus: &[Vec<u8>], dictionary: &[&str], random: &mut Random) -> (Option<String>, Value) {
    let word = random.pick(dictionary).map_or("", |word| *word).trim_end_matches([',', '{', '[']);
    let whole = [word.to_owned(), format!("{{{word}}}"), format!("{{{word}0}}"), format!("{{{word}{{}}}}")];
    let from_word = whole.iter().find_map(|text| serde_json::from_str::<Value>(text).ok());
    let from_corpus =
        random.pick(corpus).and_then(|other| pick_text(other, random)).and_then(|(_, mut tree)| {
            let mut wanted = random.below(size(&tree));
            nth(&mut tree, &mut wanted).map(std::mem::take)
        });
    let (first, second) =
        if random.below(2) == 0 { (from_word, from_corpus) } else { (from_corpus, from_word) };
    match first.or(second).unwrap_or_default() {
        Value::Object(members) if members.len() == 1 => {
            members.into_iter().next().map_or((None, Value::Null), |(name, value)| (Some(name), value))
        }
        value => (None, value),
    }
}

fn edit(node: &mut Value, (name, graft): (Option<String>, Value), random: &mut Random) {
    match (random.below(8), &mut *node) {
        (0, _) => *node = graft,
        (1, _) => *node = Value::Array(vec![node.take(), graft]),
        (2, _) => {
            let name = name.unwrap_or_else(|| "a".to_owned());
            *node = Value::Object(Map::from_iter([(name, node.take())]));
        }
        (3, Value::Object(members)) => {
            let name = members.keys().nth(random.below(members.len())).cloned();
            name.and_then(|name| members.shift_remove(&name));
        }
        (3, Value::Array(elements)) if !elements.is_empty() => {
            elements.remove(random.below(elements.len()));
        }
        (4, Value::Array(elements)) => {
            let copy = elements.get(random.below(elements.len())).cloned().unwrap_or_default();
            elements.push(copy);
        }
        (_, Value::Object(members)) => {
            let existing = members.keys().nth(random.below(members.len())).cloned();
            let name = name.or(existing).unwrap_or_else(|| "a".to_owned());
            members.insert(name, graft);
        }
        (_, Value::Array(elements)) => elements.push(graft),
        (_, scalar) => *scalar = graft,
    }
}

fn size(tree: &Value) -> usize {
    match tree {
        Value::Array(elements) => 1 + elements.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

fn nth<'a>(tree: &'a mut Value, wanted: &mut usize) -> Option<&'a mut Value> {
    if *wanted == 0 {
        return Some(tree);
    }
    *wanted -= 1;
    match tree {
        Value::Array(elements) => elements.iter_mut().find_map(|element| nth(element, wanted)),
        Value::Object(members) => members.values_mut().find_map(|member| nth(member, wanted)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_json_stays_json() {
        let corpus = vec![br#"{"type":"object","items":[1,2]}"#.to_vec(), b"not json".to_vec()];
        let mut random = Random::from_seed(3);
        let mut input = b"{\"a\":[1,{\"b\":null}]}\x1e[true]".to_vec();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..2_000 {
            assert!(change(&mut input, &corpus, &["\"allOf\":[", "\"minimum\":", "true"], &mut random));
            let texts: Vec<&[u8]> = input.split(|byte| *byte == SEPARATOR).collect();
            assert_eq!(texts.len(), 2);
            assert!(texts.iter().all(|text| serde_json::from_slice::<Value>(text).is_ok()));
            seen.insert(input.clone());
            input.truncate(if input.len() > 500 { 0 } else { input.len() });
            if input.is_empty() {
                input = b"{}\x1e[]".to_vec();
            }
        }
        assert!(seen.len() > 1_000, "{}", seen.len());
    }

    #[test]
    fn an_input_without_json_is_left_alone() {
        let mut input = b"{".to_vec();
        assert!(!change(&mut input, &[], &[], &mut Random::from_seed(0)));
        assert_eq!(input, b"{");
    }
}
