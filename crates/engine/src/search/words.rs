//! Tokeniser: splits text at characters that are neither letter nor digit and at changes of case, folds case, and
//! stems.

use std::borrow::Cow;

use super::stem::stem;

/// Stop words: words that tell nothing about a tool.
const STOP: [&str; 62] = [
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "do", "does", "for", "from", "given", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its",
    "me", "my", "need", "of", "on", "one", "or", "our", "please", "should", "so", "some", "that", "the",
    "their", "them", "then", "there", "these", "this", "to", "use", "using", "want", "was", "we", "what",
    "when", "which", "with", "would", "you",
];

/// Calls `take` with every stem of a text, without stop words.
pub(super) fn each_stem(text: &str, mut take: impl FnMut(&str)) {
    each_word(text, |word| {
        if let Some(stem) = meaning(word) {
            take(&stem);
        }
    });
}

/// Returns the stem of a word; `None` for a stop word.
pub(super) fn meaning(word: &str) -> Option<Cow<'_, str>> {
    STOP.binary_search(&word).is_err().then(|| stem(word))
}

/// Calls `take` with every word of a text, in lower case.
pub(super) fn each_word(text: &str, mut take: impl FnMut(&str)) {
    let mut word = String::new();
    let mut flush = |word: &mut String| {
        if !word.is_empty() {
            take(word);
            word.clear();
        }
    };
    let mut before: Option<char> = None;
    let mut characters = text.chars().peekable();
    while let Some(here) = characters.next() {
        if !here.is_alphanumeric() {
            flush(&mut word);
            before = None;
            continue;
        }
        let next_is_lower = characters.peek().is_some_and(|next| next.is_lowercase());
        let begins = match before {
            // fileName → file name; HTTPServer → http server.
            Some(before) => here.is_uppercase() && (!before.is_uppercase() || next_is_lower),
            None => false,
        };
        // The s of "PRs" or "URLs" belongs to its word.
        let plural = next_is_lower
            && characters.peek() == Some(&'s')
            && characters.clone().nth(1).is_none_or(|after| !after.is_alphanumeric());
        if begins && !(plural && before.is_some_and(char::is_uppercase)) {
            flush(&mut word);
        }
        word.extend(here.to_lowercase());
        before = Some(here);
    }
    flush(&mut word);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stems(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        each_stem(text, |word| out.push(word.to_owned()));
        out
    }

    #[test]
    fn names_of_every_style_fall_into_the_same_words() {
        for name in ["list_pull_requests", "list-pull-requests", "listPullRequests", "ListPullRequests"] {
            assert_eq!(stems(name), ["list", "pull", "request"], "{name}");
        }
        assert_eq!(stems("getHTTPServer2 PRs"), ["get", "http", "server2", "pr"]);
    }

    #[test]
    fn stop_words_are_sorted_and_left_out() {
        assert!(STOP.is_sorted());
        assert_eq!(stems("I want to see all the commits of a branch"), ["see", "commit", "branch"]);
    }
}
