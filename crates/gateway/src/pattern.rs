//! Patterns over tool names: `*` matches any characters, everything else matches itself.

use serde::Deserialize;

/// Pattern over tool names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `true` if the whole name matches. Linear in the name for each `*`, because the earliest match of each
    /// part is always sufficient.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else { return false };
        let mut parts: Vec<&str> = parts.collect();
        let Some(last) = parts.pop() else { return rest.is_empty() };
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        let matches = |pattern: &str, name: &str| Pattern::new(pattern).matches(name);
        assert!(
            matches("*", "") && matches("*", "x") && matches("get_*", "get_x") && matches("*_x_*", "a_x_b")
        );
        assert!(matches("a*b*c", "abc") && matches("a*b*c", "a-b-b-c") && matches("x", "x"));
        assert!(
            !matches("get_*", "set_x") && !matches("x", "xy") && !matches("a*a", "a") && !matches("", "x")
        );
    }
}
