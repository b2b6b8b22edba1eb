//! Excerpt of a JSON value: lists with fewer elements, strings with fewer characters.
//!
//! Guarantees: the excerpt is within the byte limit and satisfies the given schema. Numbers and names are copied as
//! they were written. Returns nothing if no shorter value satisfies both.

use toolcrib_contract::Schema;
use toolcrib_contract::json::{Document, Kind, Limits, Node};
use toolcrib_protocol::write;

/// Maximum elements per list and characters per string, tried from mild to harsh.
const CUTS: [(usize, usize); 8] =
    [(256, 8_192), (64, 2_048), (32, 1_024), (16, 512), (8, 256), (4, 128), (1, 32), (0, 8)];

#[derive(Clone, Copy)]
struct Cut {
    elements_max: usize,
    chars_max: usize,
}

/// Returns an excerpt of `value` within `bytes_max` that satisfies `promised`.
pub(crate) fn excerpt(value: Node<'_>, bytes_max: usize, promised: Option<&Schema>) -> Option<String> {
    let whole = usize::MAX;
    for (elements_max, chars_max) in CUTS {
        // Schemas seldom demand a minimum length of a list, but often a format of a string: lists are cut first.
        let cuts = [(elements_max, whole), (whole, chars_max), (elements_max, chars_max)];
        for (elements_max, chars_max) in cuts {
            let mut text = String::new();
            let is_within = shorten(value, Cut { elements_max, chars_max }, bytes_max, &mut text);
            if is_within && keeps(&text, promised) {
                return Some(text);
            }
        }
    }
    None
}

fn keeps(text: &str, promised: Option<&Schema>) -> bool {
    let Some(promised) = promised else { return true };
    let document = Document::parse(text.as_bytes(), &Limits::message());
    document.is_ok_and(|document| promised.accepts(document.root()))
}

/// Writes the shortened value; returns `false` as soon as it exceeds the limit.
fn shorten(node: Node<'_>, cut: Cut, bytes_max: usize, out: &mut String) -> bool {
    match node.kind() {
        Kind::Array => {
            out.push('[');
            for (index, element) in node.elements().take(cut.elements_max).enumerate() {
                if index > 0 {
                    out.push(',');
                }
                if !shorten(element, cut, bytes_max, out) {
                    return false;
                }
            }
            out.push(']');
        }
        Kind::Object => {
            out.push('{');
            for (index, (key, value)) in node.members().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(key.raw());
                out.push(':');
                if !shorten(value, cut, bytes_max, out) {
                    return false;
                }
            }
            out.push('}');
        }
        Kind::String => match node.as_str() {
            Some(text) if text.chars().nth(cut.chars_max).is_some() => {
                let kept: String = text.chars().take(cut.chars_max).collect();
                out.push_str(&write::quoted(&kept));
            }
            _ => out.push_str(node.raw()),
        },
        _ => out.push_str(node.raw()),
    }
    out.len() <= bytes_max
}

/// Returns the longest beginning of a text that has at most `bytes_max` bytes when written as JSON.
pub(crate) fn beginning(text: &str, bytes_max: usize) -> &str {
    let mut bytes = 0;
    for (at, c) in text.char_indices() {
        bytes += match c {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            c if c.is_control() => 6,
            c => c.len_utf8(),
        };
        if bytes > bytes_max {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::{Contract, Definition, SchemaCache, SchemaOptions};

    use super::*;

    fn contract(output: &str) -> Contract {
        let text = format!(r#"{{"name":"t","inputSchema":{{"type":"object"}},"outputSchema":{output}}}"#);
        let definition = Definition::parse(text).unwrap();
        Contract::compile(definition, &SchemaOptions::default(), &SchemaCache::new()).unwrap()
    }

    fn cut(value: &str, bytes_max: usize, output: &str) -> Option<String> {
        let document = Document::parse(value.as_bytes(), &Limits::message()).unwrap();
        let contract = contract(output);
        excerpt(document.root(), bytes_max, contract.output().map(|schema| &**schema))
    }

    /// R5.10: an excerpt satisfies the output schema, and every number keeps its digits.
    #[test]
    fn an_excerpt_keeps_its_schema_and_every_digit() {
        let rows = vec![r#"{"n":1.50,"big":9007199254740993}"#; 1_000].join(",");
        let value = format!(r#"{{"rows":[{rows}],"total":1000}}"#);
        let plain = r#"{"type":"object","required":["rows","total"]}"#;
        let short = cut(&value, 1_024, plain).unwrap();
        assert!(short.len() <= 1_024 && short.starts_with(r#"{"rows":[{"n":1.50,"big":9007199254740993}"#));
        assert!(short.ends_with(r#""total":1000}"#));
        let many = r#"{"type":"object","properties":{"rows":{"minItems":500}}}"#;
        assert_eq!(cut(&value, 1_024, many), None, "fewer rows would break the promise");
    }

    /// R5.10: if lists have to stay whole, strings are cut, and the other way round.
    #[test]
    fn what_may_not_be_cut_is_left_alone() {
        let long = "x".repeat(10_000);
        let value = format!(r#"{{"ids":["aaaaaaaaaaaa","bbbbbbbbbbbb"],"text":"{long}"}}"#);
        let output = r#"{"type":"object","properties":{"ids":{"minItems":2,"items":{"minLength":12}}}}"#;
        let short = cut(&value, 1_024, output).unwrap();
        assert!(short.starts_with(r#"{"ids":["aaaaaaaaaaaa","bbbbbbbbbbbb"],"text":"xxx"#), "{short}");
    }

    #[test]
    fn a_beginning_is_counted_as_it_will_be_written() {
        assert_eq!(beginning("abc", 3), "abc");
        assert_eq!(beginning("a\u{1}bc", 7), "a\u{1}");
        assert_eq!(beginning("é\"x", 3), "é");
    }
}
