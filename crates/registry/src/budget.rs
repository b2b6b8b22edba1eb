//! Size budgets of publisher extensions (R6.5), in bytes of Go's default JSON encoding, as the registries count.

use std::str::FromStr;

use toolcrib_contract::json::{Kind, Node};

use crate::PUBLISHER_KEY;

/// Maximum bytes of a publisher extension in the official registry.
pub const OFFICIAL_BYTES_MAX: usize = 4_096;
/// Default maximum bytes of a publisher extension in ToolHive's registry server.
pub const TOOLHIVE_BYTES_MAX: usize = 262_144;

/// Registry that an entry is meant for, with its size limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Name for messages.
    pub name: String,
    /// Maximum bytes of the publisher extension.
    pub bytes_max: usize,
}

impl Target {
    /// Returns the official registry's target.
    #[must_use]
    pub fn official() -> Self {
        Self { name: "the official registry".to_owned(), bytes_max: OFFICIAL_BYTES_MAX }
    }

    /// Returns the target of ToolHive's registry server.
    #[must_use]
    pub fn toolhive() -> Self {
        Self { name: "ToolHive's registry server".to_owned(), bytes_max: TOOLHIVE_BYTES_MAX }
    }

    /// Reads a custom target: `{"name":…,"bytes_max":…}`.
    ///
    /// # Errors
    /// If `bytes_max` is missing or not a positive integer.
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

/// Error for an unreadable target.
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

/// Returns the bytes of a server's publisher extension as the registries count them, or 0 without one.
#[must_use]
pub fn extension_bytes(server: Node<'_>) -> usize {
    server.get("_meta").and_then(|meta| meta.get(PUBLISHER_KEY)).map_or(0, encoded_bytes)
}

/// Returns the bytes of a value in Go's default encoding, in which `<`, `>`, `&`, U+2028 and U+2029 take six each.
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

    /// R6.5: bytes are counted as in Go's encoder, not as in the file.
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

    /// R6.5: an extension of exactly the limit passes, one byte more does not.
    #[test]
    fn the_limits_are_those_of_the_registries() {
        assert_eq!(Target::official().bytes_max, OFFICIAL_BYTES_MAX);
        assert_eq!("toolhive".parse::<Target>().unwrap().bytes_max, TOOLHIVE_BYTES_MAX);
        assert_eq!("elsewhere".parse::<Target>(), Err(TargetError));
    }
}
