//! Target of a request and the host that it names.
//!
//! Refuses targets that two parsers could take for different resources: the authority form, a fragment, bytes that no
//! URI has.

use http::Uri;

/// Target of a request: `/path?query`, the absolute form used with proxies, or `*`.
pub(crate) struct Target<'a> {
    /// Host and port of the absolute form.
    pub(crate) authority: Option<&'a str>,
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
}

impl<'a> Target<'a> {
    /// Parses a target; `None` if it is none of the three forms.
    pub(crate) fn read(target: &'a str) -> Option<Self> {
        let uri = Uri::try_from(target).ok().filter(|_| !target.contains('#'))?;
        let (authority, local) = match (uri.scheme(), uri.authority()) {
            (None, None) => (None, target),
            (Some(_), Some(named)) => {
                let (_, rest) = target.split_once("://")?;
                let (authority, local) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
                if authority != named.as_str() {
                    return None;
                }
                (Some(authority), local)
            }
            _ => return None,
        };
        Some(match local.split_once('?') {
            Some((path, query)) => Self { authority, path, query: Some(query) },
            None => Self { authority, path: local, query: None },
        })
    }
}

/// Returns `true` if a `Host` value is empty or a host with an optional port (RFC 3986 section 3.2.2). A comma is
/// refused although the RFC allows it in names, because it may come from two joined fields.
pub(crate) fn is_host(value: &[u8]) -> bool {
    let is_legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=:[]".contains(byte);
    value.iter().all(is_legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R14.2: a target is parsed in one way or refused.
    #[test]
    fn a_target_is_a_path_an_absolute_uri_or_an_asterisk() {
        let read = |target| Target::read(target).map(|target| (target.authority, target.path, target.query));
        assert_eq!(read("http://localhost:1/mcp?a"), Some((Some("localhost:1"), "/mcp", Some("a"))));
        assert_eq!(read("http://localhost:1"), Some((Some("localhost:1"), "", None)));
        assert_eq!(read("http://localhost?a"), Some((Some("localhost"), "", Some("a"))));
        assert_eq!(read("/mcp?to=http://x/y"), Some((None, "/mcp", Some("to=http://x/y"))));
        assert_eq!(read("*"), Some((None, "*", None)));
        for refused in ["", "a", "a:1", "a/b", "?a", "/a#b", "#", "/a<b", "http://", "http:///a", "http:/a"] {
            assert_eq!(read(refused), None, "{refused:?}");
        }
    }

    /// R5.9: a `Host` value that is not a host is refused before it is compared with anything.
    #[test]
    fn a_host_has_the_characters_of_a_host() {
        for legal in ["", "a", "a.b:1", "[::1]:80", "127.0.0.1", "a_b"] {
            assert!(is_host(legal.as_bytes()), "{legal:?}");
        }
        for illegal in
            ["a b", "a,b", "a/b", "a@b", "a#b", "a?b", "http://a", "a\tb", "\u{e9}", "a\\b", "\"a\""]
        {
            assert!(!is_host(illegal.as_bytes()), "{illegal:?}");
        }
    }
}
