//! Admission of regular expressions: only those that run in linear time.

use serde_json::Value;

use super::error::{PatternFault, SchemaError, SchemaLimit};
use crate::json::Pointer;
use crate::limits;

/// Refuses features that a linear-time engine lacks. Syntax errors are left to the compiler, which reports their
/// place.
pub(super) fn admit(pattern: &str, pointer: &dyn Fn() -> Pointer) -> Result<(), SchemaError> {
    if pattern.len() > limits::SCHEMA_PATTERN_BYTES_MAX {
        return Err(SchemaLimit::PatternBytes.exceeded_at(pointer(), pattern.len()));
    }
    match fault(pattern) {
        Some(fault) => Err(SchemaError::Pattern { pointer: pointer(), pattern: pattern.to_owned(), fault }),
        None => Ok(()),
    }
}

fn fault(pattern: &str) -> Option<PatternFault> {
    let bytes = pattern.as_bytes();
    let mut in_class = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => {
                match bytes.get(at + 1) {
                    Some(b'1'..=b'9') if !in_class => return Some(PatternFault::Backreference),
                    Some(b'k') if !in_class && bytes.get(at + 2) == Some(&b'<') => {
                        return Some(PatternFault::Backreference);
                    }
                    _ => {}
                }
                at += 1;
            }
            b'[' => in_class = true,
            b']' => in_class = false,
            b'(' if !in_class => {
                let group = bytes.get(at + 1..).unwrap_or_default();
                if [b"?=".as_slice(), b"?!", b"?<=", b"?<!"].iter().any(|look| group.starts_with(look)) {
                    return Some(PatternFault::Lookaround);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// `true` if the validator can translate `pattern` to a regular expression.
pub(super) fn parses(pattern: &str) -> bool {
    let schema = Value::String(pattern.to_owned());
    let options = jsonschema::options()
        .offline()
        .should_validate_formats(true)
        .with_pattern_options(jsonschema::PatternOptions::regex());
    options.build(&serde_json::json!({"format": "regex"})).is_ok_and(|v| v.is_valid(&schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R1.6: regular expressions that do not run in linear time are refused.
    #[test]
    fn lookaround_and_backreferences_are_found() {
        for pattern in ["(?=a)", "a(?!b)", "(?<=a)b", "(?<!a)b", "x(y(?=z))"] {
            assert_eq!(fault(pattern), Some(PatternFault::Lookaround), "{pattern}");
        }
        for pattern in [r"(a)\1", r"(?<n>a)\k<n>"] {
            assert_eq!(fault(pattern), Some(PatternFault::Backreference), "{pattern}");
        }
    }

    #[test]
    fn look_alikes_are_let_through() {
        for pattern in
            [r"\(?=a", r"[(?=]", r"(?:a)", r"(?<name>a)", r"[\1]", r"\\1", r"^\d{3}-\d{4}$", r"[\](?=]"]
        {
            assert_eq!(fault(pattern), None, "{pattern}");
        }
    }
}
