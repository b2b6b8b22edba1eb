//! Splits a search text into words. Only letters and digits remain, so nothing in it can act as an operator.

/// Returns the words; none is empty.
pub(super) fn plain(words: &[String]) -> impl Iterator<Item = &str> {
    words.iter().flat_map(|word| word.split(|c: char| !c.is_alphanumeric())).filter(|word| !word.is_empty())
}
