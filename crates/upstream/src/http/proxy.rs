//! Proxy for a server, from the configuration or the environment.
//!
//! Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` in upper and lower case. A server's setting `proxy`
//! has priority; `proxy = "none"` disables the proxy. Loopback addresses never use a proxy from the environment.
//! Refuses SOCKS proxies.

use std::net::IpAddr;

use hyper_util::client::proxy::matcher::Matcher;

use super::target::Target;
use crate::error::Cause;

/// Setting that disables the proxy whatever the environment says.
const NONE: &str = "none";

/// Address and credentials of a proxy.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(super) secure: bool,
    pub(super) host: Box<str>,
    pub(super) port: u16,
    /// Value of `Proxy-Authorization`.
    pub(super) authorization: Option<Box<str>>,
}

impl Proxy {
    /// Returns the proxy for a server; `configured` is the server's own setting.
    pub(super) fn of(target: &Target, configured: Option<&str>) -> Result<Option<Self>, Cause> {
        if target.unix.is_some() || configured == Some(NONE) {
            return Ok(None);
        }
        let matcher = match configured {
            Some(url) => Matcher::builder().all(url.to_owned()).build(),
            None if is_loopback(&target.host) => return Ok(None),
            None => Matcher::from_env(),
        };
        let scheme = if target.secure { "https" } else { "http" };
        let uri: http::Uri = format!("{scheme}://{}/", target.authority)
            .parse()
            .map_err(|_| Cause::Url("its host is none"))?;
        let Some(found) = matcher.intercept(&uri) else {
            return match configured {
                Some(_) => Err(Cause::Url("its proxy must be http://host:port, https://host:port or none")),
                None => Ok(None),
            };
        };
        let secure = match found.uri().scheme_str() {
            Some("https") => true,
            Some("http") | None => false,
            Some(_) => return Err(Cause::Url("its proxy is none of HTTP's; SOCKS is not supported")),
        };
        let host = found.uri().host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let authorization = found.basic_auth().and_then(|value| value.to_str().ok()).map(Into::into);
        let port = found.uri().port_u16().unwrap_or(if secure { 443 } else { 80 });
        Ok(Some(Self { secure, host: host.into(), port, authorization }))
    }

    /// Address for messages.
    pub(super) fn address(&self) -> Box<str> {
        format!("{}:{}", self.host, self.port).into()
    }

    /// Returns the `Proxy-Authorization` field with its line end; empty without credentials.
    pub(super) fn field(&self) -> String {
        let field = |value: &str| format!("Proxy-Authorization: {value}\r\n");
        self.authorization.as_deref().map(field).unwrap_or_default()
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(url: &str, configured: Option<&str>) -> Result<Option<String>, Cause> {
        let proxy = Proxy::of(&Target::read(url).unwrap(), configured)?;
        Ok(proxy.map(|proxy| {
            let scheme = if proxy.secure { "https" } else { "http" };
            format!("{scheme}://{} {}", proxy.address(), proxy.field().trim_end())
        }))
    }

    /// R14.1: a server's own proxy setting has priority over the environment.
    #[test]
    fn a_configured_proxy_is_used_and_none_means_none() {
        let server = "https://a.example/mcp";
        assert_eq!(found(server, Some("http://p.example:3128")).unwrap().unwrap(), "http://p.example:3128 ");
        assert_eq!(
            found(server, Some("https://u:p%40@p.example")).unwrap().unwrap(),
            "https://p.example:443 Proxy-Authorization: Basic dTpwQA=="
        );
        assert_eq!(found("http://127.0.0.1:1/", Some("http://p:1")).unwrap().unwrap(), "http://p:1 ");
        assert_eq!(found(server, Some("none")).unwrap(), None);
        assert!(found(server, Some("")).is_err());
        assert_eq!(found("unix:/run/x.sock", Some("http://p:1")).unwrap(), None);
    }

    /// R14.3: a SOCKS proxy is refused by name.
    #[test]
    fn a_socks_proxy_is_refused_by_its_name() {
        for url in ["socks4://p:1080", "socks4a://p:1080", "socks5://p:1080", "socks5h://p"] {
            let refused = found("https://a.example/mcp", Some(url)).unwrap_err().to_string();
            let says = "the server's URL cannot be used: its proxy is none of HTTP's; SOCKS is not supported";
            assert_eq!(refused, says, "{url}");
        }
    }
}
