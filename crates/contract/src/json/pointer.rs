//! JSON Pointers (RFC 6901).

use std::fmt;

/// Location inside a JSON text, kept in escaped form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer(String);

impl Pointer {
    /// Pointer to the whole text.
    #[must_use]
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Wraps an already escaped pointer such as `/a/0`.
    #[must_use]
    pub fn from_escaped(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the pointer to the member or element `token` below this one.
    #[must_use]
    pub fn join(&self, token: impl AsRef<str>) -> Self {
        let mut child = self.clone();
        child.push(token.as_ref());
        child
    }

    /// Appends the member or element `token`.
    pub fn push(&mut self, token: &str) {
        self.0.push('/');
        for c in token.chars() {
            match c {
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                c => self.0.push(c),
            }
        }
    }

    /// Removes the last token.
    pub fn pop(&mut self) {
        let end = self.0.rfind('/').unwrap_or(0);
        self.0.truncate(end);
    }

    /// `true` if it points to the whole text.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The escaped text; empty for the root.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the unescaped tokens, outermost first.
    pub fn tokens(&self) -> impl Iterator<Item = String> + '_ {
        self.0.split('/').skip(1).map(|t| t.replace("~1", "/").replace("~0", "~"))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(root)" } else { &self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_escaped_and_come_back() {
        let p = Pointer::root().join("a/b").join("~").join("0");
        assert_eq!(p.as_str(), "/a~1b/~0/0");
        assert_eq!(p.tokens().collect::<Vec<_>>(), ["a/b", "~", "0"]);
    }

    #[test]
    fn pop_returns_to_the_parent() {
        let mut p = Pointer::root().join("a/b").join("c");
        p.pop();
        assert_eq!(p, Pointer::root().join("a/b"));
        p.pop();
        assert!(p.is_root());
    }
}
