//! The headers that a server looks for: each line is known by its name once, when the head is read.

use toolcrib_protocol::header;

/// A header that is looked for in every request or nearly every one.
#[expect(clippy::enum_variant_names, reason = "one of them is called Mcp-Name")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    Accept,
    Authorization,
    Connection,
    ContentLength,
    ContentType,
    Expect,
    Host,
    McpMethod,
    McpName,
    McpProtocolVersion,
    McpReadonly,
    McpSessionId,
    McpToolsets,
    Origin,
    TransferEncoding,
    UserAgent,
}

/// How many there are.
pub(super) const NAMES: usize = 16;

/// No known name is longer.
const BYTES_MAX: usize = 24;

type Text = [u8; BYTES_MAX];

impl Name {
    /// The one that is written so, in whatever case.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        let candidates: &[Self] = match name.len() {
            4 => &[Self::Host],
            6 => &[Self::Accept, Self::Origin, Self::Expect],
            8 => &[Self::McpName],
            10 => &[Self::McpMethod, Self::UserAgent, Self::Connection],
            12 => &[Self::ContentType],
            13 => &[Self::Authorization],
            14 => &[Self::ContentLength, Self::McpSessionId, Self::McpToolsets, Self::McpReadonly],
            17 => &[Self::TransferEncoding],
            20 => &[Self::McpProtocolVersion],
            _ => return None,
        };
        // Lowered and compared all at once, whatever the name's length.
        let mut lower: Text = [0; BYTES_MAX];
        lower.get_mut(..name.len())?.copy_from_slice(name);
        lower.make_ascii_lowercase();
        candidates.iter().copied().find(|name| *name.text() == lower)
    }

    /// In lower case, and zeros behind it.
    const fn text(self) -> &'static Text {
        match self {
            Self::Accept => const { &padded("accept") },
            Self::Authorization => const { &padded("authorization") },
            Self::Connection => const { &padded("connection") },
            Self::ContentLength => const { &padded("content-length") },
            Self::ContentType => const { &padded("content-type") },
            Self::Expect => const { &padded("expect") },
            Self::Host => const { &padded("host") },
            Self::McpMethod => const { &padded(header::METHOD) },
            Self::McpName => const { &padded(header::NAME) },
            Self::McpProtocolVersion => const { &padded(header::PROTOCOL_VERSION) },
            Self::McpReadonly => const { &padded("x-mcp-readonly") },
            Self::McpSessionId => const { &padded(header::SESSION_ID) },
            Self::McpToolsets => const { &padded("x-mcp-toolsets") },
            Self::Origin => const { &padded("origin") },
            Self::TransferEncoding => const { &padded("transfer-encoding") },
            Self::UserAgent => const { &padded("user-agent") },
        }
    }

    pub(super) fn bit(self) -> u32 {
        1 << self as u32
    }
}

const fn padded(name: &str) -> Text {
    let mut text = [0; BYTES_MAX];
    let (whole, _) = text.split_at_mut(name.len());
    whole.copy_from_slice(name.as_bytes());
    text
}

/// What lines are looked for by.
#[derive(Debug, Clone, Copy)]
pub enum Sought<'a> {
    Known(Name),
    /// No known name.
    Other(&'a str),
}

impl From<Name> for Sought<'_> {
    fn from(name: Name) -> Self {
        Self::Known(name)
    }
}

impl<'a> From<&'a str> for Sought<'a> {
    fn from(name: &'a str) -> Self {
        Name::of(name.as_bytes()).map_or(Self::Other(name), Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Name; NAMES] = [
        Name::Accept,
        Name::Authorization,
        Name::Connection,
        Name::ContentLength,
        Name::ContentType,
        Name::Expect,
        Name::Host,
        Name::McpMethod,
        Name::McpName,
        Name::McpProtocolVersion,
        Name::McpReadonly,
        Name::McpSessionId,
        Name::McpToolsets,
        Name::Origin,
        Name::TransferEncoding,
        Name::UserAgent,
    ];

    #[test]
    fn a_name_is_known_in_whatever_case_and_only_as_a_whole() {
        for name in ALL {
            let text = std::str::from_utf8(name.text()).unwrap().trim_end_matches('\0');
            assert_eq!(Name::of(text.as_bytes()), Some(name));
            assert_eq!(Name::of(text.to_ascii_uppercase().as_bytes()), Some(name));
            assert!((name as usize) < NAMES);
        }
        let long = "x".repeat(BYTES_MAX);
        for other in ["", "hos", "hosts", "content_type", "content\rtype", &long, &format!("{long}x")] {
            assert_eq!(Name::of(other.as_bytes()), None, "{other:?}");
        }
    }
}
