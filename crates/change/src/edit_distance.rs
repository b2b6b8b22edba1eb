//! Similarity of two texts.

/// Maximum characters, or words, of a text that are compared.
const LENGTH_MAX: usize = 400;

/// Similarity by edit distance: 1.0 for equal texts, 0.0 for texts without anything in common.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn similarity(left: &str, right: &str) -> f64 {
    let a: Vec<char> = left.chars().take(LENGTH_MAX).collect();
    let b: Vec<char> = right.chars().take(LENGTH_MAX).collect();
    let longest = a.len().max(b.len());
    if longest == 0 {
        return 1.0;
    }
    1.0 - distance(&a, &b) as f64 / longest as f64
}

/// Similarity by shared words, for prose.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn shared_words(left: &str, right: &str) -> f64 {
    let mut rest: Vec<&str> = right.split_whitespace().collect();
    let words: Vec<&str> = left.split_whitespace().collect();
    let all = words.len() + rest.len();
    if all == 0 {
        return 1.0;
    }
    let mut shared = 0;
    for word in words.into_iter().take(LENGTH_MAX) {
        if let Some(at) = rest.iter().position(|own| *own == word) {
            rest.swap_remove(at);
            shared += 1;
        }
    }
    2.0 * f64::from(shared) / all as f64
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, left) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(row.first_mut().unwrap_or(&mut 0), at + 1);
        let mut before = at + 1;
        for (right, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let substituted = diagonal + usize::from(left != right);
            diagonal = *cell;
            *cell = substituted.min(diagonal + 1).min(before + 1);
            before = *cell;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{shared_words, similarity};

    #[test]
    fn likeness_counts_edits() {
        assert!((similarity("query", "query") - 1.0).abs() < 1e-9);
        assert!((similarity("issueNumber", "issue_number") - 10.0 / 12.0).abs() < 1e-9);
        assert!(similarity("abc", "xyz") < 0.01);
        assert!((shared_words("lists open issues", "lists all issues") - 2.0 / 3.0).abs() < 1e-9);
    }
}
