//! One outgoing HTTP request.

use toolcrib_protocol::{Era, Revision, write};

use crate::request::Request;

/// The parts of a request that do not follow from the server's address.
pub(super) struct Outgoing<'a> {
    pub(super) method: &'a str,
    pub(super) revision: Option<Revision>,
    /// Additional fields, each with its line break.
    pub(super) fields: &'a str,
    /// Request whose method, name and parameters a modern server expects in the head.
    pub(super) mirrored: Option<&'a Request<'a>>,
    pub(super) body: &'a [u8],
}

/// Fields of every posted message.
pub(super) const POSTED: &str =
    "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";

impl Outgoing<'_> {
    /// Writes the whole request. `target` is the rest of the request line and the fields that are common to all
    /// requests to this server.
    pub(super) fn write(&self, out: &mut Vec<u8>, target: &str, token: Option<&str>, session: Option<&str>) {
        out.reserve(target.len() + self.fields.len() + self.body.len() + 320);
        out.extend_from_slice(self.method.as_bytes());
        out.extend_from_slice(target.as_bytes());
        let mut field = |name: &str, value: &str| {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        };
        if let Some(token) = token {
            field("Authorization: Bearer ", token);
        }
        if let Some(revision) = self.revision {
            field("MCP-Protocol-Version: ", revision.as_str());
        }
        if let Some(session) = session {
            field("Mcp-Session-Id: ", session);
        }
        if let Some(request) = self.mirrored.filter(|_| self.is_modern()) {
            request.write_fields(out);
        }
        out.extend_from_slice(self.fields.as_bytes());
        if !self.body.is_empty() {
            out.extend_from_slice(b"Content-Length: ");
            write::number(out, self.body.len() as u64);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.body);
    }

    pub(super) fn is_modern(&self) -> bool {
        self.revision.is_some_and(|revision| revision.era() == Era::Modern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.2: the head repeats the parts that a modern server compares with the body; a legacy server gets its session
    /// id.
    #[test]
    fn a_request_has_the_head_that_its_era_wants() {
        let mut request = Request::new("tools/call");
        request.name = Some("é".into());
        request.headers = vec![("mcp-param-x".into(), "7".into())];
        let written = |revision, session| {
            let mut out = Vec::new();
            let outgoing = Outgoing {
                method: "POST",
                revision: Some(revision),
                fields: POSTED,
                mirrored: Some(&request),
                body: b"{}",
            };
            outgoing.write(&mut out, " /mcp HTTP/1.1\r\nHost: h\r\n", None, session);
            String::from_utf8(out).unwrap()
        };
        let rest = format!("{POSTED}Content-Length: 2\r\n\r\n{{}}");
        assert_eq!(
            written(Revision::V2026_07_28, None),
            format!(
                "POST /mcp HTTP/1.1\r\nHost: h\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
                 Mcp-Name: =?base64?w6k=?=\r\nmcp-param-x: 7\r\n{rest}"
            )
        );
        assert_eq!(
            written(Revision::V2025_11_25, Some("s")),
            format!(
                "POST /mcp HTTP/1.1\r\nHost: h\r\nMCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: s\r\n{rest}"
            )
        );
    }
}
