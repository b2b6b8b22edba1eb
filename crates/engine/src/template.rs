//! URI templates (RFC 6570, levels 1 to 4) for matching: from a URI to the values of the template's variables.
//!
//! | expression | matches |
//! | --- | --- |
//! | `{x}` | one or more characters except `/`; in a template with `{?…}`, `{&…}` or `{#…}` also except `?` and `#` |
//! | `{+x}` | one or more characters of any kind |
//! | `{#x}` | nothing, or `#` and any characters |
//! | `{.x}` | nothing, or `.` and characters that `{x}` takes |
//! | `{/x}` | nothing, or `/` and characters that `{x}` takes |
//! | `{;x}` | nothing, or `;x`, or `;x=` and characters except `/`, `;`, `?` and `#` |
//! | `{?x}` `{&x}` | nothing, or `?x=` (`&x=`) and characters except `&` and `#` |
//! | `{x,y}` | the values in the template's order, joined as RFC 6570 joins them (`?x=1&y=2`); each may be missing |
//! | `{x:3}` | at most 3 characters, counted after decoding |
//! | `{x*}` | the whole list with its separators (`a/b/c` for `{/x*}`, `x=1&x=2` for `{?x*}`) |
//!
//! If a URI can be split in several ways: each variable, from left to right, takes as few characters as the rest of
//! the template allows, and an expression that may match nothing matches something if it can. So `{a}{b}` splits
//! `xyz` into `x` and `yz`. A missing variable is not reported.
//!
//! Values are percent-decoded, except those of `{x*}`: there an encoded separator must stay distinguishable. A value
//! that does not decode to UTF-8 does not match. A variable that occurs twice has one value, or nothing matches.
//!
//! Guarantees: no backtracking; every step is counted in [`Work`], and a request that needs too many is refused; a
//! parsed template takes twelve bytes for each literal and variable besides its text.
//!
//! A general regular-expression engine is not used because a server may offer 10,000 templates: compiled with `regex`
//! those with three variables take 100 MB and 1.1 s, parsed 3 MB and 10 ms. It cannot count decoded characters either.

mod index;
mod matching;
mod parse;
mod rows;
#[cfg(test)]
mod tests;
mod uri;
mod value;
mod work;

use std::sync::Arc;

pub use index::TemplateIndex;
pub use parse::TemplateError;
use parse::{Modifier, Operator, Part};
pub(crate) use uri::check_length as check_uri_length;
pub use uri::{Uri, UriTooLong};
pub use work::{TooMuchWork, Work};

/// Names and values of a template's variables, in the order of the URI.
pub type Variables = Vec<(Box<str>, String)>;

/// Parsed URI template. Parts are positions in the text: thousands of templates cost little more than their texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    text: Arc<str>,
    parts: Box<[Part]>,
    /// A query or fragment expression occurs: plain variables end at `?` and `#`.
    is_delimited: bool,
}

impl UriTemplate {
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let parts = parse::parts(text)?;
        let is_delimiter =
            |operator: Operator| matches!(operator, Operator::Query | Operator::More | Operator::Fragment);
        let is_delimited =
            parts.iter().any(|part| matches!(part, Part::Variable(it) if is_delimiter(it.operator)));
        Ok(Self { text: text.into(), parts: parts.into(), is_delimited })
    }

    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the variables if the URI fits, and refuses once `work` is used up.
    pub fn matches(&self, uri: &Uri<'_>, work: &mut Work) -> Result<Option<Variables>, TooMuchWork> {
        matching::find(self, uri, work)
    }

    /// Returns the plain ASCII text that every matching URI begins with.
    fn literal_prefix(&self) -> &str {
        let Some(Part::Literal(span)) = self.parts.first() else { return "" };
        let literal = span.of(&self.text);
        let end = literal.bytes().position(|byte| !byte.is_ascii() || byte == b'%').unwrap_or(literal.len());
        literal.get(..end).unwrap_or_default()
    }
}
