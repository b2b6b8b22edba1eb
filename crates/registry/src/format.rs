//! Catalogue formats, and their detection (R6.2).

use toolcrib_contract::json::Node;

/// Catalogue format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// ToolHive's own registry file, or one entry of it.
    Toolhive,
    /// Upstream registry file: a list of server.json objects.
    Upstream,
    /// A single server.json.
    Server,
    /// A bare `tools/list` result.
    Tools,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Toolhive, Self::Upstream, Self::Server, Self::Tools];

    /// Returns the format's name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Toolhive => "toolhive",
            Self::Upstream => "upstream",
            Self::Server => "server",
            Self::Tools => "tools",
        }
    }

    /// Returns the format with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Detects the format by the document's shape; `None` if it is none of them.
    #[must_use]
    pub fn detect(root: Node<'_>) -> Option<Self> {
        if root.is_array() {
            return Some(Self::Tools);
        }
        let has = |key: &str| root.get(key).is_some();
        let object = |key: &str| root.get(key).is_some_and(Node::is_object);
        let strings = |key: &str| {
            root.get(key).is_some_and(|list| list.is_array() && list.elements().all(|e| e.as_str().is_some()))
        };
        if object("data") {
            return Some(Self::Upstream);
        }
        if object("servers") || object("remote_servers") {
            return Some(Self::Toolhive);
        }
        if has("packages") || has("remotes") || (has("version") && has("name")) {
            return Some(Self::Server);
        }
        if (has("image") || has("url")) && (strings("tools") || has("transport") || has("tier")) {
            return Some(Self::Toolhive);
        }
        let tools = |node: Node<'_>| node.get("tools").is_some_and(Node::is_array);
        let named = root.get("name").and_then(Node::as_str).is_some();
        let tool =
            named && ["inputSchema", "annotations", "description", "arguments"].iter().any(|key| has(key));
        (tools(root) || root.get("result").is_some_and(tools) || tool || (named && root.len() == 1))
            .then_some(Self::Tools)
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    /// R6.2: a format is detected by its shape.
    #[test]
    fn each_shape_is_told_from_the_others() {
        for (text, expected) in [
            (r#"{"version":"1.0.0","servers":{}}"#, Some(Format::Toolhive)),
            (r#"{"remote_servers":{}}"#, Some(Format::Toolhive)),
            (r#"{"image":"a:1","tools":["x"],"transport":"stdio"}"#, Some(Format::Toolhive)),
            (r#"{"url":"https://a","tier":"Community"}"#, Some(Format::Toolhive)),
            (r#"{"meta":{},"data":{"servers":[]}}"#, Some(Format::Upstream)),
            (r#"{"name":"a/b","description":"x","version":"1"}"#, Some(Format::Server)),
            (r#"{"name":"a/b","packages":[]}"#, Some(Format::Server)),
            (r#"{"tools":[]}"#, Some(Format::Tools)),
            (r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#, Some(Format::Tools)),
            ("[]", Some(Format::Tools)),
            (r#"{"name":"x","inputSchema":{}}"#, Some(Format::Tools)),
            (r#"{"name":"x"}"#, Some(Format::Tools)),
            ("{}", None),
            ("7", None),
        ] {
            let document = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
            assert_eq!(Format::detect(document.root()), expected, "{text}");
        }
        assert!(Format::ALL.into_iter().all(|format| Format::from_name(format.name()) == Some(format)));
    }
}
