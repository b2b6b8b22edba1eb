//! Changes of an exported log.

use crate::dice::Dice;

/// One kind of change of an export. `apply` returns the changed lines and the place of the change.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) apply: fn(&[String], &mut Dice) -> (Vec<String>, String),
}

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "export: one character of a line", apply: edit },
    Kind { name: "export: delete a line", apply: delete },
    Kind { name: "export: repeat a line", apply: repeat },
    Kind { name: "export: swap two lines", apply: swap },
    Kind { name: "export: cut the end", apply: cut },
    Kind { name: "export: a checkpoint as the end", apply: checkpoint_as_end },
];

fn any(lines: &[String], dice: &mut Dice) -> usize {
    usize::try_from(dice.next() % (lines.len().max(1) as u64)).unwrap_or(0)
}

fn edit(lines: &[String], dice: &mut Dice) -> (Vec<String>, String) {
    let (mut changed, at) = (lines.to_vec(), any(lines, dice));
    if let Some(line) = changed.get_mut(at) {
        let mut bytes = line.clone().into_bytes();
        let place = usize::try_from(dice.next() % (bytes.len().max(1) as u64)).unwrap_or(0);
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= 1;
        }
        *line = String::from_utf8_lossy(&bytes).into_owned();
    }
    (changed, format!("line {}", at + 1))
}

fn delete(lines: &[String], dice: &mut Dice) -> (Vec<String>, String) {
    let (mut changed, at) = (lines.to_vec(), any(lines, dice));
    changed.remove(at);
    (changed, format!("line {}", at + 1))
}

fn repeat(lines: &[String], dice: &mut Dice) -> (Vec<String>, String) {
    let (mut changed, at) = (lines.to_vec(), any(lines, dice));
    let line = changed.get(at).cloned().unwrap_or_default();
    changed.insert(at, line);
    (changed, format!("line {}", at + 1))
}

fn swap(lines: &[String], dice: &mut Dice) -> (Vec<String>, String) {
    let (mut changed, at) = (lines.to_vec(), any(lines, dice));
    let other = (at + 1) % lines.len().max(1);
    changed.swap(at, other);
    (changed, format!("lines {} and {}", at + 1, other + 1))
}

fn cut(lines: &[String], dice: &mut Dice) -> (Vec<String>, String) {
    let at = any(lines, dice);
    (lines.iter().take(at).cloned().collect(), format!("after line {at}"))
}

/// Truncates after a checkpoint and appends that checkpoint as the signed end.
fn checkpoint_as_end(lines: &[String], dice: &mut Dice) -> (Vec<String>, String) {
    let places: Vec<usize> = (0..lines.len())
        .filter(|at| lines.get(*at).is_some_and(|line| line.starts_with("{\"checkpoint\"")))
        .collect();
    let at = places.get(any_place(&places, dice)).copied().unwrap_or(0);
    let mut changed: Vec<String> = lines.iter().take(at + 1).cloned().collect();
    if let Some(line) = lines.get(at) {
        changed.push(line.replacen("checkpoint", "head", 1));
    }
    (changed, format!("after line {}", at + 1))
}

fn any_place(places: &[usize], dice: &mut Dice) -> usize {
    usize::try_from(dice.next() % (places.len().max(1) as u64)).unwrap_or(0)
}
