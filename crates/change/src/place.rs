//! Location of tool definitions in files, so that findings can be displayed beside them.
//!
//! Guarantees: a line is given only for a definition of that name, else line 1; if the changed path is gone from the
//! file, its nearest remaining ancestor is used. Reads no file: the texts are given.

use std::collections::BTreeMap;
use std::ops::Range;

use toolcrib_contract::json::{Document, Limits, Node, Pointer};

/// File and the definitions in it.
#[derive(Clone, Debug, Default)]
pub struct Place {
    file: String,
    text: String,
    /// Byte ranges by `tool`, and by `server/tool` if the file names the server.
    definitions: BTreeMap<String, Range<usize>>,
}

impl Place {
    /// Creates a place without lines, such as a URL.
    #[must_use]
    pub fn new(file: &str) -> Place {
        Place { file: file.to_owned(), ..Place::default() }
    }

    /// Creates a place from the text of a file; a text that is not JSON has no lines.
    #[must_use]
    pub fn read(file: &str, text: String) -> Place {
        let mut definitions = BTreeMap::new();
        if let Ok(document) = Document::parse(text.as_bytes(), &Limits::file()) {
            let root = document.root();
            match root.is_array() {
                true => root.elements().for_each(|node| note(node, None, &mut definitions)),
                false => {
                    note(root, None, &mut definitions);
                    walk(root, None, &mut definitions);
                }
            }
        }
        Place { file: file.to_owned(), text, definitions }
    }

    fn line(&self, tool: &str, path: &str) -> Option<usize> {
        let range = self.definitions.get(tool)?;
        let text = self.text.get(range.clone())?;
        let document = Document::parse(text.as_bytes(), &Limits::file()).ok()?;
        let mut pointer = Pointer::from_escaped(path);
        let inside = loop {
            match document.root().pointer(&pointer) {
                Some(node) => break node.range().start,
                None if pointer.is_root() => break 0,
                None => pointer.pop(),
            }
        };
        let before = self.text.get(..range.start.checked_add(inside)?)?;
        Some(before.bytes().filter(|byte| *byte == b'\n').count() + 1)
    }
}

/// List of files in which findings can be displayed; the first that contains the tool counts.
#[derive(Clone, Debug)]
pub struct Places(Vec<Place>);

impl Places {
    /// Creates the list. The first place is used for a tool that none contains.
    #[must_use]
    pub fn new(places: Vec<Place>) -> Places {
        Places(places)
    }

    /// Returns file and line, counted from one.
    pub(crate) fn of(&self, tool: &str, path: &str) -> (&str, usize) {
        let found = self.0.iter().find_map(|place| Some((place.file.as_str(), place.line(tool, path)?)));
        found.unwrap_or((self.0.first().map_or("", |place| &place.file), 1))
    }
}

impl From<&str> for Places {
    fn from(file: &str) -> Places {
        Places(vec![Place::new(file)])
    }
}

type Found = BTreeMap<String, Range<usize>>;

/// Collects definitions: elements of arrays called `tools` or `tool_definitions`, and values of `definition` in a
/// lock.
fn walk(node: Node<'_>, server: Option<&str>, found: &mut Found) {
    let own = node.get("server").and_then(Node::as_str);
    let server = own.as_deref().or(server);
    for (key, value) in node.members() {
        if key.is_text("definition") {
            note(value, server, found);
        } else if (key.is_text("tools") || key.is_text("tool_definitions")) && value.is_array() {
            for element in value.elements() {
                note(element, server, found);
                walk(element, server, found);
            }
        } else if value.is_object() {
            walk(value, server, found);
        } else if value.is_array() {
            value.elements().for_each(|element| walk(element, server, found));
        }
    }
}

fn note(node: Node<'_>, server: Option<&str>, found: &mut Found) {
    let Some(name) = node.get("name").and_then(Node::as_str) else { return };
    if let Some(server) = server {
        found.entry(format!("{server}/{name}")).or_insert_with(|| node.range());
    }
    found.entry(name.into_owned()).or_insert_with(|| node.range());
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "{\n \"tools\": [\n  {\"name\": \"a\"},\n  {\"name\": \"b\",\n   \"inputSchema\": {\n    \"type\": \"object\"}}\n]}";

    /// R7.6: a finding is located at the changed part, else at its tool, else at the first file.
    #[test]
    fn a_part_a_tool_and_a_file_have_their_lines() {
        let places = Places::new(vec![Place::read("new.json", LIST.to_owned()), Place::new("old")]);
        assert_eq!(places.of("a", ""), ("new.json", 3));
        assert_eq!(places.of("b", "/inputSchema"), ("new.json", 5));
        assert_eq!(places.of("b", "/inputSchema/type"), ("new.json", 6));
        assert_eq!(places.of("b", "/outputSchema"), ("new.json", 4));
        assert_eq!(places.of("c", ""), ("new.json", 1));
        let old = Place::read("old.json", "[{\"name\":\"a\"},\n{\"name\":\"c\"}]".to_owned());
        let both = Places::new(vec![Place::read("new.json", LIST.to_owned()), old]);
        assert_eq!(both.of("c", ""), ("old.json", 2));
        assert_eq!(Places::from("https://example.org/mcp").of("a", ""), ("https://example.org/mcp", 1));
        assert_eq!(Places::new(vec![Place::read("x", "no JSON".to_owned())]).of("a", ""), ("x", 1));
    }

    /// R7.7: in a lock with several servers, a tool is located under its server.
    #[test]
    fn a_lock_tells_servers_apart() {
        let tool = |text: &str| toolcrib_contract::Definition::parse(text).unwrap();
        let mut lock = crate::Lock::new("one", [tool(r#"{"name":"a"}"#)]);
        lock.extend("two", vec![tool(r#"{"name":"a","description":"x"}"#)]);
        let text = lock.to_text();
        let place = Places::new(vec![Place::read("toolcrib.lock", text.clone())]);
        let (_, line) = place.of("two/a", "/description");
        assert_eq!(text.lines().nth(line - 1).map(str::trim), Some("\"description\": \"x\""));
        assert!(place.of("one/a", "").1 < place.of("two/a", "").1);
    }
}
