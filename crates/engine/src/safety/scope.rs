//! [`Scope`] of a stop: the callers it applies to, and the text by which it is stored, named and unlocked.
//!
//! Guarantees: the text shows only the beginning of a session id, because the whole id opens the session; different
//! callers have different texts, except sessions whose first 48 random bits are equal.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use super::operating::quoted;
use crate::share::{Share, network};

/// Characters of a session id in a scope.
const SESSION_CHARS: usize = 12;

const ANONYMOUS: &str = "anonymous";
const LOCAL: &str = "local";
const SUBJECT: &str = "subject:";
const SESSION: &str = "anonymous/";
const ADDRESS: &str = "anonymous@";
const UNKNOWN: &str = "anonymous@unknown";

/// Callers that a stop applies to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    Everybody,
    /// Text of a `Stoppable`.
    Caller(String),
}

impl Scope {
    /// Returns the scope that an operator named; accepts a whole session id and any spelling of an address.
    #[must_use]
    pub fn named(text: &str) -> Self {
        if text.is_empty() { Self::Everybody } else { Self::Caller(Stoppable::parse(text).to_string()) }
    }

    /// Like [`Scope::named`], but `None` if the text names no possible caller.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match Stoppable::parse(text) {
            Stoppable::Other("") => Some(Self::Everybody),
            Stoppable::Other(_) => None,
            stoppable => Some(Self::Caller(stoppable.to_string())),
        }
    }

    /// Returns the scope of one share.
    #[must_use]
    pub fn of(share: &Share) -> Self {
        Self::Caller(Stoppable::of(share).to_string())
    }

    /// Returns the text under which the scope is stored; the empty text means everybody.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Everybody => "",
            Self::Caller(caller) => caller,
        }
    }

    #[must_use]
    pub fn from_key(key: &str) -> Self {
        if key.is_empty() { Self::Everybody } else { Self::Caller(key.to_owned()) }
    }

    /// Describes the callers in words.
    #[must_use]
    pub fn words(&self) -> Cow<'_, str> {
        match self {
            Self::Everybody => "everybody".into(),
            Self::Caller(caller) => Stoppable::parse(caller).words(),
        }
    }

    /// Returns the verb of the command line that lifts a stop of this scope.
    #[must_use]
    pub fn unlock(&self) -> String {
        match self {
            Self::Everybody => "unlock".to_owned(),
            Self::Caller(caller) => format!("unlock --caller {}", quoted(caller)),
        }
    }

    /// Describes the callers for a reader who may not learn names and addresses of other callers.
    #[must_use]
    pub fn discreet(&self) -> &'static str {
        match self {
            Self::Everybody => "everybody",
            Self::Caller(caller) => match Stoppable::parse(caller) {
                Stoppable::Anonymous => "every anonymous caller",
                Stoppable::Session(_) => "another anonymous session",
                Stoppable::Address(_) | Stoppable::Unknown => "anonymous callers of another address",
                Stoppable::Local | Stoppable::Subject(_) | Stoppable::Other(_) => "another caller",
            },
        }
    }
}

/// Callers that one stop can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stoppable<'a> {
    /// All anonymous callers, with and without a session.
    Anonymous,
    Local,
    Subject(&'a str),
    /// One anonymous session, by the beginning of its id.
    Session(&'a str),
    /// Anonymous callers without a session, by their network.
    Address(IpAddr),
    /// Anonymous callers without a session, over a transport without addresses.
    Unknown,
    /// Text that names no caller; kept as it was written.
    Other(&'a str),
}

impl<'a> Stoppable<'a> {
    pub(crate) fn of(share: &'a Share) -> Self {
        match share {
            Share::Subject(name) => Self::Subject(name),
            Share::Local => Self::Local,
            Share::Session(id) => Self::Session(beginning(id.as_str())),
            Share::Address(address) => Self::Address(*address),
            Share::Unknown => Self::Unknown,
        }
    }

    pub(crate) fn parse(text: &'a str) -> Self {
        if let Some(name) = text.strip_prefix(SUBJECT) {
            return Self::Subject(name);
        }
        if let Some(id) = text.strip_prefix(SESSION) {
            return Self::Session(beginning(id));
        }
        if let Some(address) = text.strip_prefix(ADDRESS).and_then(|address| address.parse().ok()) {
            return Self::Address(network(address));
        }
        match text {
            ANONYMOUS => Self::Anonymous,
            LOCAL => Self::Local,
            UNKNOWN => Self::Unknown,
            other => Self::Other(other),
        }
    }

    fn words(self) -> Cow<'a, str> {
        match self {
            Self::Anonymous => "every anonymous caller".into(),
            Self::Local => "the local caller (stdio)".into(),
            Self::Subject(name) => format!("the caller {name}").into(),
            Self::Session(id) => format!("the anonymous session {id}…").into(),
            Self::Address(address @ IpAddr::V4(_)) => {
                format!("anonymous callers without a session from address {address}").into()
            }
            Self::Address(address @ IpAddr::V6(_)) => {
                format!("anonymous callers without a session from network {address}/64").into()
            }
            Self::Unknown => "anonymous callers without a session or an address".into(),
            Self::Other(text) => text.into(),
        }
    }
}

impl fmt::Display for Stoppable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str(ANONYMOUS),
            Self::Local => f.write_str(LOCAL),
            Self::Subject(name) => write!(f, "{SUBJECT}{name}"),
            Self::Session(id) => write!(f, "{SESSION}{id}"),
            Self::Address(address) => write!(f, "{ADDRESS}{address}"),
            Self::Unknown => f.write_str(UNKNOWN),
            Self::Other(text) => f.write_str(text),
        }
    }
}

fn beginning(id: &str) -> &str {
    id.get(..SESSION_CHARS).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::SessionId;

    /// R4.7: every share has a text that identifies it for unlocking, and a description.
    #[test]
    fn every_share_has_a_text_that_names_it_again_and_words() {
        let id = SessionId::random().unwrap();
        let v6: IpAddr = "2001:db8:1:2:3:4:5:6".parse().unwrap();
        let shares = [
            Share::Subject("ann".into()),
            Share::Local,
            Share::Session(id.clone()),
            Share::Address("10.0.0.7".parse().unwrap()),
            Share::Address(network(v6)),
            Share::Unknown,
        ];
        for share in &shares {
            let scope = Scope::of(share);
            assert_eq!(Scope::named(scope.key()), scope);
            assert_eq!(Stoppable::parse(scope.key()), Stoppable::of(share));
            assert!(!scope.key().contains(id.as_str()) && !scope.words().contains(id.as_str()));
            assert!(!scope.discreet().contains("10.0") && !scope.discreet().contains("ann "));
        }
        assert_eq!(Scope::of(&shares[0]).key(), "subject:ann");
        assert_eq!(Scope::of(&shares[3]).key(), "anonymous@10.0.0.7");
        assert_eq!(
            Scope::of(&shares[4]).words(),
            "anonymous callers without a session from network 2001:db8:1:2::/64"
        );
    }

    #[test]
    fn an_operator_may_write_a_whole_session_id_and_any_address_of_a_network() {
        let id = SessionId::random().unwrap();
        let share = Share::Session(id.clone());
        assert_eq!(Scope::named(&format!("anonymous/{id}")), Scope::of(&share));
        assert_eq!(Scope::named("anonymous@::ffff:10.0.0.7").key(), "anonymous@10.0.0.7");
        assert_eq!(Scope::named("anonymous@2001:db8::9").key(), "anonymous@2001:db8::");
        assert_eq!(Scope::named("").words(), "everybody");
        assert_eq!(Scope::named("anonymous").words(), "every anonymous caller");
        assert_eq!(Scope::named("somebody else").key(), "somebody else");
    }
}
