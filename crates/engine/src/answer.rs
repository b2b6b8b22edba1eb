//! [`Answer`]: the result of a tool.

use serde::Serialize;

use crate::content::Content;

/// Result built by a Rust handler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolResult {
    pub(crate) content: Vec<Content>,
    /// Raw JSON.
    pub(crate) structured: Option<Box<str>>,
    pub(crate) is_error: bool,
    /// Raw JSON object.
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

    /// Creates an `isError` result whose text the model can read.
    #[must_use]
    pub fn error(text: impl AsRef<str>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Creates a result with structured content; the same JSON is added as text unless the handler adds a text block.
    pub fn structured(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { structured: Some(serde_json::to_string(value)?.into()), ..Self::default() })
    }

    /// Adds a content block.
    #[must_use]
    pub fn with(mut self, content: impl Into<Content>) -> Self {
        self.content.push(content.into());
        self
    }

    /// Adds structured content, in addition to the content blocks.
    pub fn with_structured(mut self, value: &impl Serialize) -> Result<Self, serde_json::Error> {
        self.structured = Some(serde_json::to_string(value)?.into());
        Ok(self)
    }

    /// Sets `_meta` from a JSON object.
    #[must_use]
    pub fn with_meta(mut self, meta: &serde_json::Map<String, serde_json::Value>) -> Self {
        self.meta = serde_json::to_string(meta).ok().map(Into::into);
        self
    }

    /// Marks the result as an error.
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

    /// Returns the structured content as JSON.
    #[must_use]
    pub fn structured_json(&self) -> Option<&str> {
        self.structured.as_deref()
    }
}

/// Answer as it leaves the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Boxed: answers are moved often, and most come from upstream servers.
    Built(Box<ToolResult>),
    /// Whole `tools/call` result of an upstream server as JSON, of either era. Forwarded unchanged except for what
    /// the caller's era forbids.
    Raw(Box<str>),
    /// Result of an upstream server inside the message that it came in, parsed once.
    Forwarded(crate::forwarded::Forwarded),
}

impl Answer {
    /// Returns the approximate size in bytes, for comparison with a limit.
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
