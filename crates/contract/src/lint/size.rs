//! Size of a definition: bytes on the wire, and estimated tokens in a model's prompt.

use super::Found;
use crate::definition::Definition;
use crate::json::Pointer;

/// Tokens above which the rule `size.large` recommends shortening a definition.
const TOKENS_WORTH_SHORTENING: usize = 2_000;

/// Size of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// Bytes of the compact text.
    pub bytes: usize,
    /// Estimated tokens, right to within about a quarter; vocabularies differ.
    pub tokens: usize,
}

impl Size {
    /// Measures `definition`.
    #[must_use]
    pub fn of(definition: &Definition) -> Self {
        Self { bytes: definition.text().len(), tokens: tokens(definition.text()) }
    }
}

/// Estimates tokens: a word costs one token per seven letters or part of seven, digits one per three, punctuation one
/// per two characters, and a character outside ASCII one.
fn tokens(text: &str) -> usize {
    #[derive(PartialEq, Clone, Copy)]
    enum Class {
        Letter,
        Digit,
        Mark,
        Space,
        Other,
    }
    let class = |c: char| match c {
        'a'..='z' | 'A'..='Z' => Class::Letter,
        '0'..='9' => Class::Digit,
        c if c.is_whitespace() => Class::Space,
        c if c.is_ascii() => Class::Mark,
        _ => Class::Other,
    };
    let cost = |class: Class, length: usize| match class {
        Class::Letter => length.div_ceil(7),
        Class::Digit => length.div_ceil(3),
        Class::Mark => length.div_ceil(2),
        Class::Space => 0,
        Class::Other => length,
    };
    let mut total = 0;
    let mut run = (Class::Space, 0);
    for c in text.chars() {
        let class = class(c);
        if class == run.0 {
            run.1 += 1;
        } else {
            total += cost(run.0, run.1);
            run = (class, 1);
        }
    }
    total + cost(run.0, run.1)
}

pub(super) fn large(definition: &Definition, found: &mut Vec<Found>) {
    let size = Size::of(definition);
    if size.tokens > TOKENS_WORTH_SHORTENING {
        let message = format!("{} bytes, about {} tokens in every prompt", size.bytes, size.tokens);
        found.push((Pointer::root(), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_grows_with_words_and_not_with_spaces() {
        assert_eq!(tokens("get the weather"), 3);
        assert_eq!(tokens("   get    the\n weather "), 3);
        assert_eq!(tokens("internationalization"), 3);
        assert_eq!(tokens("{\"a\":1}"), 5);
        assert_eq!(tokens("東京"), 2);
    }
}
