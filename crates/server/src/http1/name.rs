//! The headers that a server looks for: each line is known by its name once, when the head is read.

/// A header that is looked for in every request or nearly every one.
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

/// No known name is longer.
const BYTES_MAX: usize = 32;

impl Name {
    /// The one that is written so, in whatever case.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        // All of it is lowered, whatever the name's length: that is done in two steps.
        let mut lower = [0; BYTES_MAX];
        lower.get_mut(..name.len())?.copy_from_slice(name);
        lower.make_ascii_lowercase();
        Some(match lower.get(..name.len())? {
            b"host" => Self::Host,
            b"accept" => Self::Accept,
            b"expect" => Self::Expect,
            b"origin" => Self::Origin,
            b"mcp-name" => Self::McpName,
            b"connection" => Self::Connection,
            b"mcp-method" => Self::McpMethod,
            b"user-agent" => Self::UserAgent,
            b"content-type" => Self::ContentType,
            b"authorization" => Self::Authorization,
            b"content-length" => Self::ContentLength,
            b"mcp-session-id" => Self::McpSessionId,
            b"x-mcp-readonly" => Self::McpReadonly,
            b"x-mcp-toolsets" => Self::McpToolsets,
            b"transfer-encoding" => Self::TransferEncoding,
            b"mcp-protocol-version" => Self::McpProtocolVersion,
            _ => return None,
        })
    }

    pub(super) fn bit(self) -> u32 {
        1 << self as u32
    }
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
    use toolcrib_protocol::header;

    use super::*;

    #[test]
    fn a_name_is_known_in_whatever_case_and_only_as_a_whole() {
        assert_eq!(Name::of(b"HoSt"), Some(Name::Host));
        assert_eq!(Name::of(header::METHOD.as_bytes()), Some(Name::McpMethod));
        assert_eq!(Name::of(header::NAME.as_bytes()), Some(Name::McpName));
        assert_eq!(Name::of(header::PROTOCOL_VERSION.as_bytes()), Some(Name::McpProtocolVersion));
        assert_eq!(Name::of(header::SESSION_ID.as_bytes()), Some(Name::McpSessionId));
        let long = "x".repeat(BYTES_MAX);
        for other in ["", "hos", "hosts", "content_type", "content\rtype", &long, &format!("{long}x")] {
            assert_eq!(Name::of(other.as_bytes()), None, "{other:?}");
        }
    }
}
