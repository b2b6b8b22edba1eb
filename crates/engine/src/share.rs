//! The key under which a caller's use of a bounded resource is counted.
//!
//! A bound for the whole process keeps the process alive; a bound per share keeps one caller from using all of it. An
//! authenticated caller counts by its subject. An anonymous one counts by its legacy session, and without a session by
//! its network address.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use crate::principal::Principal;
use crate::session::SessionId;

/// Maximum characters of a subject or session id in a log line.
const SHOWN_CHARS_MAX: usize = 64;

/// Caller among all that use a bounded resource. Never proof of identity: that is [`Principal`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Share {
    /// Subject of a credential.
    Subject(Arc<str>),
    /// Process that started this one over stdio.
    Local,
    /// Anonymous legacy session.
    Session(SessionId),
    /// Network of an anonymous caller; see [`network`].
    Address(IpAddr),
    /// Anonymous caller over a transport without addresses, such as a Unix socket.
    Unknown,
}

impl Share {
    /// Returns the share of a request by what is known of its sender.
    #[must_use]
    pub fn of(principal: &Principal, session: Option<&SessionId>, address: Option<IpAddr>) -> Self {
        match (principal, session, address) {
            (Principal::Subject(subject), _, _) => Self::Subject(subject.clone()),
            (Principal::Local, _, _) => Self::Local,
            (Principal::Anonymous, Some(session), _) => Self::Session(session.clone()),
            (Principal::Anonymous, None, Some(address)) => Self::Address(network(address)),
            (Principal::Anonymous, None, None) => Self::Unknown,
        }
    }
}

/// Returns the part of an address that identifies one subscriber: an IPv4 address, or the first 64 bits of an IPv6
/// address, because the holder of one IPv6 address usually holds the other 2^64 - 1 of its network too.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Safe to log: escaped, bounded, and with only the beginning of a session id, because the whole id opens the
/// session.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subject(subject) => {
                let shown: String = subject.chars().take(SHOWN_CHARS_MAX).collect();
                write!(f, "subject {}", shown.escape_debug())
            }
            Self::Local => f.write_str("local"),
            Self::Session(id) => write!(f, "session {}…", id.as_str().get(..8).unwrap_or_default()),
            Self::Address(address @ IpAddr::V4(_)) => write!(f, "address {address}"),
            Self::Address(address @ IpAddr::V6(_)) => write!(f, "network {address}/64"),
            Self::Unknown => f.write_str("unknown address"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_counts_by_itself_and_an_anonymous_caller_by_session_then_address() {
        let id = SessionId::random().unwrap();
        let address: IpAddr = "10.0.0.7".parse().unwrap();
        let subject = Share::Subject("ada".into());
        assert_eq!(Share::of(&Principal::subject("ada"), Some(&id), Some(address)), subject);
        assert_eq!(Share::of(&Principal::Local, None, None), Share::Local);
        let of = |session, address| Share::of(&Principal::Anonymous, session, address);
        assert_eq!(of(Some(&id), Some(address)), Share::Session(id.clone()));
        assert_eq!(of(None, Some(address)), Share::Address(address));
        assert_eq!(of(None, None), Share::Unknown);
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_share_and_ipv4_is_the_same_in_both_writings() {
        let of = |text: &str| Share::of(&Principal::Anonymous, None, Some(text.parse().unwrap()));
        assert_eq!(of("2001:db8:1:2:3::4"), of("2001:db8:1:2:ffff::1"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:10.0.0.7"), of("10.0.0.7"));
        assert_ne!(of("10.0.0.7"), of("10.0.0.8"));
    }

    #[test]
    fn a_share_is_written_in_one_bounded_line_without_a_whole_session_id() {
        let subject = Share::Subject(format!("a\nb{}", "x".repeat(1_000)).into());
        assert!(subject.to_string().starts_with("subject a\\nb"), "{subject}");
        assert!(subject.to_string().len() < 100);
        let id = SessionId::random().unwrap();
        assert!(!Share::Session(id.clone()).to_string().contains(id.as_str()));
        assert_eq!(
            Share::Address(network("2001:db8::1".parse().unwrap())).to_string(),
            "network 2001:db8::/64"
        );
        assert_eq!(Share::Unknown.to_string(), "unknown address");
    }
}
