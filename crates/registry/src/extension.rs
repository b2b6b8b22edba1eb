//! The publisher extension: the block whose key *is* the server's image or URL (R6.3).
//!
//! The order of blocks never matters: the key is the only OCI image, else the first remote, else the only other
//! package, remote or server name that has a block. Two that match equally are an error.

use std::borrow::Cow;

use toolcrib_contract::json::{Node, Pointer};

use crate::issue::Fault;
use crate::{PUBLISHER_KEY, STACKLOK};

/// Member of an extension block that has the definitions.
pub(crate) const DEFINITIONS: &str = "tool_definitions";

/// Returns the packages of type `oci`, with their indices.
pub(crate) fn oci_packages<'d>(server: Node<'d>) -> impl Iterator<Item = (usize, Node<'d>)> {
    let packages = server.get("packages").into_iter().flat_map(Node::elements);
    packages
        .enumerate()
        .filter(|(_, package)| package.get("registryType").is_some_and(|kind| kind.is_text("oci")))
}

fn identifier(package: Node<'_>) -> Option<Cow<'_, str>> {
    package.get("identifier")?.as_str()
}

fn remotes(server: Node<'_>) -> impl Iterator<Item = Cow<'_, str>> {
    server
        .get("remotes")
        .into_iter()
        .flat_map(Node::elements)
        .filter_map(|remote| remote.get("url")?.as_str())
}

/// Returns the only image, else the first remote; `None` if there are several images, or neither.
fn main_subject(server: Node<'_>) -> Option<Cow<'_, str>> {
    let mut images = oci_packages(server).filter_map(|(_, package)| identifier(package));
    match (images.next(), images.next()) {
        (Some(image), None) => Some(image),
        (None, _) => remotes(server).next(),
        (Some(_), Some(_)) => None,
    }
}

/// Returns the key that a server's block has or would have.
#[must_use]
pub fn subject(server: Node<'_>) -> Option<Cow<'_, str>> {
    let packages = || server.get("packages").into_iter().flat_map(Node::elements).filter_map(identifier);
    main_subject(server).or_else(|| packages().next()).or_else(|| server.get("name")?.as_str())
}

/// Returns the object of blocks by key.
fn blocks(server: Node<'_>) -> Option<Node<'_>> {
    server.get("_meta")?.get(PUBLISHER_KEY)?.get(STACKLOK).filter(|blocks| blocks.is_object())
}

/// Returns the location of the block `key`.
#[must_use]
pub fn place(key: &str) -> Pointer {
    Pointer::root().join("_meta").join(PUBLISHER_KEY).join(STACKLOK).join(key)
}

/// Returns the part of `pointer` below a block: `/tool_definitions/0` for the first definition of any block.
pub(crate) fn below_block(pointer: &Pointer) -> Option<Pointer> {
    let mut tokens = pointer.tokens();
    let within = ["_meta", PUBLISHER_KEY, STACKLOK].iter().all(|key| tokens.next().as_deref() == Some(*key));
    tokens.next().filter(|_| within)?;
    Some(tokens.fold(Pointer::root(), |place, token| place.join(token)))
}

/// Returns the block of `server` with its key, or `None` if there are no blocks.
///
/// # Errors
/// [`Fault::AmbiguousExtension`] if two match, [`Fault::UnmatchedExtension`] if blocks exist but none matches.
pub fn block<'d>(server: Node<'d>) -> Result<Option<(Cow<'d, str>, Node<'d>)>, Fault> {
    let Some(blocks) = blocks(server) else { return Ok(None) };
    let own = main_subject(server);
    let found =
        |key: Cow<'d, str>| blocks.get(&key).filter(|block| block.is_object()).map(|block| (key, block));
    if let Some(found) = own.clone().and_then(found) {
        return Ok(Some(found));
    }
    let packages = server.get("packages").into_iter().flat_map(Node::elements).filter_map(identifier);
    let name = server.get("name").and_then(Node::as_str);
    let mut others: Vec<(Cow<'d, str>, Node<'d>)> = Vec::new();
    for key in packages.chain(remotes(server)).chain(name) {
        if !others.iter().any(|(known, _)| *known == key) {
            others.extend(found(key));
        }
    }
    match others.len() {
        0 if blocks.is_empty() => Ok(None),
        0 => Err(Fault::UnmatchedExtension {
            subject: own.or_else(|| subject(server)).unwrap_or_default().into_owned(),
            keys: blocks.members().filter_map(|(key, _)| key.as_str()).map(Cow::into_owned).collect(),
        }),
        1 => Ok(others.pop()),
        _ => Err(Fault::AmbiguousExtension {
            keys: others.into_iter().map(|(key, _)| key.into_owned()).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    fn key_of(packages: &str, remotes: &str, blocks: &str) -> Result<Option<String>, Fault> {
        let text = format!(
            r#"{{"name":"a/b","packages":{packages},"remotes":{remotes},"_meta":{{"{PUBLISHER_KEY}":{{"{STACKLOK}":{blocks}}}}}}}"#
        );
        let document = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
        block(document.root()).map(|found| found.map(|(key, _)| key.into_owned()))
    }

    const IMAGE: &str = r#"[{"registryType":"oci","identifier":"img:2"}]"#;
    const TWO: &str =
        r#"[{"registryType":"oci","identifier":"img:1"},{"registryType":"oci","identifier":"img:2"}]"#;

    /// R6.3: the block is the one whose key is the image or the URL, wherever it stands.
    #[test]
    fn a_block_is_found_by_its_key_and_not_by_its_place() {
        assert_eq!(key_of(IMAGE, "[]", r#"{"img:1":{},"img:2":{}}"#), Ok(Some("img:2".into())));
        assert_eq!(
            key_of(
                "[]",
                r#"[{"url":"https://a"},{"url":"https://b"}]"#,
                r#"{"https://b":{},"https://a":{}}"#
            ),
            Ok(Some("https://a".into()))
        );
        assert_eq!(key_of("[]", "[]", r#"{"a/b":{}}"#), Ok(Some("a/b".into())));
        assert_eq!(key_of(IMAGE, "[]", "{}"), Ok(None));
        assert_eq!(key_of(TWO, "[]", r#"{"img:2":{}}"#), Ok(Some("img:2".into())));
    }

    /// R6.3: an ambiguity is an error, and a block of another image is not taken for this image's.
    #[test]
    fn an_ambiguity_is_an_error() {
        let keys = vec!["img:1".to_owned(), "img:2".to_owned()];
        assert_eq!(key_of(TWO, "[]", r#"{"img:2":{},"img:1":{}}"#), Err(Fault::AmbiguousExtension { keys }));
        let unmatched = Fault::UnmatchedExtension { subject: "img:2".into(), keys: vec!["img:1".into()] };
        assert_eq!(key_of(IMAGE, "[]", r#"{"img:1":{"tools":["x"]}}"#), Err(unmatched));
    }
}
