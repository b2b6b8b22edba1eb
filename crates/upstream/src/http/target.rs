//! Address of an HTTP server, parsed once from its URL.

use std::path::Path;

use crate::error::Cause;

/// Parsed address of a server.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) secure: bool,
    pub(crate) host: Box<str>,
    pub(crate) port: u16,
    /// Value of the `Host` header.
    pub(crate) authority: Box<str>,
    /// Path and query.
    pub(crate) path: Box<str>,
    /// Unix socket that is used instead of host and port.
    pub(crate) unix: Option<Box<Path>>,
}

/// Path of a unix address that has none.
const UNIX_PATH: &str = "/mcp";

impl Target {
    /// Parses `http://…`, `https://…`, `unix:/run/server.sock` or `unix:/run/server.sock:/path`.
    pub(crate) fn read(url: &str) -> Result<Self, Cause> {
        if let Some(address) = url.strip_prefix("unix:") {
            return Self::unix(address);
        }
        let uri: http::Uri = url.parse().map_err(|_| Cause::Url("it is no URL"))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(Cause::Url("it must start with http://, https:// or unix:/")),
        };
        let authority = uri.authority().ok_or(Cause::Url("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(Cause::Url("a password in the URL would be logged; use a header"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        Ok(Self {
            secure,
            host: host.into(),
            port: authority.port_u16().unwrap_or(if secure { 443 } else { 80 }),
            authority: authority.as_str().into(),
            path: uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str).into(),
            unix: None,
        })
    }

    fn unix(address: &str) -> Result<Self, Cause> {
        let (socket, path) = match address.split_once(":/") {
            Some((socket, rest)) => (socket, format!("/{rest}")),
            None => (address, UNIX_PATH.to_owned()),
        };
        if !socket.starts_with('/') {
            return Err(Cause::Url("the socket of a unix: address is an absolute path"));
        }
        if http::uri::PathAndQuery::try_from(path.as_str()).is_err() {
            return Err(Cause::Url("the path behind the socket is none of HTTP's"));
        }
        Ok(Self {
            secure: false,
            host: "localhost".into(),
            port: 80,
            authority: "localhost".into(),
            path: path.into(),
            unix: Some(Path::new(socket).into()),
        })
    }

    /// Address for messages.
    pub(crate) fn address(&self) -> Box<str> {
        match &self.unix {
            Some(socket) => socket.display().to_string().into(),
            None => format!("{}:{}", self.host, self.port).into(),
        }
    }

    /// Returns path and query of a `Location` in a response from the path `base`, if it stays within this origin. A server behind a TLS proxy often names
    /// itself with http; such a redirect is followed over https, so credentials are never sent in clear text.
    pub(crate) fn follow(&self, base: &str, location: &str) -> Option<Box<str>> {
        let location = location.split('#').next().unwrap_or_default();
        if location.contains("://") && !location.starts_with('/') {
            let other = Self::read(location).ok()?;
            let is_same_port = other.port == self.port || (self.secure && !other.secure && other.port == 80);
            let is_same = other.host.eq_ignore_ascii_case(&self.host)
                && is_same_port
                && (self.secure || !other.secure)
                && other.unix.is_none();
            return is_same.then_some(other.path);
        }
        let first = location.split(['/', '?']).next().unwrap_or_default();
        if location.is_empty() || location.starts_with("//") || first.contains(':') {
            return None;
        }
        // RFC 3986, 5.2.2.
        let here = base.split('?').next().unwrap_or_default();
        let path = match location.chars().next() {
            Some('/') => without_dots(location),
            Some('?') => format!("{here}{location}"),
            _ => {
                let folder = here.rsplit_once('/').map_or("", |(folder, _)| folder);
                without_dots(&format!("{folder}/{location}"))
            }
        };
        http::uri::PathAndQuery::try_from(path.as_str()).ok().map(|path| path.as_str().into())
    }
}

/// Removes the segments `.` and `..` from the path before a query (RFC 3986, 5.2.4).
fn without_dots(reference: &str) -> String {
    let (path, query) = reference.split_at(reference.find('?').unwrap_or(reference.len()));
    let mut kept = Vec::new();
    for segment in path.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            segment => kept.push(segment),
        }
    }
    if path.ends_with("/.") || path.ends_with("/..") {
        kept.push("");
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_and_how() {
        let target = Target::read("https://example.org/mcp?x=1").unwrap();
        assert_eq!((target.secure, target.port, &*target.path), (true, 443, "/mcp?x=1"));
        let local = Target::read("http://[::1]:8001").unwrap();
        assert_eq!(
            (&*local.host, local.port, &*local.path, &*local.authority),
            ("::1", 8001, "/", "[::1]:8001")
        );
        for bad in ["", "example.org", "ftp://x/", "http://user:secret@host/", "unix:run/x", "unix:/x:/a b"] {
            assert!(matches!(Target::read(bad), Err(Cause::Url(_))), "{bad}");
        }
    }

    /// R14.1: a unix address has a socket file, and optionally a path instead of `/mcp`.
    #[test]
    fn a_unix_address_names_a_socket_and_a_path() {
        let read = |url: &str| {
            let target = Target::read(url).unwrap();
            (target.unix.unwrap().display().to_string(), target.path.to_string())
        };
        assert_eq!(read("unix:/run/x.sock"), ("/run/x.sock".to_owned(), "/mcp".to_owned()));
        assert_eq!(read("unix:/run/x.sock:/a?b"), ("/run/x.sock".to_owned(), "/a?b".to_owned()));
    }

    /// R14.1: redirects are followed within the origin only.
    #[test]
    fn a_location_leads_to_a_path_of_the_same_origin_or_nowhere() {
        let plain = Target::read("http://a.example:8001/x/mcp?q").unwrap();
        let secure = Target::read("https://a.example/mcp").unwrap();
        for (target, location, path) in [
            (&plain, "/mcp/", Some("/mcp/")),
            (&plain, "mcp/", Some("/x/mcp/")),
            (&plain, "?a", Some("/x/mcp?a")),
            (&plain, "./mcp/?a/../b", Some("/x/mcp/?a/../b")),
            (&plain, "../y", Some("/y")),
            (&plain, "../../y/", Some("/y/")),
            (&plain, "/a/./b/../..", Some("/")),
            (&plain, "..", Some("/")),
            (&plain, "http://A.example:8001/mcp/?a#b", Some("/mcp/?a")),
            (&plain, "http://a.example/mcp/", None),
            (&plain, "https://a.example:8001/mcp/", None),
            (&plain, "http://b.example:8001/mcp/", None),
            (&plain, "http://a.example:8001@b.example/", None),
            (&plain, "//b.example/mcp", None),
            (&plain, "", None),
            (&plain, "/a b", None),
            (&secure, "https://a.example/mcp/", Some("/mcp/")),
            (&secure, "https://a.example:443/mcp/", Some("/mcp/")),
            (&secure, "http://a.example/mcp/", Some("/mcp/")),
            (&secure, "http://a.example:8080/mcp/", None),
            (&secure, "unix:/run/x.sock", None),
        ] {
            assert_eq!(target.follow(&target.path, location).as_deref(), path, "{location:?}");
        }
    }
}
