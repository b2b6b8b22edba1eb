//! Encoding and decoding of `application/x-www-form-urlencoded`, as far as OAuth needs it.

use std::fmt::Write as _;

/// Appends a member to a form or a query.
pub(super) fn push(form: &mut String, key: &str, value: &str) {
    if !form.is_empty() {
        form.push('&');
    }
    form.push_str(key);
    form.push('=');
    form.push_str(&encode(value));
}

pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// Returns the first value of a member; `None` also if it is malformed.
pub(super) fn get(form: &str, key: &str) -> Option<String> {
    let (_, value) =
        form.split('&').filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == key)?;
    decode(value)
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit =
                    |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit(rest.next()?)? * 16 + digit(rest.next()?)?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_comes_out() {
        let mut form = String::new();
        push(&mut form, "a", "1 & 2=ü");
        push(&mut form, "b", "http://x/y?z");
        assert_eq!(form, "a=1%20%26%202%3D%C3%BC&b=http%3A%2F%2Fx%2Fy%3Fz");
        assert_eq!(get(&form, "a").as_deref(), Some("1 & 2=ü"));
        assert_eq!(get(&form, "b").as_deref(), Some("http://x/y?z"));
        assert_eq!(get("a=x+y", "a").as_deref(), Some("x y"));
        for broken in ["a=%", "a=%4", "a=%zz", "a=%ff"] {
            assert_eq!(get(broken, "a"), None, "{broken}");
        }
    }
}
