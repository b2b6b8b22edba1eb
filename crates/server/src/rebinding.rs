//! Check of Host and Origin against DNS rebinding: refuses a browser that was tricked into calling a local server.
//!
//! Guarantees: a request with an unexpected `Host` or an unexpected `Origin` never reaches the engine. Ports are
//! compared only if an expectation names one.

use toolcrib_protocol::header::is_visible;

use toolcrib_http1::RequestHead;

/// Host names and origins that a server accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Hosts as `name` or `name:port`, lower case.
    hosts: Vec<String>,
    /// Origins as `scheme://name` or `scheme://name:port`, lower case.
    origins: Vec<String>,
}

/// Reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rebinding {
    #[error("the Host header is missing, repeated or unreadable")]
    NoHost,
    #[error("this server does not answer to that Host")]
    WrongHost,
    #[error("requests from that Origin are not allowed")]
    WrongOrigin,
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Default for Expected {
    fn default() -> Self {
        Self::loopback()
    }
}

impl Expected {
    /// Accepts the loopback names of this machine, at any port.
    #[must_use]
    pub fn loopback() -> Self {
        let hosts = LOOPBACK.iter().map(|name| (*name).to_owned()).collect();
        let origins = ["http", "https"]
            .iter()
            .flat_map(|scheme| LOOPBACK.iter().map(move |name| format!("{scheme}://{name}")))
            .collect();
        Self { hosts, origins }
    }

    /// Accepts exactly these hosts and origins.
    #[must_use]
    pub fn only(hosts: &[&str], origins: &[&str]) -> Self {
        let none = Self { hosts: Vec::new(), origins: Vec::new() };
        let with = hosts.iter().fold(none, |so_far, host| so_far.and_host(host));
        origins.iter().fold(with, |so_far, origin| so_far.and_origin(origin))
    }

    #[must_use]
    pub fn and_host(mut self, host: &str) -> Self {
        push(&mut self.hosts, host);
        self
    }

    #[must_use]
    pub fn and_origin(mut self, origin: &str) -> Self {
        push(&mut self.origins, origin);
        self
    }

    pub fn check(&self, head: &RequestHead) -> Result<(), Rebinding> {
        let mut hosts = head.values("host");
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(Rebinding::NoHost) };
        let is_among = |list: &[String], given| list.iter().any(|expected| same(expected.as_bytes(), given));
        if !is_among(&self.hosts, host) {
            return Err(if is_visible(host) { Rebinding::WrongHost } else { Rebinding::NoHost });
        }
        if head.values("origin").all(|origin| is_among(&self.origins, origin)) {
            Ok(())
        } else {
            Err(Rebinding::WrongOrigin)
        }
    }
}

/// Adds an expectation, unless no header could match it.
fn push(list: &mut Vec<String>, expected: &str) {
    if is_visible(expected.as_bytes()) {
        list.push(expected.to_ascii_lowercase());
    }
}

/// Returns `true` if both are equal, apart from a port that the expectation does not name.
fn same(expected: &[u8], given: &[u8]) -> bool {
    let Some((name, rest)) = given.split_at_checked(expected.len()) else { return false };
    let is_port = |rest: &[u8]| matches!(rest, [b':', port @ ..] if !port.is_empty() && port.iter().all(u8::is_ascii_digit));
    (name == expected || name.eq_ignore_ascii_case(expected)) && (rest.is_empty() || is_port(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirrors::head_with;

    fn check(host: &str, origin: Option<&str>) -> Result<(), Rebinding> {
        let origin = origin.map(|origin| ("Origin", origin));
        let lines: Vec<_> = [("Host", host)].into_iter().chain(origin).collect();
        Expected::loopback().check(&head_with(&lines))
    }

    #[test]
    fn only_expected_hosts_and_origins_pass() {
        assert_eq!(check("localhost:8001", None), Ok(()));
        assert_eq!(check("LOCALHOST", Some("http://localhost:3000")), Ok(()));
        assert_eq!(check("[::1]:80", Some("https://[::1]")), Ok(()));
        assert_eq!(check("evil.example", None), Err(Rebinding::WrongHost));
        assert_eq!(check("localhost.evil.example", None), Err(Rebinding::WrongHost));
        assert_eq!(check("127.0.0.1.evil.example:80", None), Err(Rebinding::WrongHost));
        assert_eq!(check("localhost:", None), Err(Rebinding::WrongHost));
        assert_eq!(check("localhost", Some("http://evil.example")), Err(Rebinding::WrongOrigin));
        assert_eq!(check("localhost", Some("null")), Err(Rebinding::WrongOrigin));
        assert_eq!(check("localhost", Some("http://localhost.evil.example")), Err(Rebinding::WrongOrigin));
        assert_eq!(check("localhost", Some("file://localhost")), Err(Rebinding::WrongOrigin));
        assert_eq!(Expected::loopback().check(&head_with(&[])), Err(Rebinding::NoHost));
    }

    #[test]
    fn an_expectation_with_a_port_wants_that_port() {
        let head = |host: &str| head_with(&[("Host", host)]);
        let wrong = Expected::only(&["tools.example:443"], &[]).check(&head("tools.example:444"));
        assert_eq!(wrong, Err(Rebinding::WrongHost));
        assert_eq!(Expected::only(&["Tools.Example:443"], &[]).check(&head("tools.example:443")), Ok(()));
    }
}
