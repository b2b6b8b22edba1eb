//! [`Content`]: one content block of a tool's or prompt's answer, kept as the JSON that goes over the wire.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use toolcrib_contract::json::{Document, Limits, Node, ObjectWriter};
use toolcrib_protocol::Revision;
use toolcrib_protocol::convert::content as convert;

/// Content block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    raw: Box<str>,
    kind: Kind,
}

/// Kind of a block, as far as the engine distinguishes them: text, and types that older revisions lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Plain,
    /// Audio and resource links, which older revisions do not have.
    Recent,
}

/// A block given as JSON is not an object with a `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a content block is a JSON object with a type")]
pub struct NotAContentBlock;

impl Content {
    #[must_use]
    pub fn text(text: impl AsRef<str>) -> Self {
        Self { raw: convert::text_block(text.as_ref()).into(), kind: Kind::Text }
    }

    #[must_use]
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: &str) -> Self {
        Self { raw: media("image", bytes.as_ref(), mime_type), kind: Kind::Plain }
    }

    #[must_use]
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: &str) -> Self {
        Self { raw: media("audio", bytes.as_ref(), mime_type), kind: Kind::Recent }
    }

    /// Embeds a resource's contents in the answer.
    #[must_use]
    pub fn resource(contents: &ResourceContents) -> Self {
        let mut object = ObjectWriter::new();
        object.string("type", "resource").raw("resource", contents.raw());
        Self { raw: object.finish().into(), kind: Kind::Plain }
    }

    /// Links to a resource that the client can read.
    #[must_use]
    pub fn resource_link(uri: &str, name: &str) -> Self {
        let mut object = ObjectWriter::new();
        object.string("type", "resource_link").string("uri", uri).string("name", name);
        Self { raw: object.finish().into(), kind: Kind::Recent }
    }

    /// Takes any block as JSON, vendor members included.
    pub fn raw(json: &str) -> Result<Self, NotAContentBlock> {
        let document = Document::parse(json.as_bytes(), &Limits::message()).map_err(|_| NotAContentBlock)?;
        Self::from_node(document.root())
    }

    pub fn from_node(node: Node<'_>) -> Result<Self, NotAContentBlock> {
        let kind = match node.get("type").and_then(Node::as_str).ok_or(NotAContentBlock)?.as_ref() {
            "text" => Kind::Text,
            "audio" | "resource_link" => Kind::Recent,
            _ => Kind::Plain,
        };
        Ok(Self { raw: node.to_compact().into(), kind })
    }

    #[must_use]
    pub fn is_text(&self) -> bool {
        self.kind == Kind::Text
    }

    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.raw
    }

    /// Appends the block in the form of the revision.
    pub(crate) fn write(&self, out: &mut Vec<u8>, revision: Revision) {
        if self.kind != Kind::Recent || revision.has_resource_links() {
            out.extend_from_slice(self.raw.as_bytes());
            return;
        }
        match Document::parse(self.raw.as_bytes(), &Limits::message()) {
            Ok(document) => out.extend_from_slice(convert::block(document.root(), revision).as_bytes()),
            Err(_) => out.extend_from_slice(self.raw.as_bytes()),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// Contents of a resource, as `resources/read` returns them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceContents(Box<str>);

impl ResourceContents {
    #[must_use]
    pub fn text(uri: &str, mime_type: &str, text: &str) -> Self {
        let mut object = ObjectWriter::new();
        object.string("uri", uri).string("mimeType", mime_type).string("text", text);
        Self(object.finish().into())
    }

    #[must_use]
    pub fn blob(uri: &str, mime_type: &str, bytes: &[u8]) -> Self {
        let mut object = ObjectWriter::new();
        object.string("uri", uri).string("mimeType", mime_type).string("blob", &STANDARD.encode(bytes));
        Self(object.finish().into())
    }

    /// Returns the contents as JSON.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.0
    }
}

fn media(kind: &str, bytes: &[u8], mime_type: &str) -> Box<str> {
    let mut object = ObjectWriter::new();
    object.string("type", kind).string("data", &STANDARD.encode(bytes)).string("mimeType", mime_type);
    object.finish().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_given_as_json_keeps_its_vendor_members() {
        let raw = r#"{"type":"text","text":"x","_meta":{"k":0.60}}"#;
        assert_eq!(Content::raw(raw).unwrap().as_json(), raw);
        assert_eq!(Content::raw(r#"{"text":"x"}"#), Err(NotAContentBlock));
        assert_eq!(Content::raw("7"), Err(NotAContentBlock));
    }

    #[test]
    fn a_revision_that_knows_no_audio_gets_text() {
        let mut out = Vec::new();
        Content::audio(b"x", "audio/wav").write(&mut out, Revision::V2024_11_05);
        assert!(out.starts_with(br#"{"type":"text""#));
    }
}
