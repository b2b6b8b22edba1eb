//! Tool names: 1 to 64 characters of `A-Z a-z 0-9 _ . -`.
//!
//! The specification allows 128 characters; hosts add a prefix and cut at 64, so Toolcrib serves at most 64. `/` is
//! refused because it separates a server from its tool everywhere else.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::limits::TOOL_NAME_CHARS_MAX;

/// A valid tool name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName(Arc<str>);

/// Reason why a name may not be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty.
    #[error("a tool name has at least 1 character")]
    Empty,
    /// The name is longer than the limit.
    #[error("tool.name_chars_max: a tool name has at most {limit} characters, this one has {found}")]
    Long { limit: usize, found: usize },
    /// The name contains a character outside `A-Z a-z 0-9 _ . -`.
    #[error("{found:?} at character {at} may not stand in a tool name (allowed: A-Z a-z 0-9 _ . -)")]
    Character { found: char, at: usize },
}

impl ToolName {
    /// Validates `text`.
    ///
    /// # Errors
    /// The first rule that `text` breaks.
    pub fn new(text: &str) -> Result<Self, NameError> {
        check(text)?;
        Ok(Self(text.into()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn check(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if let Some((at, found)) = text.chars().enumerate().find(|&(_, c)| !allowed(c)) {
        return Err(NameError::Character { found, at });
    }
    if text.len() > TOOL_NAME_CHARS_MAX {
        return Err(NameError::Long { limit: TOOL_NAME_CHARS_MAX, found: text.len() });
    }
    Ok(())
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ToolName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_allowed_alphabet_are_kept() {
        for name in ["a", "get_weather", "fs.read-file", &"x".repeat(TOOL_NAME_CHARS_MAX)] {
            assert_eq!(ToolName::new(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn each_rule_has_its_own_error() {
        assert_eq!(ToolName::new(""), Err(NameError::Empty));
        assert_eq!(
            ToolName::new(&"x".repeat(TOOL_NAME_CHARS_MAX + 1)),
            Err(NameError::Long { limit: 64, found: 65 })
        );
        assert_eq!(ToolName::new("a/b"), Err(NameError::Character { found: '/', at: 1 }));
        assert_eq!(ToolName::new("Summarize Detection"), Err(NameError::Character { found: ' ', at: 9 }));
        assert_eq!(ToolName::new("é"), Err(NameError::Character { found: 'é', at: 0 }));
    }
}
