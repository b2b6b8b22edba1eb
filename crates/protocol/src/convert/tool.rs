//! Conversion of a tool definition for an era.
//!
//! Legacy: an `outputSchema` without `type: "object"` at its root is dropped (and so is the structured content that
//! it describes). Modern: `execution`, which only 2025-11-25 has, is dropped. Everything else keeps its text.

use std::borrow::Cow;

use toolcrib_contract::json::{Node, ObjectWriter};

use crate::revision::Era;

/// Converts the definition for an era; borrowed if nothing changes.
#[must_use]
pub fn definition<'a>(node: Node<'a>, era: Era) -> Cow<'a, str> {
    let drop: &str = match era {
        Era::Modern => "execution",
        Era::Legacy if node.get("outputSchema").is_some_and(|schema| !describes_object(schema)) => {
            "outputSchema"
        }
        Era::Legacy => return Cow::Borrowed(node.raw()),
    };
    if node.get(drop).is_none() {
        return Cow::Borrowed(node.raw());
    }
    let mut object = ObjectWriter::new();
    for (key, value) in node.members() {
        if !key.is_text(drop) {
            object.copy(key, value);
        }
    }
    Cow::Owned(object.finish())
}

/// `true` if every legacy client can use the schema: its root has `type: "object"`.
#[must_use]
pub fn describes_object(schema: Node<'_>) -> bool {
    schema.get("type").is_some_and(|kind| kind.is_text("object"))
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    fn convert(text: &str, era: Era) -> String {
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        definition(document.root(), era).into_owned()
    }

    #[test]
    fn legacy_clients_never_see_an_output_schema_that_is_no_object() {
        let array = r#"{"name":"x","outputSchema":{"type":"array"},"vendor":0.60}"#;
        assert_eq!(convert(array, Era::Legacy), r#"{"name":"x","vendor":0.60}"#);
        assert_eq!(convert(array, Era::Modern), array);
        let object = r#"{"name":"x","outputSchema":{"type":"object"}}"#;
        assert_eq!(convert(object, Era::Legacy), object);
    }

    #[test]
    fn modern_clients_never_see_execution() {
        let text = r#"{"name":"x","execution":{"taskSupport":"optional"},"z":1}"#;
        assert_eq!(convert(text, Era::Modern), r#"{"name":"x","z":1}"#);
        assert_eq!(convert(text, Era::Legacy), text);
    }
}
