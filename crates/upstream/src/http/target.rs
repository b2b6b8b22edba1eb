//! Where an HTTP server is, read once from its URL.

use crate::error::Cause;

#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) secure: bool,
    pub(crate) host: Box<str>,
    pub(crate) port: u16,
    /// Of the `Host` header.
    pub(crate) authority: Box<str>,
    pub(crate) path: Box<str>,
}

impl Target {
    pub(crate) fn read(url: &str) -> Result<Self, Cause> {
        let uri: http::Uri = url.parse().map_err(|_| Cause::Url("it is no URL"))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(Cause::Url("it must start with http:// or https://")),
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
        })
    }

    /// For messages.
    pub(crate) fn address(&self) -> Box<str> {
        format!("{}:{}", self.host, self.port).into()
    }
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
        for bad in ["", "example.org", "ftp://x/", "http://user:secret@host/"] {
            assert!(matches!(Target::read(bad), Err(Cause::Url(_))), "{bad}");
        }
    }
}
