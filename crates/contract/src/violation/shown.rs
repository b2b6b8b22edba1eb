//! Values for display in a violation: shortened, control characters escaped, secrets masked.

use serde_json::Value;

use crate::json::{Kind, Node, Number, Pointer};
use crate::limits;

const MASK: &str = "«masked»";

/// Displayed value of a violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    kind: &'static str,
    text: String,
}

impl Shown {
    pub(crate) fn of(node: Node<'_>, path: &Pointer) -> Self {
        let kind = match node.kind() {
            Kind::Null => "null",
            Kind::Boolean => "a boolean",
            Kind::Number if matches!(node.as_number(), Some(Number::Double(..))) => "a number",
            Kind::Number => "an integer",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        };
        let secret = path.tokens().any(|token| is_secret(&token));
        let text = if secret { MASK.to_owned() } else { shortened(node) };
        Self { kind, text }
    }

    /// The value as text, shortened and with secrets masked.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The kind of the value only, such as "a string".
    #[must_use]
    pub const fn masked(&self) -> &'static str {
        self.kind
    }
}

/// `true` if values under this name are never shown.
pub(crate) fn is_secret(name: &str) -> bool {
    const WORDS: [&str; 12] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "apikey",
        "authorization",
        "credential",
        "privatekey",
        "cookie",
        "bearer",
        "accesskey",
    ];
    let folded: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    WORDS.iter().any(|word| folded.contains(word))
}

/// Returns the name in quotes, escaped and shortened.
pub(crate) fn quoted(name: &str) -> String {
    let mut out = String::new();
    write_text(name, &mut out);
    cut(out, limits::VIOLATION_VALUE_CHARS_MAX)
}

/// Returns a value of the schema as JSON, shortened.
pub(crate) fn shortened_json(value: &Value) -> String {
    cut(value.to_string(), limits::VIOLATION_ALLOWED_CHARS_MAX)
}

/// Returns a count with its noun, in the plural unless the count is 1.
pub(crate) fn counted(count: &Value, noun: &str) -> String {
    format!("{count} {noun}{}", if count.as_f64() == Some(1.0) { "" } else { "s" })
}

fn shortened(node: Node<'_>) -> String {
    let mut out = String::new();
    write(node, &mut out);
    cut(out, limits::VIOLATION_VALUE_CHARS_MAX)
}

fn cut(text: String, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text;
    }
    let mut short: String = text.chars().take(chars_max - 1).collect();
    short.push('…');
    short
}

/// Writes JSON with secrets masked and invisible characters escaped; stops early once the text is long enough.
fn write(node: Node<'_>, out: &mut String) {
    let is_enough = |out: &String| out.len() > 4 * limits::VIOLATION_VALUE_CHARS_MAX;
    match node.kind() {
        Kind::Array => {
            out.push('[');
            for (i, element) in node.elements().enumerate() {
                if is_enough(out) {
                    return;
                }
                if i > 0 {
                    out.push(',');
                }
                write(element, out);
            }
            out.push(']');
        }
        Kind::Object => {
            out.push('{');
            for (i, (key, member)) in node.members().enumerate() {
                if is_enough(out) {
                    return;
                }
                if i > 0 {
                    out.push(',');
                }
                let name = key.as_str().unwrap_or_default();
                write_text(&name, out);
                out.push(':');
                if is_secret(&name) {
                    out.push_str(MASK);
                } else {
                    write(member, out);
                }
            }
            out.push('}');
        }
        Kind::String => write_text(&node.as_str().unwrap_or_default(), out),
        _ => out.extend(node.raw().chars().take(limits::VIOLATION_VALUE_CHARS_MAX)),
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars().take(limits::VIOLATION_VALUE_CHARS_MAX) {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if crate::text::is_hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.push('"');
}
