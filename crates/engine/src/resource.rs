//! Resources and resource templates: their definitions and handlers.

use std::fmt;
use std::sync::Arc;

use toolcrib_contract::json::{Node, ObjectWriter};

use crate::content::ResourceContents;
use crate::context::Context;
use crate::forwarded::Forwarded;
use crate::template::{TemplateError, UriTemplate};
use crate::tool::{BoxFuture, ToolError};

/// Handler that reads a resource. `variables` are those of the matching template, empty for a plain resource.
pub trait Reader: Send + Sync {
    fn read<'a>(
        &'a self,
        uri: &'a str,
        variables: &'a [(Box<str>, String)],
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>>;

    /// Relays the request to another server: the client's parameters go out and a whole result comes back. `None` if
    /// `read` answers.
    fn relay<'a>(
        &'a self,
        _params: Node<'a>,
        _context: &'a Context,
    ) -> Option<BoxFuture<'a, Result<Forwarded, ToolError>>> {
        None
    }

    /// Called when a client subscribes to changes of this resource.
    fn follow(&self, _uri: &str) {}
}

impl fmt::Debug for dyn Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reader")
    }
}

/// Description of a resource or template, without its address.
#[derive(Debug, Clone, Default)]
pub struct About {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
    /// Further members, each with a name and raw JSON: `annotations`, `icons`, `size`, `_meta`.
    pub more: Vec<(String, String)>,
}

impl About {
    #[must_use]
    pub fn new(name: &str, description: &str) -> Self {
        Self { name: name.into(), description: Some(description.into()), ..Self::default() }
    }

    #[must_use]
    pub fn mime_type(mut self, mime_type: &str) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Returns the definition as JSON; `address` is the member `uri` or `uriTemplate` with its value.
    fn definition(&self, address: (&str, &str)) -> String {
        let mut object = ObjectWriter::new();
        object.string(address.0, address.1).string("name", &self.name);
        for (key, value) in
            [("title", &self.title), ("description", &self.description), ("mimeType", &self.mime_type)]
        {
            if let Some(value) = value {
                object.string(key, value);
            }
        }
        for (key, raw) in &self.more {
            object.raw(key, raw);
        }
        object.finish()
    }
}

/// Resource with its definition and handler.
#[derive(Debug, Clone)]
pub struct Resource {
    pub(crate) uri: Arc<str>,
    pub(crate) definition: Arc<str>,
    pub(crate) reader: Arc<dyn Reader>,
}

impl Resource {
    #[must_use]
    pub fn new(uri: &str, about: &About, reader: Arc<dyn Reader>) -> Self {
        Self { uri: uri.into(), definition: about.definition(("uri", uri)).into(), reader }
    }

    /// Creates a resource from a whole definition as JSON.
    #[must_use]
    pub fn raw(uri: &str, definition: &str, reader: Arc<dyn Reader>) -> Self {
        Self { uri: uri.into(), definition: definition.into(), reader }
    }
}

/// Resource template with its definition and handler.
#[derive(Debug, Clone)]
pub struct ResourceTemplate {
    pub(crate) pattern: UriTemplate,
    pub(crate) definition: Arc<str>,
    pub(crate) reader: Arc<dyn Reader>,
}

impl ResourceTemplate {
    /// Creates a template with a definition made from `about`.
    pub fn new(uri_template: &str, about: &About, reader: Arc<dyn Reader>) -> Result<Self, TemplateError> {
        Self::raw(uri_template, &about.definition(("uriTemplate", uri_template)), reader)
    }

    /// Creates a template from a whole definition as JSON.
    pub fn raw(uri_template: &str, definition: &str, reader: Arc<dyn Reader>) -> Result<Self, TemplateError> {
        let pattern = UriTemplate::parse(uri_template)?;
        Ok(Self { pattern, definition: definition.into(), reader })
    }

    /// Returns the text of the URI template.
    #[must_use]
    pub fn uri_template(&self) -> &Arc<str> {
        self.pattern.text()
    }
}
