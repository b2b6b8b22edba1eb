//! The words of a question. Only letters and digits are left of them, so that nothing in them is ever an operator.

/// The words, none of them empty.
pub(super) fn plain(words: &[String]) -> impl Iterator<Item = &str> {
    words.iter().flat_map(|word| word.split(|c: char| !c.is_alphanumeric())).filter(|word| !word.is_empty())
}
