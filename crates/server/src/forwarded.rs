//! Client addresses behind trusted proxies: `Forwarded` (RFC 7239) and `X-Forwarded-For`.
//!
//! Guarantees: the headers are read only if the peer is a trusted proxy. The client is the rightmost hop that is not a
//! trusted proxy, so a client cannot fake another address by sending these headers itself. A malformed value ends the
//! search at the proxy that sent it. `X-Forwarded-Host` and `X-Forwarded-Proto` are never read: the Host check uses
//! the `Host` header only, and published URLs come from the configuration.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use toolcrib_http1::{RequestHead, visible};

/// Proxies whose forwarding headers are trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    unix: bool,
}

impl TrustedProxies {
    /// Trusts peers in these networks and, if `unix` is set, all peers over a unix socket.
    #[must_use]
    pub fn new(networks: Vec<IpNet>, unix: bool) -> Self {
        Self { networks, unix }
    }

    /// Returns `true` if a connection with this peer address comes from a trusted proxy.
    pub(crate) fn trusts(&self, peer: Option<IpAddr>) -> bool {
        peer.map_or(self.unix, |peer| self.is_proxy(peer))
    }

    fn is_proxy(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }

    /// Returns the client's address for a request from a trusted proxy.
    pub(crate) fn client(&self, head: &RequestHead, peer: Option<IpAddr>) -> Option<IpAddr> {
        let forwarded =
            head.has("forwarded").then(|| self.nearest(peer, head.values("forwarded").flat_map(hops)));
        let x_forwarded = head.has("x-forwarded-for").then(|| {
            let hops = head.values("x-forwarded-for").flat_map(|value| value.split(|byte| *byte == b','));
            self.nearest(peer, hops.map(|hop| address(visible(hop)?.trim())))
        });
        match (forwarded, x_forwarded) {
            (None, None) => peer,
            (Some(client), None) | (None, Some(client)) => client,
            // A proxy that sets one of the headers forwards the other one as the client sent it.
            (Some(one), Some(other)) => {
                if one == other {
                    one
                } else {
                    peer
                }
            }
        }
    }

    /// Walks the hops towards the client as long as they are trusted proxies.
    fn nearest(&self, peer: Option<IpAddr>, hops: impl Iterator<Item = Option<IpAddr>>) -> Option<IpAddr> {
        let hops: Vec<Option<IpAddr>> = hops.collect();
        let mut last = peer;
        for hop in hops.into_iter().rev() {
            match hop {
                None => return last,
                Some(address) if self.is_proxy(address) => last = Some(address),
                Some(address) => return Some(address),
            }
        }
        last
    }
}

/// Returns the hops of one `Forwarded` line. All are unknown if a quoted string does not end in it: a client may open one
/// that swallows what the proxy appends to the line.
fn hops(line: &[u8]) -> impl Iterator<Item = Option<IpAddr>> {
    let mut quotes = Quotes::default();
    line.iter().for_each(|byte| quotes.pass(*byte));
    outside_quotes(line, b',').map(move |element| node(element).filter(|_| !quotes.is_open))
}

/// Position relative to quoted strings.
#[derive(Debug, Default)]
struct Quotes {
    is_open: bool,
    is_escaped: bool,
}

impl Quotes {
    fn pass(&mut self, byte: u8) {
        let was_escaped = self.is_escaped;
        self.is_escaped = self.is_open && !was_escaped && byte == b'\\';
        self.is_open ^= byte == b'"' && !was_escaped;
    }
}

fn outside_quotes(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut quotes = Quotes::default();
    value.split(move |byte| {
        quotes.pass(*byte);
        *byte == separator && !quotes.is_open
    })
}

/// Returns the address in an element's only `for` parameter. Quotes must enclose a whole value.
fn node(element: &[u8]) -> Option<IpAddr> {
    let mut found = None;
    for pair in outside_quotes(element, b';') {
        let (name, value) = visible(pair)?.trim().split_once('=')?;
        let text = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
        if name.contains('"') || text.contains('"') {
            return None;
        }
        if name.eq_ignore_ascii_case("for") && found.replace(address(text)?).is_some() {
            return None;
        }
    }
    found
}

/// Parses an address with or without a port; IPv6 with or without brackets.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    address.as_ref().map(IpAddr::to_canonical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirrors::head_with;

    fn client(lines: &[(&str, &str)]) -> String {
        let proxies =
            TrustedProxies::new(vec!["127.0.0.1/32".parse().unwrap(), "10.0.0.0/8".parse().unwrap()], false);
        let peer: IpAddr = "127.0.0.1".parse().unwrap();
        assert!(proxies.trusts(Some(peer)) && !proxies.trusts(None));
        proxies.client(&head_with(lines), Some(peer)).unwrap().to_string()
    }

    /// R14.2: the client is the rightmost hop that is not a trusted proxy.
    #[test]
    fn the_client_is_the_rightmost_untrusted_hop() {
        let by = |value: &str| client(&[("X-Forwarded-For", value)]);
        assert_eq!(by("203.0.113.9"), "203.0.113.9");
        assert_eq!(by("1.1.1.1, 203.0.113.9, 10.1.2.3"), "203.0.113.9");
        assert_eq!(by("203.0.113.9:4711,10.1.2.3"), "203.0.113.9");
        assert_eq!(by("[2001:db8::1]:80"), "2001:db8::1");
        assert_eq!(by("::ffff:203.0.113.9"), "203.0.113.9");
        assert_eq!(by("10.0.0.1, 10.0.0.2"), "10.0.0.1");
        let lines = [("X-Forwarded-For", "6.6.6.6"), ("X-Forwarded-For", "203.0.113.9")];
        assert_eq!(client(&lines), "203.0.113.9");
        let by = |value: &str| client(&[("Forwarded", value)]);
        assert_eq!(by("for=192.0.2.60;proto=http;by=203.0.113.43"), "192.0.2.60");
        assert_eq!(
            by("for=6.6.6.6, For=\"[2001:db8::17]:4711\";host=\"a,b;c\", for=10.0.0.1"),
            "2001:db8::17"
        );
        assert_eq!(client(&[]), "127.0.0.1");
    }

    /// R14.2: a malformed value is ignored, and so is everything to its left.
    #[test]
    fn malformed_hops_end_the_search_at_the_proxy_that_sent_them() {
        for value in
            ["", "unknown", "6.6.6.6, x", "6.6.6.6,", "6.6.6.6, \u{e9}", "1.2.3", "6.6.6.6, fe80::1%eth0"]
        {
            assert_eq!(client(&[("X-Forwarded-For", value)]), "127.0.0.1", "{value:?}");
        }
        assert_eq!(client(&[("X-Forwarded-For", "6.6.6.6, unknown, 10.0.0.1")]), "10.0.0.1");
        for value in [
            "",
            "for",
            "for=_hidden",
            "proto=http",
            "for=6.6.6.6;for=7.7.7.7",
            "for=\"6.6.6.6",
            "for=6.6.6.6, \"",
            "for=\"\\\"6.6.6.6\"",
            "for=6.6.6.6;x=\", for=203.0.113.9",
            "for=6.6.6.6;x=\", for=\"203.0.113.9:80\"",
            "for=6.6.6.6;x=\"\\, for=\"[2001:db8::1]:80\";proto=\"http\"",
            "for=6.6.6.6;x=\", for=\"203.0.113.9",
            "for=6.6.6.6;x=\"a\"b",
            "for=6.6.6.6;\"x\"=b",
            "for=6.6.6.6;x=a\"b\"",
            "for=6.6.6\".6\"",
        ] {
            assert_eq!(client(&[("Forwarded", value)]), "127.0.0.1", "{value:?}");
        }
    }

    /// R14.2: of two headers that disagree, one was written by the client.
    #[test]
    fn headers_that_disagree_are_both_ignored() {
        let both = |one, other| client(&[("Forwarded", one), ("X-Forwarded-For", other)]);
        assert_eq!(both("for=203.0.113.9", "203.0.113.9"), "203.0.113.9");
        assert_eq!(both("for=6.6.6.6", "203.0.113.9"), "127.0.0.1");
        assert_eq!(both("for=203.0.113.9", "unknown"), "127.0.0.1");
    }

    #[test]
    fn a_mapped_ipv4_peer_is_the_ipv4_proxy() {
        let proxies = TrustedProxies::new(vec!["127.0.0.1/32".parse().unwrap()], true);
        assert!(proxies.trusts(Some("::ffff:127.0.0.1".parse().unwrap())));
        assert!(proxies.trusts(None), "a unix socket");
        assert!(!proxies.trusts(Some("127.0.0.2".parse().unwrap())));
    }
}
