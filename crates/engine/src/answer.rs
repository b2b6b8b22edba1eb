//! What a tool gives back.

use serde::Serialize;

use crate::content::Content;

/// A result put together by a Rust handler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolResult {
    pub(crate) content: Vec<Content>,
    /// Raw JSON.
    pub(crate) structured: Option<Box<str>>,
    pub(crate) is_error: bool,
    /// A raw JSON object.
    pub(crate) meta: Option<Box<str>>,
}

impl ToolResult {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::new().with(Content::text(text))
    }

    /// A failure the model can read.
    #[must_use]
    pub fn error(text: impl AsRef<str>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Structured content; the same JSON is added as text unless the handler gives a text of its own.
    pub fn structured(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { structured: Some(serde_json::to_string(value)?.into()), ..Self::default() })
    }

    /// Adds a content block.
    #[must_use]
    pub fn with(mut self, content: impl Into<Content>) -> Self {
        self.content.push(content.into());
        self
    }

    /// Adds structured content to what is there.
    pub fn with_structured(mut self, value: &impl Serialize) -> Result<Self, serde_json::Error> {
        self.structured = Some(serde_json::to_string(value)?.into());
        Ok(self)
    }

    /// Adds `_meta`, which must serialise to an object; anything else is left out.
    #[must_use]
    pub fn with_meta(mut self, meta: &serde_json::Map<String, serde_json::Value>) -> Self {
        self.meta = serde_json::to_string(meta).ok().map(Into::into);
        self
    }

    #[must_use]
    pub fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }

    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    #[must_use]
    pub fn content(&self) -> &[Content] {
        &self.content
    }

    /// Structured content as JSON.
    #[must_use]
    pub fn structured_json(&self) -> Option<&str> {
        self.structured.as_deref()
    }
}

/// An answer as it leaves the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Behind a pointer: an answer is handed on often, and most come from somebody else's server.
    Built(Box<ToolResult>),
    /// A whole `tools/call` result as JSON, of whatever era, from somebody else's server. Forwarded as it is but for
    /// what the caller's era forbids.
    Raw(Box<str>),
    /// The same inside the message it came in, read once and never again.
    Forwarded(crate::forwarded::Forwarded),
}

impl Answer {
    /// Bytes of everything in it, near enough for a limit.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Built(result) => {
                let content: usize = result.content.iter().map(|content| content.as_json().len()).sum();
                content
                    + result.structured.as_deref().map_or(0, str::len)
                    + result.meta.as_deref().map_or(0, str::len)
            }
            Self::Raw(raw) => raw.len(),
            Self::Forwarded(forwarded) => forwarded.result().range().len(),
        }
    }
}

impl From<ToolResult> for Answer {
    fn from(result: ToolResult) -> Self {
        Self::Built(Box::new(result))
    }
}
