//! Toolsets chosen by a request's path, query and headers (R3.4: modern views are chosen by URL, header or
//! credential).
//!
//! `/mcp?toolsets=a,b`, `/mcp/x/<toolset>`, `/mcp/readonly` and `/mcp/x/<toolset>/readonly`; `X-MCP-Toolsets: a,b` and
//! `X-MCP-Readonly: true`. Several choices narrow each other. Refuses a malformed choice instead of ignoring it,
//! because without it the caller would see more than it asked for.

use toolcrib_engine::{Names, Selection, UnknownToolset};

use toolcrib_http1::{RequestHead, visible};

const TOOLSETS: &str = "x-mcp-toolsets";
const READONLY: &str = "x-mcp-readonly";

/// Reason why a choice is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadChoice {
    #[error(transparent)]
    Unknown(#[from] UnknownToolset),
    #[error("the header {0} cannot be read")]
    Unreadable(&'static str),
}

/// Returns the choice of a path under the endpoint; `None` if the path does not exist.
pub(crate) fn selection(endpoint: &str, path: &[u8], query: Option<&str>) -> Option<Selection> {
    let mut selection = Selection::default();
    let rest = std::str::from_utf8(path.strip_prefix(endpoint.as_bytes())?).ok()?;
    if rest.is_empty() && query.is_none() {
        return Some(selection);
    }
    let mut parts = rest.strip_prefix('/').map(|rest| rest.split('/')).into_iter().flatten();
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    while let Some(part) = parts.next() {
        match part {
            "readonly" if !selection.read_only => selection.read_only = true,
            "x" if selection.toolsets.is_none() && !selection.read_only => {
                let name = parts.next().filter(|name| !name.is_empty())?;
                selection.narrow(Names::parse(&decoded(name)));
            }
            _ => return None,
        }
    }
    for pair in query.into_iter().flat_map(|query| query.split('&')) {
        match pair.split_once('=').unwrap_or((pair, "")) {
            ("toolsets", value) => selection.narrow(Names::parse(&decoded(value))),
            ("readonly", value) => selection.read_only |= is_true(&decoded(value)),
            _ => {}
        }
    }
    Some(selection)
}

/// Narrows a choice by the headers.
pub(crate) fn narrow_by_headers(selection: &mut Selection, head: &RequestHead) -> Result<(), BadChoice> {
    for value in head.values(TOOLSETS) {
        let text = visible(value).ok_or(BadChoice::Unreadable(TOOLSETS))?;
        selection.narrow(Names::parse(text));
    }
    for value in head.values(READONLY) {
        let text = visible(value).ok_or(BadChoice::Unreadable(READONLY))?;
        selection.read_only |= is_true(text.trim());
    }
    Ok(())
}

/// Every value other than a clear "no" counts as "yes", which shows less.
fn is_true(text: &str) -> bool {
    !matches!(text.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off")
}

/// Decodes percent escapes. Malformed text stays as it is, and then names no toolset.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let escaped = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                hex(*high).zip(hex(*low)).map(|(high, low)| (high << 4 | low, after))
            }
            _ => None,
        };
        match escaped {
            Some((byte, after)) => {
                bytes.push(byte);
                rest = after;
            }
            None if *first == b'+' => bytes.push(b' '),
            None => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirrors::head_with;

    fn chosen(address: &str) -> Option<(Option<Names>, bool)> {
        let (path, query) = match address.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (address, None),
        };
        let selection = selection("/mcp", path.as_bytes(), query)?;
        Some((selection.toolsets, selection.read_only))
    }

    /// R3.4: a view is chosen by path and query.
    #[test]
    fn addresses_choose() {
        let names = |text| Some(Names::parse(text));
        assert_eq!(chosen("/mcp"), Some((None, false)));
        assert_eq!(chosen("/mcp?toolsets=a,b"), Some((names("a,b"), false)));
        assert_eq!(chosen("/mcp?toolsets=a%2Cb&x=1"), Some((names("a,b"), false)));
        assert_eq!(chosen("/mcp?toolsets=a,+b%2dc"), Some((names("a,b-c"), false)));
        assert_eq!(chosen("/mcp/x/a%2C%zz%"), Some((names("a,%zz%"), false)));
        assert_eq!(chosen("/mcp/x/a"), Some((names("a"), false)));
        assert_eq!(chosen("/mcp/readonly"), Some((None, true)));
        assert_eq!(chosen("/mcp/x/a/readonly?toolsets=a,b"), Some((names("a"), true)));
        assert_eq!(chosen("/mcp/readonly?readonly=false"), Some((None, true)));
        for nothing in
            ["/", "/mcpx", "/mcp/", "/mcp/x", "/mcp/x/", "/mcp/y/a", "/mcp/readonly/readonly", "/mcp/x/a/b"]
        {
            assert_eq!(chosen(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn an_unreadable_header_is_refused() {
        let head = head_with(&[(TOOLSETS, "\u{e9}")]);
        assert!(narrow_by_headers(&mut Selection::default(), &head).is_err());
    }
}
