//! Glob patterns over names: `*` matches any text, `?` one character, every other character itself. Case-sensitive.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Glob(Box<str>);

impl Glob {
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        Self(pattern.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Matches with backtracking to the last `*` only, so at worst in the product of both lengths.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let (mut pattern, mut rest) = (self.0.chars(), text.chars());
        let mut star: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
        loop {
            let here = rest.clone();
            match (pattern.next(), rest.next()) {
                (None, None) => return true,
                (Some('*'), _) => {
                    rest = here;
                    star = Some((pattern.clone(), rest.clone()));
                }
                (Some('?'), Some(_)) => {}
                (Some(wanted), Some(is)) if wanted == is => {}
                _ => {
                    let Some((after, from)) = &mut star else { return false };
                    if from.next().is_none() {
                        return false;
                    }
                    pattern = after.clone();
                    rest = from.clone();
                }
            }
        }
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_fit_what_they_should() {
        let fits = |pattern: &str, text: &str| Glob::new(pattern).matches(text);
        assert!(fits("git_*", "git_status") && fits("*", "") && fits("a*b*c", "aXbYbZc"));
        assert!(fits("get_?", "get_x") && fits("*_read", "issue_read") && fits("a**", "a"));
        assert!(!fits("git_*", "digit_x") && !fits("get_?", "get_") && !fits("a*b", "ac"));
        assert!(!fits("", "x") && fits("", "") && !fits("Git*", "git"));
    }
}
