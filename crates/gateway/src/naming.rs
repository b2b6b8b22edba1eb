//! Names under which tools are served (R5.3: names are stable, short, reversible).
//!
//! Guarantees: a name depends only on the server's configured name and the tool's own name, so no other server can
//! change it. It has at most 64 characters of the allowed alphabet. Two different tools of one server never share a
//! name.

use toolcrib_contract::limits::TOOL_NAME_CHARS_MAX;
use toolcrib_contract::{Digest, ToolName};

use crate::limits::PREFIX_CHARS_MAX;

/// Separator between a server's prefix and the tool's name; no prefix contains it.
pub const SEPARATOR: &str = "__";

/// Characters of the digest that keeps shortened names apart.
const MARK_CHARS: usize = 8;

/// Returns the prefix of a server's tools.
#[must_use]
pub fn prefix(server: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let mut text: String = server.chars().map(allowed).collect();
    while text.contains(SEPARATOR) {
        text = text.replace(SEPARATOR, "_");
    }
    let text = text.trim_matches('_');
    let is_plain = text == server && text.len() <= PREFIX_CHARS_MAX && !text.is_empty();
    if is_plain { text.to_owned() } else { marked(text, server, PREFIX_CHARS_MAX) }
}

/// Returns the name under which a tool is served.
#[must_use]
pub fn served(prefix: Option<&str>, tool: &str) -> String {
    let full = match prefix {
        Some(prefix) => format!("{prefix}{SEPARATOR}{tool}"),
        None => tool.to_owned(),
    };
    if ToolName::new(&full).is_ok() {
        return full;
    }
    let clean: String =
        full.chars().map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' }).collect();
    marked(&clean, &full, TOOL_NAME_CHARS_MAX)
}

/// Returns the beginning of `text` and a mark from the digest of `whole`.
fn marked(text: &str, whole: &str, chars_max: usize) -> String {
    let digest = Digest::of_bytes(whole.as_bytes()).to_string();
    let mark: String = digest.rsplit(':').next().unwrap_or_default().chars().take(MARK_CHARS).collect();
    let start: String = text.chars().take(chars_max - MARK_CHARS - 1).collect();
    format!("{}-{mark}", start.trim_end_matches('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.3: at most 64 characters, with a deterministic shortening that keeps names apart.
    #[test]
    fn every_name_can_be_served_and_differs_from_every_other() {
        let long = "x".repeat(100);
        let names = ["read", "read file", "read/file", "read-file", &long, &format!("{long}y"), "", "é"];
        let mut seen = std::collections::HashSet::new();
        for name in names {
            for prefix in [None, Some("files")] {
                let served = served(prefix, name);
                assert!(ToolName::new(&served).is_ok(), "{served}");
                assert_eq!(served, super::served(prefix, name));
                assert!(seen.insert(served));
            }
        }
        assert_eq!(served(Some("files"), "read"), "files__read");
        assert_eq!(served(None, "read"), "read");
    }

    #[test]
    fn a_prefix_never_contains_the_separator_and_keeps_servers_apart() {
        assert_eq!(prefix("github"), "github");
        assert_eq!(prefix("my_server-2"), "my_server-2");
        let odd = ["a__b", "a_b_", "a b", "a.b", "", "_", &"n".repeat(50)];
        let prefixes: std::collections::HashSet<String> = odd.iter().map(|name| prefix(name)).collect();
        assert_eq!(prefixes.len(), odd.len());
        assert!(prefixes.iter().all(|prefix| !prefix.contains(SEPARATOR) && !prefix.ends_with('_')));
        assert!(prefixes.iter().all(|prefix| prefix.len() <= PREFIX_CHARS_MAX));
    }
}
