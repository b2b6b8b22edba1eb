//! Writers of JSON text: strings, and objects built from raw parts.

/// Writes `text` as a JSON string with only the escapes that RFC 8785 prescribes.
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x08 => "\\b",
            b'\t' => "\\t",
            b'\n' => "\\n",
            0x0C => "\\f",
            b'\r' => "\\r",
            0x00..=0x1F => "",
            _ => continue,
        };
        out.push_str(text.get(plain..at).unwrap_or_default());
        if escape.is_empty() {
            const HEX: [char; 16] =
                ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
            out.push_str("\\u00");
            out.push(if byte >= 0x10 { '1' } else { '0' });
            out.extend(HEX.get(usize::from(byte & 0xF)));
        } else {
            out.push_str(escape);
        }
        plain = at + 1;
    }
    out.push_str(text.get(plain..).unwrap_or_default());
    out.push('"');
}

/// Builder of an object, member by member; values are raw JSON text.
#[derive(Debug)]
pub struct ObjectWriter {
    out: String,
}

impl ObjectWriter {
    /// Starts an object.
    #[must_use]
    pub fn new() -> Self {
        Self { out: String::from("{") }
    }

    fn comma(&mut self) {
        if self.out.len() > 1 {
            self.out.push(',');
        }
    }

    /// Adds a member whose value is already JSON text.
    pub fn raw(&mut self, key: &str, value: &str) -> &mut Self {
        self.comma();
        write_string(&mut self.out, key);
        self.out.push(':');
        self.out.push_str(value);
        self
    }

    /// Adds a member whose key and value come from another text; their tokens are copied unchanged.
    pub fn copy(&mut self, key: super::Node<'_>, value: super::Node<'_>) -> &mut Self {
        self.comma();
        self.out.push_str(key.raw());
        self.out.push(':');
        value.write_compact(&mut self.out);
        self
    }

    /// Adds a string member.
    pub fn string(&mut self, key: &str, value: &str) -> &mut Self {
        self.comma();
        write_string(&mut self.out, key);
        self.out.push(':');
        write_string(&mut self.out, value);
        self
    }

    /// Closes the object and returns its text.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.out.push('}');
        self.out
    }
}

impl Default for ObjectWriter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_strings_read_back_and_match_serde_json() {
        for text in ["", "a\"b\\c", "\u{0}\u{1f}\u{10}\u{8}\u{c}\n\r\t", "é😀\u{7f}\u{2028}"] {
            let mut out = String::new();
            write_string(&mut out, text);
            assert_eq!(out, serde_json::to_string(text).unwrap());
        }
    }
}
