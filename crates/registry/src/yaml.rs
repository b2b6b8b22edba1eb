//! Converts YAML to JSON, for formats that authors write as YAML.
//!
//! Guarantees: keys keep their order and plain scalars that are JSON numbers keep their spelling; the rest follows YAML
//! 1.2's core schema. Refuses, with the line: aliases and anchors (they multiply), tags, several documents, keys that
//! are not scalars, numbers that JSON cannot express, and texts over the limits. The JSON reader refuses duplicate
//! keys.

use saphyr_parser::{Event, Parser, ScalarStyle};
use toolcrib_contract::json::write_string;

use crate::limits::{YAML_BYTES_MAX, YAML_DEPTH_MAX};

/// Error in a YAML text, with its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct YamlError {
    /// Line, counted from one.
    pub line: usize,
    /// Kind of the error.
    pub kind: YamlErrorKind,
}

/// Kind of an error in a YAML text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum YamlErrorKind {
    /// Invalid YAML.
    #[error("no YAML: {0}")]
    Syntax(String),
    /// Anchor or alias.
    #[error("anchors and aliases are not read")]
    Alias,
    /// Tag.
    #[error("tags are not read")]
    Tag,
    /// Second document, after `---`.
    #[error("more than one document")]
    Documents,
    /// Mapping or sequence as a key.
    #[error("a key is a scalar")]
    Key,
    /// `.inf` or `.nan`.
    #[error("{0} is no JSON number")]
    Number(String),
    /// Depth over [`YAML_DEPTH_MAX`].
    #[error("yaml.depth_max: nested deeper than {YAML_DEPTH_MAX}")]
    Depth,
    /// Size over [`YAML_BYTES_MAX`].
    #[error("yaml.bytes_max: more than {bytes_max} bytes of JSON")]
    Bytes {
        /// Maximum bytes.
        bytes_max: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Sequence {
        empty: bool,
    },
    /// Mapping; `key` is true if a key comes next.
    Mapping {
        empty: bool,
        key: bool,
    },
}

/// Converts a YAML text to JSON.
///
/// # Errors
/// A [`YamlError`] with the line and the kind.
pub fn to_json(text: &str) -> Result<String, YamlError> {
    within(text, YAML_BYTES_MAX)
}

fn within(text: &str, bytes_max: usize) -> Result<String, YamlError> {
    let mut out = String::with_capacity(text.len());
    let mut open: Vec<Open> = Vec::new();
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| YamlError {
            line: error.marker().line(),
            kind: YamlErrorKind::Syntax(error.info().to_owned()),
        })?;
        let refuse = |kind| YamlError { line: span.start.line(), kind };
        match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return Err(refuse(YamlErrorKind::Documents));
                }
            }
            Event::Alias(_) => return Err(refuse(YamlErrorKind::Alias)),
            Event::Scalar(text, style, anchor, tag) => {
                plain(anchor, tag.is_some()).map_err(refuse)?;
                let is_key = separate(&mut open, &mut out);
                if is_key {
                    write_string(&mut out, &text);
                    out.push(':');
                } else {
                    scalar(&text, style, &mut out).map_err(refuse)?;
                }
            }
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag)
                if open.len() >= YAML_DEPTH_MAX =>
            {
                plain(anchor, tag.is_some()).map_err(refuse)?;
                return Err(refuse(YamlErrorKind::Depth));
            }
            Event::SequenceStart(anchor, tag) => {
                plain(anchor, tag.is_some()).map_err(refuse)?;
                if separate(&mut open, &mut out) {
                    return Err(refuse(YamlErrorKind::Key));
                }
                out.push('[');
                open.push(Open::Sequence { empty: true });
            }
            Event::MappingStart(anchor, tag) => {
                plain(anchor, tag.is_some()).map_err(refuse)?;
                if separate(&mut open, &mut out) {
                    return Err(refuse(YamlErrorKind::Key));
                }
                out.push('{');
                open.push(Open::Mapping { empty: true, key: true });
            }
            Event::SequenceEnd => {
                open.pop();
                out.push(']');
            }
            Event::MappingEnd => {
                open.pop();
                out.push('}');
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        if out.len() > bytes_max {
            return Err(refuse(YamlErrorKind::Bytes { bytes_max }));
        }
    }
    if out.is_empty() {
        out.push_str("null");
    }
    Ok(out)
}

fn plain(anchor: usize, tagged: bool) -> Result<(), YamlErrorKind> {
    match (anchor, tagged) {
        (0, false) => Ok(()),
        (0, true) => Err(YamlErrorKind::Tag),
        _ => Err(YamlErrorKind::Alias),
    }
}

/// Writes a comma if one is due. Returns true if a key comes next.
fn separate(open: &mut [Open], out: &mut String) -> bool {
    match open.last_mut() {
        None => false,
        Some(Open::Sequence { empty }) => {
            if !std::mem::take(empty) {
                out.push(',');
            }
            false
        }
        Some(Open::Mapping { empty, key }) => {
            let is_key = *key;
            if is_key && !std::mem::take(empty) {
                out.push(',');
            }
            *key = !is_key;
            is_key
        }
    }
}

fn scalar(text: &str, style: ScalarStyle, out: &mut String) -> Result<(), YamlErrorKind> {
    if style != ScalarStyle::Plain {
        write_string(out, text);
        return Ok(());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => out.push_str("null"),
        "true" | "True" | "TRUE" => out.push_str("true"),
        "false" | "False" | "FALSE" => out.push_str("false"),
        _ if is_json_number(text) => out.push_str(text),
        _ if is_unsayable(text) => return Err(YamlErrorKind::Number(text.to_owned())),
        _ => match core_number(text) {
            Some(number) => out.push_str(&number),
            None => write_string(out, text),
        },
    }
    Ok(())
}

fn is_json_number(text: &str) -> bool {
    let body = text.strip_prefix('-').unwrap_or(text);
    body.starts_with(|c: char| c.is_ascii_digit()) && serde_json::from_str::<serde_json::Number>(text).is_ok()
}

fn is_unsayable(text: &str) -> bool {
    let body = text.trim_start_matches(['-', '+']);
    matches!(body, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN")
}

/// Converts numbers of the core schema that JSON spells differently: `+1`, `0x1F`, `0o17`, `.5`, `1.`, `007`.
fn core_number(text: &str) -> Option<String> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(|n| n.to_string());
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return u64::from_str_radix(octal, 8).ok().map(|n| n.to_string());
    }
    let (sign, body) = match text.strip_prefix('-') {
        Some(body) => ("-", body),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let starts = body.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let digits = body.contains(|c: char| c.is_ascii_digit());
    let allowed = body.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    if !starts || !digits || !allowed {
        return None;
    }
    let (whole, exponent) = match body.find(['e', 'E']) {
        Some(at) => body.split_at(at),
        None => (body, ""),
    };
    let (before, after) = whole.split_once('.').unwrap_or((whole, ""));
    let before = before.trim_start_matches('0');
    let before = if before.is_empty() { "0" } else { before };
    let after = if after.is_empty() { String::new() } else { format!(".{after}") };
    let number = format!("{sign}{before}{after}{exponent}");
    is_json_number(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> YamlErrorKind {
        to_json(text).unwrap_err().kind
    }

    /// R6.2: YAML keeps the order of keys and the spelling of numbers.
    #[test]
    fn yaml_is_json_with_its_order_and_numbers() {
        let text = "# entry\nname: osv\nstars: 9007199254740993\nratio: 1.50\ntools: [a, 'b c', \"1\"]\nnested:\n  - x: ~\n    y: yes\n  - true\nempty: {}\nbig: 1e3\ntext: |\n  two\n  lines\n";
        assert_eq!(
            to_json(text).unwrap(),
            r#"{"name":"osv","stars":9007199254740993,"ratio":1.50,"tools":["a","b c","1"],"nested":[{"x":null,"y":"yes"},true],"empty":{},"big":1e3,"text":"two\nlines\n"}"#
        );
        assert_eq!(
            to_json("[0x1F, +1, .5, 1., 007, 1.0.0, 0o17, -.5]").unwrap(),
            r#"[31,1,0.5,1,7,"1.0.0",15,-0.5]"#
        );
    }

    #[test]
    fn json_is_yaml() {
        let text = r#"{"a": [1, "x", null, {"b": false}]}"#;
        assert_eq!(to_json(text).unwrap(), r#"{"a":[1,"x",null,{"b":false}]}"#);
    }

    #[test]
    fn what_multiplies_or_cannot_be_said_is_refused_with_its_line() {
        assert_eq!(refused("a: &x 1\nb: *x"), YamlErrorKind::Alias);
        assert_eq!(refused("a: !!int 1"), YamlErrorKind::Tag);
        assert_eq!(refused("a: 1\n---\nb: 2"), YamlErrorKind::Documents);
        assert_eq!(refused("? [a]\n: 1"), YamlErrorKind::Key);
        assert_eq!(refused("a: .inf"), YamlErrorKind::Number(".inf".into()));
        assert_eq!(refused(&"[".repeat(YAML_DEPTH_MAX + 1)), YamlErrorKind::Depth);
        assert_eq!(to_json("a: 1\nb: *x").unwrap_err().line, 2);
        assert!(matches!(refused("a: [1"), YamlErrorKind::Syntax(_)));
    }

    /// R6.2: YAML that becomes more than `YAML_BYTES_MAX` bytes of JSON is refused, with the line that exceeds it.
    #[test]
    fn yaml_over_yaml_bytes_max_is_refused() {
        let text = "- one\n- two\n- three\n";
        let json = to_json(text).unwrap();
        assert_eq!(within(text, json.len()), Ok(json.clone()));
        let refused = within(text, json.len() - 2).unwrap_err();
        assert_eq!(refused, YamlError { line: 3, kind: YamlErrorKind::Bytes { bytes_max: json.len() - 2 } });
        let large = format!("'{}'", "x".repeat(YAML_BYTES_MAX / 64));
        assert!(
            to_json(&large).is_ok(),
            "YAML_BYTES_MAX is the limit of `to_json`, and it is larger than this"
        );
    }
}
