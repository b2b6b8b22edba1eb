//! Values as they may be shown: shortened, control characters escaped, secrets masked.

use serde_json::Value;

use crate::json::{Node, Pointer};
use crate::limits;

const MASK: &str = "«masked»";

/// A value of a violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    kind: &'static str,
    text: String,
}

impl Shown {
    pub(crate) fn of(node: Node<'_>, path: &Pointer) -> Self {
        Self::of_value(&node.to_value(), path)
    }

    pub(crate) fn of_value(value: &Value, path: &Pointer) -> Self {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(n) if n.is_f64() => "a number",
            Value::Number(_) => "an integer",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        let secret = path.tokens().any(|token| is_secret(&token));
        let text = if secret { MASK.to_owned() } else { shortened(value) };
        Self { kind, text }
    }

    /// The value, shortened, with secrets masked.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Only what kind of value it is.
    #[must_use]
    pub const fn masked(&self) -> &'static str {
        self.kind
    }
}

/// `true` for names whose values are never shown.
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

fn shortened(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    if out.chars().count() <= limits::VIOLATION_VALUE_CHARS_MAX {
        return out;
    }
    let mut short: String = out.chars().take(limits::VIOLATION_VALUE_CHARS_MAX - 1).collect();
    short.push('…');
    short
}

/// JSON with secrets masked and invisible characters escaped; stops early once it is long enough.
fn write(value: &Value, out: &mut String) {
    if out.len() > 4 * limits::VIOLATION_VALUE_CHARS_MAX {
        return;
    }
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().take(limits::VIOLATION_VALUE_CHARS_MAX).enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (i, (key, item)) in members.iter().take(limits::VIOLATION_VALUE_CHARS_MAX).enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                if is_secret(key) {
                    out.push_str(MASK);
                } else {
                    write(item, out);
                }
            }
            out.push('}');
        }
        Value::String(text) => write_text(text, out),
        scalar => out.push_str(&scalar.to_string()),
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
