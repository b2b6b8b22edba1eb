//! Light stemmer for English: plurals, participles and the most frequent derivations, after Porter's first steps.
//!
//! Forms of one word should get one stem; the stem need not be a word.

use std::borrow::Cow;

/// Returns the stem of a word in lower case. Words with digits or non-ASCII characters stay as they are.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    if word.len() < 4 && !word.ends_with('s') || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    let mut stem = plural(word);
    if let Some(shorter) = participle(&stem) {
        stem = shorter;
    }
    if let Some(shorter) = derived(&stem) {
        stem = shorter;
    }
    if stem.len() > 3 && stem.ends_with('e') {
        stem.pop();
    }
    if stem.len() > 2 && stem.ends_with('y') && stem.chars().rev().nth(1).is_some_and(|c| !is_vowel(c)) {
        stem.pop();
        stem.push('i');
    }
    Cow::Owned(stem)
}

fn plural(word: &str) -> String {
    let cut = |end: &str, with: &str| word.strip_suffix(end).map(|rest| format!("{rest}{with}"));
    if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") || word.len() < 3 {
        return word.to_owned();
    }
    for end in ["sses", "ches", "shes", "xes"] {
        if word.ends_with(end) {
            return cut("es", "").unwrap_or_default();
        }
    }
    cut("ies", "y").or_else(|| cut("s", "")).unwrap_or_else(|| word.to_owned())
}

fn participle(word: &str) -> Option<String> {
    let rest = word.strip_suffix("ing").or_else(|| word.strip_suffix("ed"))?;
    if rest.len() < 3 || !rest.chars().any(is_vowel) {
        return None;
    }
    let mut rest = rest.to_owned();
    let mut last = rest.chars().rev();
    let (end, before) = (last.next(), last.next());
    // stopped → stop, but calling → call and passing → pass.
    if end == before && !matches!(end, Some('l' | 's' | 'z')) {
        rest.pop();
    }
    Some(rest)
}

fn derived(word: &str) -> Option<String> {
    // `creation` and `creating` both give `creat`; `description` and `describe` differ, which only a table could
    // solve.
    for (end, with) in [
        ("ization", "iz"),
        ("ations", "at"),
        ("ation", "at"),
        ("tion", "t"),
        ("sion", "s"),
        ("ment", ""),
        ("ness", ""),
        ("er", ""),
        ("or", ""),
    ] {
        if let Some(rest) = word.strip_suffix(end)
            && rest.len() >= 4
        {
            return Some(format!("{rest}{with}"));
        }
    }
    None
}

fn is_vowel(c: char) -> bool {
    matches!(c, 'a' | 'e' | 'i' | 'o' | 'u' | 'y')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_meet() {
        for (one, other) in [
            ("issues", "issue"),
            ("branches", "branch"),
            ("repositories", "repository"),
            ("creating", "create"),
            ("creation", "create"),
            ("merged", "merge"),
            ("stopped", "stop"),
            ("calling", "call"),
            ("deployments", "deploy"),
            ("notifications", "notification"),
            ("queries", "query"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
    }

    #[test]
    fn different_words_stay_apart() {
        for (one, other) in [("status", "state"), ("process", "procedure"), ("user", "use"), ("k8s", "k8")] {
            assert_ne!(stem(one), stem(other), "{one} {other}");
        }
    }
}
