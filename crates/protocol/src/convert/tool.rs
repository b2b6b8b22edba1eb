//! A tool definition as one era may see it.
//!
//! Legacy: an `outputSchema` whose root is not `type: "object"` is dropped (and so is the structured content it
//! would describe). Modern: `execution`, which only 2025-11-25 knew, is dropped. All else stays as it was written.

use std::borrow::Cow;

use toolcrib_contract::json::{Node, ObjectWriter};

use crate::revision::Era;

/// The definition for an era; borrowed when nothing had to change.
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

/// True for a schema that every legacy client can use: its root says `type: "object"`.
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
