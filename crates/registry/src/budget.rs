//! Size budgets of publisher extensions (R6.5), counted as the registries count: the default JSON encoding of Go.

use std::str::FromStr;

use toolcrib_contract::json::{Kind, Node};

use crate::PUBLISHER_KEY;

/// Bytes that the official registry takes.
pub const OFFICIAL_BYTES_MAX: usize = 4_096;
/// Bytes that ToolHive's registry server takes unless it is told otherwise.
pub const TOOLHIVE_BYTES_MAX: usize = 262_144;

/// Where an entry is going, and how much room there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Whose limit it is.
    pub name: String,
    /// Bytes of the publisher extension.
    pub bytes_max: usize,
}

impl Target {
    /// The official registry.
    #[must_use]
    pub fn official() -> Self {
        Self { name: "the official registry".to_owned(), bytes_max: OFFICIAL_BYTES_MAX }
    }

    /// ToolHive's registry server.
    #[must_use]
    pub fn toolhive() -> Self {
        Self { name: "ToolHive's registry server".to_owned(), bytes_max: TOOLHIVE_BYTES_MAX }
    }

    /// A target of one's own: `{"name":…,"bytes_max":…}`.
    ///
    /// # Errors
    /// When a member is missing or of another type.
    pub fn read(node: Node<'_>) -> Result<Self, TargetError> {
        let bytes_max =
            node.get("bytes_max").and_then(Node::as_u64).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes_max = bytes_max.filter(|bytes| *bytes > 0).ok_or(TargetError)?;
        let name = node
            .get("name")
            .and_then(Node::as_str)
            .map_or_else(|| "the target".to_owned(), std::borrow::Cow::into_owned);
        Ok(Self { name, bytes_max })
    }
}

/// A target that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a target is official, toolhive, or a file with {{\"name\":…,\"bytes_max\":…}}")]
pub struct TargetError;

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(name: &str) -> Result<Self, TargetError> {
        match name {
            "official" => Ok(Self::official()),
            "toolhive" => Ok(Self::toolhive()),
            _ => Err(TargetError),
        }
    }
}

/// Bytes of a server's publisher extension as the registries count them; 0 where there is none.
#[must_use]
pub fn extension_bytes(server: Node<'_>) -> usize {
    server.get("_meta").and_then(|meta| meta.get(PUBLISHER_KEY)).map_or(0, encoded_bytes)
}

/// Bytes of a value in Go's default encoding: `<`, `>`, `&`, U+2028 and U+2029 cost six.
#[must_use]
pub fn encoded_bytes(node: Node<'_>) -> usize {
    match node.kind() {
        Kind::Null => 4,
        Kind::Boolean => node.raw().len(),
        Kind::Number => number_bytes(node),
        Kind::String => string_bytes(&node.as_str().unwrap_or_default()),
        Kind::Array => 2 + node.len().saturating_sub(1) + node.elements().map(encoded_bytes).sum::<usize>(),
        Kind::Object => {
            let members = node.members().map(|(key, value)| {
                string_bytes(&key.as_str().unwrap_or_default()) + 1 + encoded_bytes(value)
            });
            2 + node.len().saturating_sub(1) + members.sum::<usize>()
        }
    }
}

/// Go decodes numbers as doubles and prints the shortest digits.
fn number_bytes(node: Node<'_>) -> usize {
    let double = node.raw().parse::<f64>().unwrap_or(0.0);
    let text = node.raw();
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') && double.abs() < 1e21 && text != "-0" {
        return format!("{double:.0}").len();
    }
    toolcrib_contract::canonical(node).map_or(text.len(), |text| text.len())
}

fn string_bytes(text: &str) -> usize {
    let bytes = text.chars().map(|c| match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{0}'..='\u{1f}' => 6,
        c => c.len_utf8(),
    });
    2 + bytes.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    fn bytes(text: &str) -> usize {
        encoded_bytes(Document::parse(text.as_bytes(), &Limits::file()).unwrap().root())
    }

    /// R6.5: bytes are those of Go's encoder, not those of the file.
    #[test]
    fn bytes_are_counted_as_go_writes_them() {
        for (text, go) in [
            (r#"{ "a" : [ 1.0, 2e2, null ] }"#, r#"{"a":[1,200,null]}"#.len()),
            (r#""<a>&b""#, 2 + 6 + 1 + 6 + 6 + 1),
            ("\"\u{2028}\u{2029}\u{e9}\"", 2 + 6 + 6 + 2),
            (r#""\u00e9\/\n\u0001""#, 2 + 2 + 1 + 2 + 6),
            ("9007199254740993", 16),
            ("1e21", 5),
            ("0.0000001", 4),
            (r#"{"k<":true}"#, 2 + 9 + 1 + 4),
        ] {
            assert_eq!(bytes(text), go, "{text}");
        }
    }

    /// R6.5: exactly the limit passes, one more does not.
    #[test]
    fn the_limits_are_those_of_the_registries() {
        assert_eq!(Target::official().bytes_max, OFFICIAL_BYTES_MAX);
        assert_eq!("toolhive".parse::<Target>().unwrap().bytes_max, TOOLHIVE_BYTES_MAX);
        assert_eq!("elsewhere".parse::<Target>(), Err(TargetError));
    }
}
