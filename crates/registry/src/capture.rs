//! Writes captured definitions into an entry (R6.6): an empty answer never overwrites a full list.
//!
//! Changes only `tool_definitions` and `tools` in the server's own block. If the only block has the key of another
//! image, it is taken over under the current key: the image was updated and the block was not.

use toolcrib_contract::Definition;
use toolcrib_contract::json::{Node, ObjectWriter};

use crate::carry::slot::replaced;
use crate::extension::{self, DEFINITIONS};
use crate::issue::Fault;
use crate::step::{quoted, read};
use crate::{PUBLISHER_KEY, STACKLOK};

/// Reason why nothing was captured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The server has no tools, but the entry has some.
    #[error("the server answered with no tools; the entry has {known}, which stay")]
    Empty { known: usize },
    /// The server's block cannot be determined.
    #[error("{0}")]
    Block(Fault),
    /// The entry names neither an image nor a URL nor a server.
    #[error("the entry has neither image nor URL nor name")]
    NoSubject,
    /// Text that this crate wrote and cannot parse.
    #[error(transparent)]
    Issue(#[from] crate::issue::Issue),
}

/// Returns `server` with these definitions, sorted by name, and their names.
///
/// # Errors
/// [`CaptureError::Empty`] if an empty list would replace a full one; the others if the block cannot be determined.
pub fn captured(server: Node<'_>, definitions: &[Definition]) -> Result<String, CaptureError> {
    let subject = extension::subject(server).ok_or(CaptureError::NoSubject)?.into_owned();
    let (key, block, stale) = match extension::block(server) {
        Ok(Some((key, block))) => (key.into_owned(), Some(block), None),
        Ok(None) => (subject, None, None),
        Err(Fault::UnmatchedExtension { keys, .. }) if keys.len() == 1 => {
            let stale = keys.into_iter().next().unwrap_or_default();
            let blocks = server
                .get("_meta")
                .and_then(|meta| meta.get(PUBLISHER_KEY))
                .and_then(|own| own.get(STACKLOK));
            (subject, blocks.and_then(|blocks| blocks.get(&stale)), Some(stale))
        }
        Err(fault) => return Err(CaptureError::Block(fault)),
    };
    let known = |key: &str| block.and_then(|block| block.get(key)).map_or(0, Node::len);
    let known = known(DEFINITIONS).max(known("tools"));
    if definitions.is_empty() && known > 0 {
        return Err(CaptureError::Empty { known });
    }
    let mut sorted: Vec<&Definition> = definitions.iter().collect();
    sorted.sort_by(|a, b| a.name().cmp(b.name()));
    sorted.dedup_by(|a, b| a.name() == b.name());
    let names: Vec<String> = sorted.iter().map(|tool| quoted(tool.name())).collect();
    let texts: Vec<&str> = sorted.iter().map(|tool| tool.text()).collect();
    let mut out = ObjectWriter::new();
    if block.is_none_or(|block| block.get("status").is_none()) {
        out.string("status", "active");
    }
    for (name, value) in block.into_iter().flat_map(Node::members) {
        if !name.is_text(DEFINITIONS) && !name.is_text("tools") {
            out.copy(name, value);
        }
    }
    out.raw(DEFINITIONS, &format!("[{}]", texts.join(","))).raw("tools", &format!("[{}]", names.join(",")));
    let path = ["_meta", PUBLISHER_KEY, STACKLOK];
    let at = |key: &str, value: Option<&str>, node: Node<'_>| {
        let mut path: Vec<&str> = path.to_vec();
        path.push(key);
        replaced(node, &path, value, 0).unwrap_or_default()
    };
    let text = at(&key, Some(&out.finish()), server);
    match stale {
        Some(stale) => Ok(read(&text, |node| at(&stale, None, node))?),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    fn capture(text: &str, tools: &[&str]) -> Result<serde_json::Value, CaptureError> {
        let document = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
        let tools: Vec<Definition> = tools.iter().map(|text| Definition::parse(text).unwrap()).collect();
        captured(document.root(), &tools).map(|text| serde_json::from_str(&text).unwrap())
    }

    fn server(image: &str, key: &str) -> String {
        format!(
            r#"{{"name":"a/b","packages":[{{"registryType":"oci","identifier":"{image}"}}],"_meta":{{"other":1,"{PUBLISHER_KEY}":{{"{STACKLOK}":{{"{key}":{{"tier":"Official","tools":["x"]}}}},"com.example":{{"y":2}}}}}}}}"#
        )
    }

    /// R6.6: definitions fill the matching block and touch nothing else.
    #[test]
    fn definitions_fill_their_block() {
        let made =
            capture(&server("img:1", "img:1"), &[r#"{"name":"z","n":1.0}"#, r#"{"name":"a"}"#]).unwrap();
        let own = &made["_meta"][PUBLISHER_KEY];
        assert_eq!(own[STACKLOK]["img:1"]["tools"], serde_json::json!(["a", "z"]));
        assert_eq!(own[STACKLOK]["img:1"]["tool_definitions"][1].to_string(), r#"{"name":"z","n":1.0}"#);
        assert_eq!(
            (&own[STACKLOK]["img:1"]["tier"], &own["com.example"]["y"], &made["_meta"]["other"]),
            (&"Official".into(), &2.into(), &1.into())
        );
    }

    /// R6.6: an empty answer never overwrites a full list; an empty list stays empty.
    #[test]
    fn an_empty_answer_overwrites_nothing() {
        assert_eq!(capture(&server("img:1", "img:1"), &[]), Err(CaptureError::Empty { known: 1 }));
        let bare = capture(r#"{"name":"a/b"}"#, &[]).unwrap();
        assert_eq!(bare["_meta"][PUBLISHER_KEY][STACKLOK]["a/b"]["tools"], serde_json::json!([]));
    }

    /// R6.6: an updated image takes its block along.
    #[test]
    fn a_stale_key_becomes_the_images() {
        let made = capture(&server("img:2", "img:1"), &[r#"{"name":"a"}"#]).unwrap();
        let blocks = made["_meta"][PUBLISHER_KEY][STACKLOK].as_object().unwrap();
        assert_eq!(blocks.keys().collect::<Vec<_>>(), ["img:2"]);
        assert_eq!(blocks["img:2"]["tier"], "Official");
    }
}
