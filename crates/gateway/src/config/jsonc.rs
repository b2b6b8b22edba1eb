//! JSON with comments and trailing commas: both are replaced by spaces, so that offsets stay valid.

pub(super) fn plain(text: &str) -> String {
    let mut out: Vec<u8> = text.as_bytes().to_vec();
    let mut at = 0;
    let mut comma = None;
    let byte = |out: &[u8], at: usize| out.get(at).copied();
    while let Some(now) = byte(&out, at) {
        match (now, byte(&out, at + 1)) {
            (b'"', _) => {
                comma = None;
                at += 1;
                while let Some(inside) = byte(&out, at) {
                    match inside {
                        b'\\' => at += 2,
                        b'"' => break,
                        _ => at += 1,
                    }
                }
                at += 1;
            }
            (b'/', Some(b'/')) => {
                while let Some(inside) = byte(&out, at).filter(|inside| *inside != b'\n') {
                    blank(&mut out, at, inside);
                    at += 1;
                }
            }
            (b'/', Some(b'*')) => {
                let end = text.get(at + 2..).and_then(|rest| rest.find("*/"));
                let end = end.map_or(out.len(), |end| at + end + 4);
                while at < end {
                    let inside = byte(&out, at).unwrap_or_default();
                    blank(&mut out, at, inside);
                    at += 1;
                }
            }
            (b',', _) => {
                comma = Some(at);
                at += 1;
            }
            (b'}' | b']', _) => {
                if let Some(comma) = comma.take() {
                    blank(&mut out, comma, b',');
                }
                at += 1;
            }
            (space, _) if space.is_ascii_whitespace() => at += 1,
            _ => {
                comma = None;
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// Replaces a byte by a space, except line ends; a character of several bytes becomes as many spaces.
fn blank(out: &mut [u8], at: usize, was: u8) {
    if let Some(byte) = out.get_mut(at)
        && was != b'\n'
        && was != b'\r'
    {
        *byte = b' ';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_go_and_everything_else_stays_where_it_was() {
        let text = "{ // é\n \"a\": \"//x,}\", /* , */\n \"b\": [1, 2,],\n}";
        let json = plain(text);
        assert_eq!(json.len(), text.len());
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value, serde_json::json!({"a": "//x,}", "b": [1, 2]}));
        assert_eq!(json.matches('\n').count(), 3);
    }

    #[test]
    fn plain_json_stays_as_it_is() {
        let text = r#"{"a":"\"/* ,} */","b":[{"c":1}]}"#;
        assert_eq!(plain(text), text);
    }
}
